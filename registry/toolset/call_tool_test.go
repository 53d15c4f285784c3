package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// recorded returns a tool of a server that answers with its arguments, and where
// they are noted.
func recorded(server, name, schema string) (registry.Tool, *[]string) {
	calls := new([]string)
	t := serverTool(server, name, "")
	t.def.InputSchema = json.RawMessage(schema)
	return &recordedTool{t.def, func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
		*calls = append(*calls, string(args))
		return textResult("got " + string(args)), nil
	}}, calls
}

type recordedTool struct {
	def  *registry.Definition
	call func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)
}

func (t *recordedTool) Definition() *registry.Definition { return t.def }

func (t *recordedTool) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	return t.call(ctx, args)
}

const titled = `{"type":"object","properties":{"title":{"type":"string"},"draft":{"type":"boolean","default":true}},"required":["title"],"additionalProperties":false}`

// callTool returns call_tool, as a model is offered it.
func callTool(t *testing.T, r *belt) registry.Tool {
	t.Helper()
	for _, tool := range r.Toolset(t.Context(), always).Tools {
		if tool.Definition().Name == "call_tool" {
			return tool
		}
	}
	t.Fatal("there is no call_tool")
	return nil
}

// A call of call_tool is a call of the other tool, for everybody and in every way it
// can be written.
func TestCallTool(t *testing.T) {
	r := searching(t, registry.Options{})
	tool, calls := recorded("github", "create_issue", titled)
	mustReplace(t, r, "github", tool)
	var seen []string
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
			seen = append(seen, c.Tool.Name+string(c.Args))
			return next(ctx, c)
		}
	})
	for _, args := range []string{
		`{"name":"github__create_issue","arguments":{"title":"a"}}`,
		`{"name":"CreateIssue","arguments":{"title":"a"}}`,
		`{"name":"github__create_issue","arguments":"{\"title\":\"a\"}"}`,
		`{"name":"github__create_issue","title":"a"}`,
	} {
		for way, call := range map[string]func() (*mcp.CallToolResult, error){
			"by the registry": func() (*mcp.CallToolResult, error) { return r.Call(t.Context(), "call_tool", json.RawMessage(args)) },
			"by the tool":     func() (*mcp.CallToolResult, error) { return callTool(t, r).Call(t.Context(), json.RawMessage(args)) },
		} {
			*calls, seen = nil, nil
			res, err := call()
			const want = `{"title":"a","draft":true}`
			assert.OK(t, err, "%s, %s", args, way)
			assert.Equal(t, textOf(t, res), "got "+want, "%s, %s", args, way)
			wantList(t, *calls, []string{want}, "%s, %s", args, way)
			wantList(t, seen, []string{"github__create_issue" + want}, "%s, %s", args, way)
		}
	}
}

