package codemode

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/child"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// callGrace is how long a tool may take to end once its script has.
const callGrace = 500 * time.Millisecond

// An exception is what a script gets in place of an answer: a message for the model that wrote it, a code such as
// "tool_error", "denied" or "unknown_tool", and whether the call was made.
type exception = child.Failure

// notSent returns the exception of a request that was not made.
func notSent(code, message string) *exception {
	return &exception{Message: message, Code: code, Outcome: mcp.NotSent.String()}
}

// answered returns the exception of a call whose tool has answered.
func answered(code, message string) *exception {
	return &exception{Message: message, Code: code, Outcome: mcp.Answered.String()}
}

// call makes a call of the script.
func (r *run) call(ctx context.Context, params json.RawMessage) (json.RawMessage, *exception) {
	var want struct {
		Name      string          `json:"name"`
		Path      []string        `json:"path"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(params, &want) != nil || bytes.TrimSpace(want.Arguments) == nil {
		return nil, notSent("invalid_arguments", "a call has the name of a tool, and an object of arguments")
	}
	name := want.Name
	def, refused := r.resolve(name, want.Path)
	switch {
	case def != nil:
		name = def.Name
	case want.Path != nil:
		name = strings.Join(want.Path, ".")
	}
	call, number := r.note(name, want.Arguments)
	if refused != nil {
		return r.end(call, callNotSent, nil, refused)
	}
	if r.dry && !(def != nil && def.Hints().ReadOnly && r.runner.registry.Snapshot().Trusted(def.Name)) {
		return r.plans(call, def, want.Arguments)
	}
	ctx = r.plan.pass(context.WithValue(ctx, scriptKey{}, true), def, want.Arguments)
	res, err := r.make(registry.WithCallID(ctx, r.parent+"/"+strconv.Itoa(number)), name, want.Arguments)
	if asks, ok := errors.AsType[*registry.ApprovalRequiredError](err); ok {
		res, err = r.await(ctx, call, asks.Request)
	}
	if err != nil {
		return r.end(call, cmp.Or(map[mcp.Outcome]string{mcp.Answered: callAnswered, mcp.NotSent: callNotSent}[mcp.OutcomeOf(err)], callUnknown), nil, exceptionOf(err))
	}
	if res.IsError {
		return r.end(call, callAnswered, nil, answered("tool_error", plain.Cut(result.Text(res), maxMessage)))
	}
	value, thrown := valueOf(res)
	return r.end(call, callAnswered, value, thrown)
}

// maxMessage bounds the message of an exception, in bytes.
const maxMessage = 16 << 10

// note begins the report of a call, and returns its number.
func (r *run) note(name string, args json.RawMessage) (*CallReport, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call := &CallReport{Tool: plain.Cut(name, leastKept), Arguments: r.shorten(args), State: callUnknown}
	r.calls = append(r.calls, call)
	return call, len(r.calls)
}

// end completes the report of a call, and returns what the script gets.
func (r *run) end(call *CallReport, state string, value json.RawMessage, thrown *exception) (json.RawMessage, *exception) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call.State = state
	if thrown != nil {
		call.Error = plain.Cut(thrown.Message, leastKept)
		return nil, thrown
	}
	call.Result = r.shorten(value)
	return value, nil
}

// make makes a call by the registry. It returns soon after the end of ctx, whatever the
// tool does.
func (r *run) make(ctx context.Context, name string, args json.RawMessage) (res *mcp.CallToolResult, err error) {
	made := make(chan struct{})
	var answer *mcp.CallToolResult
	failed := errPanic
	go func() {
		defer close(made)
		defer func() { _ = recover() }() // of the program's own middleware: the script learns that the call failed
		answer, failed = r.runner.registry.Call(ctx, name, args)
	}()
	over := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(callGrace, func() { close(over) }) })()
	select {
	case <-made:
		return answer, failed
	case <-over:
		return nil, mcp.WithOutcome(context.Cause(ctx), mcp.Unknown)
	}
}

var errPanic = errors.New("the call was broken off by a panic")

// await waits until a call was approved and made, or refused. One that still waits when
// the script ends is refused: no one would learn of its result.
func (r *run) await(ctx context.Context, call *CallReport, req *registry.ApprovalRequest) (*mcp.CallToolResult, error) {
	defer r.stopClock()()
	r.mu.Lock()
	call.State = callWaiting
	r.waiting = append(r.waiting, req)
	r.change()
	r.mu.Unlock()
	res, err := r.runner.registry.Await(ctx, req.ID)
	r.mu.Lock()
	r.waiting = slices.DeleteFunc(r.waiting, func(other *registry.ApprovalRequest) bool { return other == req })
	r.change()
	r.mu.Unlock()
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return res, err
	}
	if r.runner.registry.Deny(context.WithoutCancel(ctx), req.ID, "the script has ended") == nil {
		return nil, mcp.WithOutcome(err, mcp.NotSent)
	}
	return nil, mcp.WithOutcome(err, mcp.Unknown) // it was approved meanwhile
}

// sees reports whether the script may know of a tool.
func (r *run) sees(def *registry.Definition) bool { return r.keep == nil || r.keep(def) }

// resolve returns the tool that a name or a path means. Without a tool and without a
// reason the registry has to say what is wrong with the name.
func (r *run) resolve(name string, path []string) (*registry.Definition, *exception) {
	snapshot := r.runner.registry.Snapshot()
	if path != nil {
		var found []*registry.Definition
		for _, t := range snapshot.Tools() {
			if def := t.Definition(); isAt(def, path) && r.sees(def) {
				found = append(found, def)
			}
		}
		if len(found) != 1 {
			return nil, unknownTool(strings.Join(path, "."), len(found))
		}
		name = found[0].Name
	}
	def, ok := r.runner.registry.Resolve(name)
	switch {
	case ok && !isListed(snapshot, def), ok && !r.sees(def), !ok && r.keep != nil:
		return nil, unknownTool(name, 0)
	case !ok:
		return nil, nil
	}
	tool, _ := snapshot.Lookup(def.Name)
	if _, again := tool.(*codeTool); again {
		return nil, notSent("denied", "a script cannot run another one")
	}
	if def.ReturnDirect {
		return nil, notSent("denied", fmt.Sprintf("a script cannot call %s, whose result goes to the user: call it by itself", plain.Quote(def.Name)))
	}
	return def, nil
}

// isListed reports whether a snapshot lists a tool of that name, rather than hides it.
func isListed(s *registry.Snapshot, def *registry.Definition) bool {
	_, ok := slices.BinarySearchFunc(s.Tools(), def.Name, func(t registry.Tool, name string) int {
		return strings.Compare(t.Definition().Name, name)
	})
	return ok
}

func unknownTool(name string, found int) *exception {
	text := "unknown tool " + plain.Quote(name) + ": find one by search(...)"
	if found > 1 {
		text = fmt.Sprintf("%s means %d tools: use call(...) with the whole name", plain.Quote(name), found)
	}
	return notSent("unknown_tool", text)
}

// isAt reports whether a tool is the one that a script finds at tools.a.b, or at tools.a.
func isAt(def *registry.Definition, path []string) bool {
	if len(path) == 1 {
		return isCalled(def.Name, path[0])
	}
	server, local := placeOf(def)
	return len(path) == 2 && server != "" && isCalled(server, path[0]) && isCalled(local, path[1])
}

// placeOf returns the server of a tool, and its name there; a native tool has no server.
func placeOf(def *registry.Definition) (server, local string) {
	if def.Origin.Server == "" {
		return "", def.Name
	}
	return def.Origin.Server, cmp.Or(def.Alias, def.Origin.Tool)
}

// isCalled reports whether a script writes a name so: as it is, or as an identifier.
func isCalled(name, written string) bool { return name == written || identifier(name) == written }

// identifier returns a name with what no identifier has replaced.
func identifier(name string) string {
	id := strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' {
			return c
		}
		return '_'
	}, name)
	if id != "" && '0' <= id[0] && id[0] <= '9' {
		return "_" + id
	}
	return id
}

// valueOf returns what a script gets of a result: the structured content or else the
// text, as JSON if it is that. A result with other blocks is the array of all.
func valueOf(res *mcp.CallToolResult) (json.RawMessage, *exception) {
	var value any = res.Content
	if res.StructuredContent != nil {
		value = res.StructuredContent
	} else if !slices.ContainsFunc(res.Content, func(c mcp.Content) bool { _, isText := c.(*mcp.TextContent); return !isText }) {
		text := result.Text(res)
		if json.Valid([]byte(text)) {
			return json.RawMessage(text), nil
		}
		value = text
	}
	return marshal(value)
}

// marshal returns what a script gets as JSON.
func marshal(value any) (json.RawMessage, *exception) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, answered("failed", "the result cannot be used")
	}
	return data, nil
}

// exceptionOf returns what a script is told of a call without a result: what a model is
// told, without secrets.
func exceptionOf(err error) *exception {
	code := "failed"
	switch class := failure.Of(err); {
	case errors.As(err, new(*registry.UnknownToolError)):
		code = "unknown_tool"
	case errors.As(err, new(*registry.ArgumentsError)):
		code = "invalid_arguments"
	case errors.As(err, new(*registry.QuarantinedError)):
		code = "quarantined"
	case errors.As(err, new(*registry.NotReadyError)):
		code = "not_ready"
	case errors.As(err, new(*approval.DeniedError)), errors.As(err, new(*approval.PolicyError)):
		code = "denied"
	case class != failure.Other:
		code = class.String()
	}
	return &exception{Message: plain.Cut(result.Text(registry.ErrorResult(err)), maxMessage), Code: code, Outcome: mcp.OutcomeOf(err).String()}
}

// A found is what a script is told of a tool.
type found struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Declaration  string          `json:"declaration"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// search finds tools for the script.
func (r *run) search(ctx context.Context, params json.RawMessage) (json.RawMessage, *exception) {
	var q struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}
	if json.Unmarshal(params, &q) != nil {
		return nil, notSent("invalid_arguments", "search takes a text and a number")
	}
	keep := func(def *registry.Definition, _ registry.Hints) bool { return r.sees(def) }
	matches, err := r.runner.finder.Search(ctx, toolset.Query{Text: q.Query, Limit: q.Limit, Keep: keep})
	if err != nil && matches == nil {
		return nil, notSent("failed", "the search was broken off")
	}
	hits := []found{}
	for _, m := range matches {
		def := m.Tool.Definition()
		hits = append(hits, found{Name: def.Name, Description: plain.Cut(def.Description, maxSummary), Declaration: declaration(def)})
	}
	return marshal(hits)
}

// describe tells the script all of a tool, if its user may call that, as far as it is known.
func (r *run) describe(ctx context.Context, params json.RawMessage) (json.RawMessage, *exception) {
	var q struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(params, &q) != nil {
		return nil, notSent("invalid_arguments", "describe takes the name of a tool")
	}
	def, thrown := r.resolve(q.Name, nil)
	if thrown != nil {
		return nil, thrown
	}
	if def != nil {
		if verdict, _ := r.runner.registry.Decide(ctx, def.Name); verdict != approval.Deny {
			return marshal(found{def.Name, def.Description, declaration(def), def.InputSchema, def.OutputSchema})
		}
	}
	return nil, unknownTool(q.Name, 0)
}
