package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"reflect"

	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// maxDescription is how much a list shows of a description, in bytes.
const maxDescription = 300

func toolRoutes() []*route {
	routes := []*route{
		on("GET", "/api/v1/tools", View, "List the tools of all servers in short, also those that are held back", (*request).listAllTools),
		on("GET", "/api/v1/tools/{name}", View, "Show a tool with its schemas", (*request).showTool),
		with("POST", "/api/v1/tools/{name}/call", Operate, "Call a tool as the caller's user; one of a local server takes stdio:write", (*request).callTool),
		{method: "POST", path: "/api/v1/tools/{name}/try", role: Operate, summary: "Call a tool likewise, and tell its progress and what its server asks, as server-sent events", in: reflect.TypeFor[callInput](), stream: (*request).tryTool},
		with("POST", "/api/v1/tools/{name}/questions/{id}", Operate, "Answer a question of the server of a tool that the caller tries", (*request).answerQuestion),
		on("GET", "/api/v1/tools/{name}/calls/{id}", Operate, "Wait for what comes of a call of the caller's that waits for approval", (*request).awaitCall),
		on("GET", "/api/v1/why", View, "Say why a tool is offered, or is not", (*request).showWhy,
			param{"name", "string", "of the tool"}),
	}
	for _, at := range []string{"poll", "{id}/open", "{id}/message", "{id}/end"} {
		routes = append(routes, (&route{method: "POST", path: "/api/v1/tools/{name}/apps/" + at, role: Operate, summary: "Serve " + at + " of apps.js, for the app of a tool that the caller has tried",
			in: reflect.TypeFor[json.RawMessage](), out: reflect.TypeFor[json.RawMessage](), stream: (*request).passToApp}).of("apps"))
	}
	return routes
}

// A shownTool is a tool. In a list of many it has the beginning of its description alone, and no schemas.
type shownTool struct {
	Name         string          `json:"name"`
	Server       string          `json:"server,omitempty"` // empty: a tool of the program
	Tool         string          `json:"tool,omitempty"`   // what its server calls it; not in a list
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Tokens       int             `json:"tokens"`           // that its definition takes, estimated
	State        string          `json:"state"`            // listed, quarantined or rejected
	Reason       string          `json:"reason,omitempty"` // why it is not listed
	Hints        toolHints       `json:"hints"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// The toolHints are what a tool says of itself; all are false if it says nothing.
type toolHints struct {
	ReadOnly    bool `json:"readOnly,omitempty"`
	Destructive bool `json:"destructive,omitempty"`
	Idempotent  bool `json:"idempotent,omitempty"`
	OpenWorld   bool `json:"openWorld,omitempty"`
}

type callInput struct {
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object
}

// A callOutput says what came of a call.
type callOutput struct {
	Outcome string          `json:"outcome"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Waiting string          `json:"waiting,omitempty"` // the id under which the call waits for approval
	App     *apps.Shown     `json:"app,omitempty"`     // for show of apps.js; of a tool that is tried
}

// A found tool is one of the registry, or one that it did not take.
type foundTool struct {
	name          string
	server        string
	def           *registry.Definition // nil for one that was rejected
	state, reason string
}

// allTools yields all tools: those that are listed, then those that are held back, then those
// that were rejected.
func (a *admin) allTools(s *registry.Snapshot) iter.Seq[*foundTool] {
	return func(yield func(*foundTool) bool) {
		for _, t := range s.Tools() {
			d := t.Definition()
			if !yield(&foundTool{d.Name, d.Origin.Server, d, "listed", ""}) {
				return
			}
		}
		for _, t := range s.Quarantined() {
			if !yield(&foundTool{t.Tool.Name, t.Tool.Origin.Server, t.Tool, "quarantined", cmp.Or(t.Change.Summary(), "It waits to be accepted.")}) {
				return
			}
		}
		for _, status := range a.host.Servers() {
			for _, r := range status.Rejected {
				if !yield(&foundTool{r.Name, status.Name, nil, "rejected", a.hideError(status.Name, r.Err)}) {
					return
				}
			}
		}
	}
}

