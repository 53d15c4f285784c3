package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A listing is what a server said of its tools on one connection.
type listing struct {
	connection  int    // number of the connection, see mcp.State
	version     uint64 // ToolsVersion, see mcp.State
	listedTools []*listedTool
	byName      map[string]*listedTool
	problems    []mcp.ListProblem // of the tools that cannot be read

	instructions string // what the server said of its use
}

// A listedTool is a tool as a server described it.
type listedTool struct {
	tool *mcp.Tool
	hash func() string
}

func newListedTool(t *mcp.Tool) *listedTool {
	o := &listedTool{tool: t}
	o.hash = sync.OnceValue(func() string { return o.definition("").Surface().Hash })
	return o
}

// newListing makes a listing of what c listed when it was in a state.
func newListing(state mcp.State, c *mcp.Client, tools []*mcp.Tool) *listing {
	l := &listing{
		connection: state.Connections, version: state.ToolsVersion, instructions: state.Instructions,
		byName: make(map[string]*listedTool, len(tools)), problems: c.ListProblems(),
	}
	for _, t := range tools {
		o := newListedTool(t)
		l.listedTools = append(l.listedTools, o)
		l.byName[t.Name] = o
	}
	return l
}

// definition returns the offer as a registry describes it.
func (o *listedTool) definition(server string) *registry.Definition {
	return registry.Remote(server, o.tool, (*mcp.Client)(nil).CallTool).Definition() // which is not called
}

// A ChangedError reports a call of a tool that turned out to be another one, or none,
// when the connection for the call was made. Nothing ran.
//
//cure:list the tools again, and call what is there now
type ChangedError struct {
	server string // configured name
	tool   string // name of the tool there
	// User is set if the tool is another one for this user alone, or none. It is held
	// back for them until [Host.Discover] has made what they see the catalogue of all.
	User string
	// Change is what changed; nil if there is no such tool.
	Change *ledger.Change
}

func (e *ChangedError) Error() string {
	what := "the server has changed it. Look at its definition, and call it again if it still fits."
	switch {
	case e.User != "" && e.Change == nil:
		what = "the server does not have it for this user."
	case e.User != "":
		what = "the server shows this user another tool of that name than the one that was examined. Do without it, or ask the user."
	case e.Change == nil:
		what = "the server does not have it any more. Look at the list of tools again."
	}
	text := plain.Text(fmt.Sprintf("tool %q of server %q was not called and nothing ran: %s", e.tool, e.server, what))
	if e.Change != nil {
		text += " " + e.Change.Summary()
	}
	return text
}

// Outcome returns [mcp.NotSent].
func (e *ChangedError) Outcome() mcp.Outcome { return mcp.NotSent }

// check returns why a tool that was offered as o must not be called where l is what is
// there, or nil.
func (l *listing) check(server, user string, o *listedTool) error {
	now := l.byName[o.tool.Name]
	if now == o || now != nil && now.hash() == o.hash() {
		return nil
	}
	changed := &ChangedError{server: server, tool: o.tool.Name, User: user}
	if now != nil {
		changed.Change = ledger.Compare(server, o.definition(server).Surface(), now.definition(server).Surface())
	}
	return changed
}

// UnreadableTools returns, for the tools that a client of the server of an entry left out
// of its list because they cannot be read, rejections as those of the gate, which has not
// seen them. See [mcp.Client.ListProblems].
func UnreadableTools(e *config.Server, problems []mcp.ListProblem) []registry.Rejection {
	var rejected []registry.Rejection
	for _, p := range problems {
		if p.Method != "tools/list" || p.Name != "" && !allows(e.Tools, p.Name) {
			continue
		}
		found := gate.Finding{Token: "unreadable", Severity: gate.Block, Detail: p.Err.Error()}
		if p.Token == "too_deep" {
			found.Token = "too_deep"
		}
		if invalid, ok := errors.AsType[*mcp.ProtocolError](p.Err); ok {
			found.Field, found.Detail = "/"+invalid.Path, invalid.Err.Error()
		}
		name := cmp.Or(p.Name, p.Path)
		rejected = append(rejected, registry.Rejection{Name: name, Err: &gate.Error{Server: e.Name, Tool: name, Findings: []gate.Finding{found}}})
	}
	return slices.Clip(rejected)
}

// allows reports whether an entry uses the tool of that name.
func allows(f config.ToolFilter, name string) bool {
	return (f.Allow == nil || slices.Contains(f.Allow, name)) && !slices.Contains(f.Deny, name)
}