// What is wrong is said of the tool that is meant.
func TestCallToolErrors(t *testing.T) {
	accepted := ledger.New(nil)
	r := searching(t, registry.Options{Ledger: accepted, Approver: mustPolicy(t, approval.Allow, policy.Rule{Tool: "books__delete"})})
	tool, calls := recorded("books", "create", titled)
	mustReplace(t, r, "books", tool, serverTool("books", "delete", "Delete a note."))
	mustReplace(t, r, "books", tool, serverTool("books", "delete", "Delete a note."), serverTool("books", "new", ""))
	for _, c := range []struct {
		args, want string
		kind       any
	}{
		{`{"name":"books__create","arguments":{}}`, `arguments of tool "books__create": "title" is missing`, new(*registry.ArgumentsError)},
		{`{"name":"books__create","arguments":{"title":1}}`, `arguments of tool "books__create": "title" must be a string`, new(*registry.ArgumentsError)},
		{`{"name":"books__create","arguments":"{"}`, `arguments of tool "books__create": must be a JSON object, but are not valid JSON`, new(*registry.ArgumentsError)},
		{`{"name":"books__creat","arguments":{}}`, `unknown tool "books__creat"; did you mean "books__create"`, new(*registry.UnknownToolError)},
		{`{"name":"books__delete"}`, `calling tool "books__delete" is not allowed`, new(*approval.DeniedError)},
		{`{"name":"books__new"}`, `tool "books__new" was not called and nothing ran: it is quarantined`, new(*registry.QuarantinedError)},
		{`{"name":"call_tool","arguments":{"name":"books__create"}}`, `arguments of tool "call_tool": "name" must be the name of another tool`, new(*registry.ArgumentsError)},
		{`{"name":"mcp__call_tool","arguments":{"name":"books__create"}}`, `call`, nil},
		{`{"tool":"books__create"}`, `arguments of tool "call_tool": "name" is missing`, new(*registry.ArgumentsError)},
	} {
		res, err := r.Call(t.Context(), "call_tool", json.RawMessage(c.args))
		assert.Contains(t, fmt.Sprint(err), c.want, "%s", c.args)
		if c.kind != nil && !errors.As(err, c.kind) {
			t.Errorf("%s: %+v, %v (%T); want %s", c.args, res, err, err, c.want)
		}
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s: outcome", c.args)
	}
	assert.Equal(t, len(*calls), 0, "called with")
	assert.Contains(t, ask(t, r, "call_tool", `{"name":"search_tools","arguments":{"query":"create"}}`), "- books__create", "a search by call_tool")
}

// The user who is asked sees the tool that is called, and their answer is for that one.
func TestCallToolAsks(t *testing.T) {
	r := searching(t, registry.Options{Approver: policy.Cautious()})
	tool, calls := recorded("github", "create_issue", titled)
	mustReplace(t, r, "github", tool)
	_, err := r.Call(t.Context(), "call_tool", json.RawMessage(`{"name":"create_issue","arguments":{"title":"a"}}`))
	asked := assert.As[*registry.ApprovalRequiredError](t, err)
	const args = `{"title":"a","draft":true}`
	q := asked.Request
	assert.Equal(t, q.Tool.Name, "github__create_issue", "the tool that is asked about")
	assert.Equal(t, string(q.Args), args, "the arguments that are asked about")
	assert.Contains(t, err.Error(), `"github__create_issue"`, "the error")
	assert.Equal(t, len(*calls), 0, "called with")
	res, err := r.Approve(t.Context(), asked.Request.ID, &registry.ApproveOptions{ForSession: true})
	assert.OK(t, err)
	assert.Equal(t, textOf(t, res), "got "+args)
	// For the session means: that tool, called in either way.
	for _, call := range []struct{ tool, args string }{
		{"call_tool", `{"name":"create_issue","arguments":{"title":"b"}}`},
		{"github__create_issue", `{"title":"c"}`},
	} {
		assert.Value(r.Call(t.Context(), call.tool, json.RawMessage(call.args)))(t)
	}
	if _, err := r.Call(t.Context(), "call_tool", json.RawMessage(`{"name":"notes__delete"}`)); !errors.As(err, &asked) {
		t.Errorf("another tool was called: %v", err)
	}
	assert.Equal(t, len(*calls), 3, "called with")
}

// A result is shaped once, as that of its tool.
func TestCallToolShapesOnce(t *testing.T) {
	r := searching(t, registry.Options{Results: &result.Options{Wrap: true, MaxBytes: 2048}})
	const size = 600
	mustReplace(t, r, "notes", &plainTool{serverTool("notes", "read", "").def, textResult(strings.Repeat("x", size))})
	direct := assert.Value(r.Call(t.Context(), "notes__read", nil))(t)
	one := len(result.Text(direct))
	res := assert.Value(r.Call(t.Context(), "call_tool", json.RawMessage(`{"name":"notes__read"}`)))(t)
	got := result.Text(res)
	assert.Equal(t, len(got), one, "got %d bytes, want %d", len(got), one)
	assert.Equal(t, strings.Count(got, "<untrusted-content"), 1, "got %d bytes, want %d", len(got), one)
	assert.Equal(t, strings.Count(got, `server="notes" tool="read"`), 1, "got %d bytes, want %d", len(got), one)
}