// hintsOf returns what a tool says of itself.
func hintsOf(d *registry.Definition) toolHints {
	h := d.Hints()
	if !h.Annotated {
		return toolHints{}
	}
	return toolHints{h.ReadOnly, h.Destructive, h.Idempotent, h.OpenWorld}
}

func (t *foundTool) brief(tokens func(*registry.Definition) int) shownTool {
	one := shownTool{Name: t.name, Server: t.server, State: t.state, Reason: t.reason}
	if d := t.def; d != nil {
		one.Title, one.Description, one.Tokens, one.Hints = d.Title, plain.Cut(d.Description, maxDescription), tokens(d), hintsOf(d)
	}
	return one
}

func (q *request) listAllTools() ([]shownTool, error) {
	snapshot := q.host.Registry().Snapshot()
	tokens := toolset.TokensOf(snapshot)
	shown := []shownTool{}
	for t := range q.allTools(snapshot) {
		shown = append(shown, t.brief(tokens))
	}
	return shown, nil
}

// tool returns the tool of a name, the listed one first.
func (q *request) tool(name string) *foundTool {
	for t := range q.allTools(q.host.Registry().Snapshot()) {
		if t.name == name {
			return t
		}
	}
	return nil
}

func noTool(why string) error {
	return &failure{status: http.StatusNotFound, code: "not_found", detail: why}
}

func (q *request) showTool() (shownTool, error) {
	t := q.tool(q.PathValue("name"))
	if t == nil {
		return shownTool{}, noTool("there is no such tool")
	}
	shown := t.brief(toolset.EstimateTokens)
	if d := t.def; d != nil {
		shown.Tool, shown.Description = d.Origin.Tool, d.Description
		shown.InputSchema, shown.OutputSchema = d.InputSchema, d.OutputSchema
	}
	return shown, nil
}

// callable returns the tool that the path names, if it is listed and the caller may call it: to look for another one could
// start its server.
func (q *request) callable() (*registry.Definition, error) {
	t, ok := q.host.Registry().Snapshot().Lookup(q.PathValue("name"))
	if !ok {
		return nil, noTool("no such tool is offered")
	}
	d := t.Definition()
	return d, q.mayStart(d.Origin.Server)
}

func (q *request) callTool(in *callInput) (callOutput, error) {
	d, err := q.callable()
	if err != nil {
		return callOutput{}, err
	}
	ctx, cancel := q.ofCall()
	defer cancel()
	res, err := q.host.Registry().Call(ctx, d.Name, in.Arguments)
	return q.output(d.Origin.Server, res, err)
}

// ofCall returns the context of a call of the caller's, in which no other has a part.
func (q *request) ofCall() (context.Context, context.CancelFunc) {
	return context.WithTimeout(onbehalf.WithOwner(q.forUser(), q.caller.Owner()), callTime)
}

// awaitCall waits for a call that the caller has tried, and whose result is theirs.
func (q *request) awaitCall() (callOutput, error) {
	ctx, cancel := q.ofCall()
	defer cancel()
	server := ""
	if t := q.tool(q.PathValue("name")); t != nil {
		server = t.server
	}
	res, err := q.host.Registry().Await(ctx, q.PathValue("id"))
	if isA[*approval.UnknownError](err) {
		return callOutput{}, err
	}
	if err != nil && ctx.Err() != nil {
		return callOutput{Outcome: "asked", Waiting: q.PathValue("id")}, nil
	}
	return q.output(server, res, err)
}

// output shows what came of a call.
func (q *request) output(server string, res *mcp.CallToolResult, err error) (callOutput, error) {
	out := callOutput{Outcome: events.OutcomeOf(err)}
	waits := (*registry.ApprovalRequiredError)(nil)
	switch {
	case errors.As(err, &waits): // whose text is for a model
		out.Waiting = waits.Request.ID
	case err != nil && server != "":
		out.Error = q.hideError(server, err)
	case err != nil:
		out.Error = q.redactor.Text(err.Error())
	default:
		if res.IsError {
			out.Outcome = "tool_error"
		}
		out.Result, err = json.Marshal(res)
		return out, err
	}
	return out, nil
}
