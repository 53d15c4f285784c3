package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/toolbrief"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/internal/toolrank"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// searchToolsName is the name of the tool that finds others.
const searchToolsName = "search_tools"

const searchToolsDescription = "Find tools by what they do. Most tools are not listed here: search before you say that you cannot do something. " +
	"Split a request of several tasks into queries. " +
	"Hits come with their parameters (? is optional, … is more than is shown); call them with call_tool."

// searchToolsInput is the schema of searchToolsArgs, with the bounds that the type
// cannot say.
const searchToolsInput = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"what the tool does in a few words, or its name"},` +
	`"more":{"type":"array","items":{"type":"string"},"maxItems":4,"description":"further queries"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"default 5"},` +
	`"server":{"type":"string","description":"only tools of this server"},` +
	`"read_only":{"type":"boolean","description":"only tools that say they change nothing"}},` +
	`"required":["query"],"additionalProperties":false}`

type searchToolsArgs struct {
	Query    string    `json:"query"`
	More     toolNames `json:"more,omitempty"`
	Limit    int       `json:"limit,omitempty"`
	Server   string    `json:"server,omitempty"`
	ReadOnly bool      `json:"read_only,omitempty"`
}

// Bounds of what search_tools says.
const (
	maxToolHits    = 20
	maxQueries     = 5
	alsoNamed      = 10      // tools after the hits whose names are shown
	maxHitsText    = 6 << 10 // bytes; what comes after is listed by name alone
	maxServersText = 1 << 10 // bytes
	maxName        = 256     // bytes of a name, as a registry allows them
)

// newTools returns the tools with which a model finds, reads and calls tools that it was
// not told of, sorted by name.
//
// The first two return the texts of servers about their tools as in a list of tools:
// after the gate, with the name of the server, and not enclosed by [result.Options].Wrap.
// The words are there to be acted upon, and a model that was told never to follow what is
// enclosed could not use the tool. They are kept from looking like an enclosure or
// another hit.
func (f *Finder) newTools() ([]registry.Tool, error) {
	describe, err := newLookTool(describeToolName, "Describe tools", describeToolDescription, describeToolInput, f.describeTools)
	if err != nil {
		return nil, err
	}
	search, err := newLookTool(searchToolsName, "Search tools", searchToolsDescription, searchToolsInput, f.searchTools)
	if err != nil {
		return nil, err
	}
	return []registry.Tool{newRelay(f.registry), describe, search}, nil
}

// newLookTool returns a tool that only reads, with a schema that says more than In can.
func newLookTool[In any](name, title, description, input string, fn func(context.Context, In) (*mcp.CallToolResult, error)) (registry.Tool, error) {
	t, err := registry.Func(name, description, fn)
	if err != nil {
		return nil, err
	}
	return registry.With(t, func(d *registry.Definition) {
		closed := false
		d.Title = title
		d.InputSchema = json.RawMessage(input)
		d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}
	})
}

func (f *Finder) searchTools(ctx context.Context, in searchToolsArgs) (*mcp.CallToolResult, error) {
	limit := cmp.Or(min(max(in.Limit, 0), maxToolHits), defaultMatches)
	q := Query{Limit: limit + alsoNamed}
	if in.Server != "" {
		server, ok := findServer(in.Server, f.servers(ctx))
		if !ok {
			return f.nothing(ctx, "There is no server "+plain.Quote(in.Server)+".", ""), nil
		}
		q.Servers = []string{server}
	}
	if in.ReadOnly {
		q.Keep = func(_ *registry.Definition, hints registry.Hints) bool { return hints.ReadOnly }
	}
	var all hits
	queries := append([]string{in.Query}, in.More...)
	for _, q.Text = range queries[:min(len(queries), maxQueries)] {
		matches, err := f.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		why := ""
		if len(matches) == 0 {
			why = f.whyNothing(q)
		}
		if len(queries) == 1 && why != "" {
			return f.nothing(ctx, why, narrowed(in)), nil
		}
		if len(queries) > 1 {
			all.text.WriteString("For " + plain.Quote(plain.Cut(q.Text, maxName)) + ":\n")
		}
		all.add(matches, limit, why)
	}
	if len(queries) > maxQueries {
		fmt.Fprintf(&all.text, "At most %d queries are answered at once; ask again for the others.\n", maxQueries)
	}
	if all.shown == nil {
		return f.nothing(ctx, "No tool fits any of the queries.", narrowed(in)), nil
	}
	return &mcp.CallToolResult{Content: text(strings.TrimSuffix(all.text.String(), "\n"))}, nil
}

// narrowed says which arguments a search could do without.
func narrowed(in searchToolsArgs) string {
	var given []string
	if in.Server != "" {
		given = append(given, "server")
	}
	if in.ReadOnly {
		given = append(given, "read_only")
	}
	if given == nil {
		return ""
	}
	return ", or leave out " + strings.Join(given, " and ")
}

// hits is what search_tools says of the tools that were found. It goes into the content
// alone: as structured content, too, it would take twice the room.
type hits struct {
	text  strings.Builder
	shown []string // names of the tools
}

// add lists what a query has found: so many of the tools, and the names of the others; or
// why there are none.
func (h *hits) add(matches []Match, limit int, why string) {
	if len(matches) == 0 {
		h.text.WriteString(why + "\n")
		return
	}
	var others []string
	for i, m := range matches {
		def := m.Tool.Definition()
		name := plain.Line(def.Name)
		switch {
		case i >= limit:
			others = append(others, name)
		case slices.Contains(h.shown, def.Name):
			h.text.WriteString("- " + name + ": see above\n")
		default:
			h.shown = append(h.shown, def.Name)
			h.text.WriteString("- " + name)
			if h.text.Len() < maxHitsText {
				h.text.WriteString(brief(def))
			}
			h.text.WriteString("\n")
		}
	}
	if others != nil {
		h.text.WriteString("also: " + joinShort(others) + "\n")
	}
}

// Brief returns what a model has to know of a tool, as search_tools shows it: its name, its
// parameters, its server and what it says that it changes on one line, and below it, if the
// tool says any, what it does. It has no line break else, whatever the server wrote.
func Brief(tool *registry.Definition) string {
	if tool == nil {
		return ""
	}
	return plain.Line(tool.Name) + brief(tool)
}

// brief is Brief without the name.
func brief(def *registry.Definition) string {
	about := append([]string{serverName(def.Origin.Server)}, briefHints(def.Hints())...)
	text := toolbrief.Signature(def.InputSchema) + " [" + strings.Join(about, ", ") + "]"
	if summary := summaryOf(def); summary != "" {
		text += "\n  " + summary
	}
	return text
}

// whyNothing says why no tool fits a query. To a user a tool that they may not call is as
// unknown as one that does not exist, so the answer says nothing of what the index has.
func (f *Finder) whyNothing(q Query) string {
	switch {
	case toolrank.NewQuery(q.Text).IsIdle():
		return "The query does not say what the tool does."
	case q.Servers == nil && q.Keep == nil:
		return "No tool has a word of the query, nor one like it: the tools may be described in another language."
	}
	return "No tool fits."
}

// nothing says what there is instead of what was asked for.
func (f *Finder) nothing(ctx context.Context, why, fallback string) *mcp.CallToolResult {
	servers := f.servers(ctx)
	all := 0
	for _, s := range servers {
		all += s.tools
	}
	said := "There are no tools."
	if all > 0 {
		verb := "are"
		if all == 1 {
			verb = "is"
		}
		said = fmt.Sprintf("%s There %s %s in all: %s. Search again with other or fewer words for what the tool does%s.",
			why, verb, plain.Number(all, "tool"), listServers(servers), fallback)
	}
	return &mcp.CallToolResult{Content: text(said)}
}

func text(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

// serverTools says how many callable tools a server has.
type serverTools struct {
	name  string // empty: native tools
	tools int
}

// servers returns the servers of the tools that are callable on behalf of the user
// of ctx, sorted by name, and how many tools each has.
func (f *Finder) servers(ctx context.Context) []serverTools {
	tools := map[string]int{}
	for _, t := range f.registry.Callable(ctx) {
		tools[t.Definition().Origin.Server]++
	}
	servers := make([]serverTools, 0, len(tools))
	for name, n := range tools {
		servers = append(servers, serverTools{name, n})
	}
	slices.SortFunc(servers, func(a, b serverTools) int { return strings.Compare(a.name, b.name) })
	return servers
}

// findServer returns the server that a model means, in whatever spelling.
func findServer(asked string, servers []serverTools) (name string, ok bool) {
	if slices.ContainsFunc(servers, func(s serverTools) bool { return s.name == asked }) {
		return asked, true
	}
	folded := toolname.Fold(plain.Cut(asked, 2*maxName)).Folded
	for _, s := range servers {
		if toolname.Fold(serverName(s.name)).Folded != folded {
			continue
		}
		if ok {
			return "", false
		}
		name, ok = s.name, true
	}
	return name, ok
}

// serverName returns what a model is told of a server's name.
func serverName(server string) string {
	if server == "" {
		return "native"
	}
	return plain.Line(plain.Cut(server, maxName))
}

// listServers lists servers and how many tools they have, as far as there is room.
func listServers(servers []serverTools) string {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = fmt.Sprintf("%s (%d)", serverName(s.name), s.tools)
	}
	return joinShort(names)
}

// joinShort lists names, as far as there is room.
func joinShort(names []string) string {
	size := 0
	for i, name := range names {
		if size += len(name) + 2; size > maxServersText && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(names[:i], ", "), len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}
