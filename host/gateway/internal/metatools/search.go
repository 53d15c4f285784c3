package metatools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A Belt is the tools that one client sees.
type Belt struct {
	// Finder finds tools of the registry.
	Finder *toolset.Finder
	// Server is the one server that the client sees, if that is so.
	Server string
	// HasServer reports whether the client sees a server.
	HasServer func(name string) bool
	// Sees reports whether the client sees a tool.
	Sees func(*registry.Definition) bool
	// Name returns what the client calls a tool.
	Name func(*registry.Definition) string
	// Known returns the tool that the client calls by name, and by what name the registry is asked for it, or says why there
	// is none.
	Known func(ctx context.Context, name string) (d *registry.Definition, known string, err error)
	// Unknown returns the error for a name that no tool has that the client sees, of which err says more.
	Unknown func(name string, err error) error
}

// find returns the tool that the client means by a name, or says why there is none.
func (b *Belt) find(ctx context.Context, name string) (*registry.Definition, error) {
	d, known, err := b.Known(ctx, name)
	if err == nil {
		_, err = b.Finder.Registry().Find(ctx, known) // it may be in quarantine, or denied
	}
	if errors.As(err, new(*registry.UnknownToolError)) { // others than those that the client sees may be meant
		err = b.Unknown(name, err)
	}
	return d, err
}

// Target returns what the client calls the tool that a call is of. A server calls it as the client does or as the server itself
// does. The error is a [*registry.UnknownToolError].
func (b *Belt) Target(ctx context.Context, c Call) (string, error) {
	if c.Server == "" {
		return c.Tool, nil
	}
	r := b.Finder.Registry()
	is := func(d *registry.Definition) bool {
		return d.Origin.Server == c.Server && b.Sees(d) && (d.Origin.Tool == c.Tool || b.Name(d) == c.Tool)
	}
	if d, _, err := b.Known(ctx, c.Tool); err == nil && is(d) {
		return c.Tool, nil
	}
	s := r.Snapshot()
	for _, t := range s.Tools() {
		if d := t.Definition(); is(d) {
			return b.Name(d), nil
		}
	}
	for _, q := range s.Quarantined() {
		if is(q.Tool) {
			return b.Name(q.Tool), nil
		}
	}
	switch {
	case !b.HasServer(c.Server):
		return c.Tool, &registry.UnknownToolError{Name: c.Tool}
	case b.Server != "":
		return c.Tool, nil
	}
	return r.Names().Name(c.Server, c.Tool), nil // of which the registry may know why it is not there
}

// Refused returns what is wrong with a variant of call_tool for the tool that the registry calls known, under the client's
// name for it: a result, or the error of the registry; and nil if it may be called.
func (b *Belt) Refused(ctx context.Context, variant, name, known string) (*mcp.CallToolResult, error) {
	if variant == CallTool {
		return nil, nil
	}
	t, err := b.Finder.Registry().Find(ctx, known)
	if err != nil {
		return nil, err
	}
	named := *t.Definition()
	named.Name = name
	if err := Refusal(variant, &named); err != nil {
		return Failed(err), nil
	}
	return nil, nil
}

const (
	defaultHits = 15
	maxHits     = 100
	// hitRoom is the room of a hit in bytes, on the average: the first ones may take that of others.
	hitRoom = 380
	// maxDescribed bounds the tools that are described at once, and maxDescribedText what is said of them, in bytes:
	// one that is larger comes by itself.
	maxDescribed     = 10
	maxDescribedText = 24 << 10
	// maxName bounds what is quoted of a name.
	maxName = 256
	// maxServers bounds the list of servers where nothing was found, in bytes.
	maxServers = 1 << 10
)

// Retrieve answers a call of retrieve_tools: the tools that fit a query, one a line with the
// parameters, and below it what the tool does as far as there is room. The texts are those of servers, which have passed
// the registry's gate. The error is that of ctx, or of arguments.
func (b *Belt) Retrieve(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	query, limit := "", defaultHits
	if err := read(args, `{"query":"…","limit":15}`, map[string]any{"query": &query, "limit": &limit}); err != nil {
		return Failed(err), nil
	}
	q := toolset.Query{Text: query, Limit: min(max(limit, 1), maxHits), Keep: func(d *registry.Definition, _ registry.Hints) bool { return b.Sees(d) }}
	matches, err := b.Finder.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(matches) == 0 {
		return text(b.nothing(ctx)), nil
	}
	var brief, full []string
	room := hitRoom * len(matches)
	for _, m := range matches {
		named := *m.Tool.Definition()
		named.Name = b.Name(&named)
		all := "- " + toolset.Brief(&named)
		line := "- " + plain.Line(named.Name) + " […] [" + plain.Line(plain.Cut(named.Origin.Server, maxName)) + "]"
		brief, full = append(brief, line), append(full, all)
		room -= min(len(line), len(all)) + 1
	}
	for i, line := range brief {
		signature, _, _ := strings.Cut(full[i], "\n")
		for _, more := range []string{full[i], signature} {
			if extra := len(more) - len(line); extra <= room {
				brief[i], room = more, room-max(extra, 0)
				break
			}
		}
	}
	return text(strings.Join(brief, "\n")), nil
}

// nothing says what there is, where nothing was found.
func (b *Belt) nothing(ctx context.Context) string {
	tools, servers := map[string]int{}, []string(nil)
	all := 0
	for _, t := range b.Finder.Registry().Callable(ctx) {
		if d := t.Definition(); b.Sees(d) {
			if all++; tools[d.Origin.Server] == 0 {
				servers = append(servers, d.Origin.Server)
			}
			tools[d.Origin.Server]++
		}
	}
	slices.Sort(servers)
	said := fmt.Sprintf("No tool fits. There are %s in all", plain.Number(all, "tool"))
	for i, server := range servers {
		if server == "" {
			continue
		}
		if len(said) > maxServers {
			said += fmt.Sprintf(", and %d more servers", len(servers)-i)
			break
		}
		said += fmt.Sprintf(", %d of %s", tools[server], plain.Line(plain.Cut(server, maxName)))
	}
	return said + ". Search again with other or fewer words for what the tool does."
}

// Describe answers a call of describe_tool: the definitions of tools by their names, as JSON.
func (b *Belt) Describe(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	var names oneOrMore
	if err := read(args, `{"names":["…"]}`, map[string]any{"names": &names}); err != nil {
		return Failed(err), nil
	}
	if len(names) == 0 {
		return Failed(errors.New(`"names" must be an array of names of tools, as retrieve_tools shows them`)), nil
	}
	type lack struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	}
	var shown struct {
		Tools   []json.RawMessage `json:"tools"`
		Missing []lack            `json:"missing,omitempty"`
	}
	size := 0
	for i, name := range names {
		missing := func(reason string) { shown.Missing = append(shown.Missing, lack{plain.Cut(name, maxName), reason}) }
		if i == maxDescribed {
			missing(fmt.Sprintf("at most %d tools are described at once; ask again for the others", maxDescribed))
			break
		}
		d, err := b.find(ctx, name)
		switch {
		case errors.As(err, new(*registry.QuarantinedError)):
			missing("it is in quarantine: it is new or has changed, and cannot be called before a person has accepted it")
			continue
		case err != nil:
			missing(plain.Cut(err.Error(), 4*maxName))
			continue
		}
		named := *d
		named.Name = b.Name(d)
		definition := toolset.Describe(&named)
		if size > 0 && size+len(definition) > maxDescribedText {
			missing("there is no room left for it here; ask for it alone")
			continue
		}
		size += len(definition)
		shown.Tools = append(shown.Tools, definition)
	}
	res := text(string(message.Marshal(shown)))
	res.IsError = shown.Tools == nil
	return res, nil
}

// A oneOrMore is an array of texts, or one text.
type oneOrMore []string

// UnmarshalJSON implements [json.Unmarshaler].
func (o *oneOrMore) UnmarshalJSON(value []byte) error {
	if one, ok := jsonscan.String(value); ok {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(value, (*[]string)(o))
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// Failed returns the answer to a call that was refused: a result with isError and the text of the error.
func Failed(err error) *mcp.CallToolResult {
	res := text(err.Error())
	res.IsError = true
	return res
}
