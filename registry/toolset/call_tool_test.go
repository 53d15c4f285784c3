package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

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
			"by the tool": func() (*mcp.CallToolResult, error) {
				return shownIn(t, r, always, "call_tool").Call(t.Context(), json.RawMessage(args))
			},
		} {
			*calls, seen = nil, nil
			const want = `{"title":"a","draft":true}`
			assert.Equal(t, textOf(t, assert.Value(call())(t)), "got "+want, "%s, %s", args, way)
			assert.List(t, *calls, []string{want}, "%s, %s: calls", args, way)
			assert.List(t, seen, []string{"github__create_issue" + want}, "%s, %s: seen by middleware", args, way)
		}
	}
}

// What is wrong is said of the tool that is meant.
func TestCallToolErrors(t *testing.T) {
	r := searching(t, registry.Options{Ledger: ledger.New(nil), Approver: mustPolicy(t, approval.Allow, policy.Rule{Tool: "books__delete"})})
	tool, calls := recorded("books", "create", titled)
	mustReplace(t, r, "books", tool, serverTool("books", "delete", "Delete a note."))
	mustReplace(t, r, "books", tool, serverTool("books", "delete", "Delete a note."), serverTool("books", "new", ""))
	for _, c := range []struct {
		args, want string
		kind       error // of this type
	}{
		{`{"name":"books__create","arguments":{}}`, `arguments of tool "books__create": "title" is missing`, &registry.ArgumentsError{}},
		{`{"name":"books__create","arguments":{"title":1}}`, `arguments of tool "books__create": "title" must be a string`, &registry.ArgumentsError{}},
		{`{"name":"books__create","arguments":"{"}`, `arguments of tool "books__create": must be a JSON object, but are not valid JSON`, &registry.ArgumentsError{}},
		{`{"name":"books__creat","arguments":{}}`, `unknown tool "books__creat"; did you mean "books__create"`, &registry.UnknownToolError{}},
		{`{"name":"books__delete"}`, `calling tool "books__delete" is not allowed`, &approval.DeniedError{}},
		{`{"name":"books__new"}`, `tool "books__new" was not called and nothing ran: it is quarantined`, &registry.QuarantinedError{}},
		{`{"name":"call_tool","arguments":{"name":"books__create"}}`, `arguments of tool "call_tool": "name" must be the name of another tool`, &registry.ArgumentsError{}},
		{`{"name":"mcp__call_tool","arguments":{"name":"books__create"}}`, `call`, nil},
		{`{"tool":"books__create"}`, `arguments of tool "call_tool": "name" is missing`, &registry.ArgumentsError{}},
	} {
		_, err := r.Call(t.Context(), "call_tool", json.RawMessage(c.args))
		assert.Contains(t, fmt.Sprint(err), c.want, "%s", c.args)
		if c.kind != nil {
			assert.Equal(t, fmt.Sprintf("%T", err), fmt.Sprintf("%T", c.kind), "%s", c.args)
		}
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s: outcome", c.args)
	}
	assert.Equal(t, len(*calls), 0, "calls")
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
	assert.Equal(t, asked.Request.Tool.Name+string(asked.Request.Args), "github__create_issue"+args, "the call that is asked about")
	assert.Contains(t, err.Error(), `"github__create_issue"`, "the error")
	assert.Equal(t, len(*calls), 0, "calls")
	res := assert.Value(r.Approve(t.Context(), asked.Request.ID, &registry.ApproveOptions{ForConversation: true}))(t)
	assert.Equal(t, textOf(t, res), "got "+args)
	// For the conversation means: that tool, called in either way.
	ask(t, r, "call_tool", `{"name":"create_issue","arguments":{"title":"b"}}`)
	ask(t, r, "github__create_issue", `{"title":"c"}`)
	assert.As[*registry.ApprovalRequiredError](t, assert.Err(r.Call(t.Context(), "call_tool", json.RawMessage(`{"name":"notes__delete"}`))), "another tool")
	assert.Equal(t, len(*calls), 3, "calls")
}

// A result is shaped once, as that of its tool.
func TestCallToolShapesOnce(t *testing.T) {
	r := searching(t, registry.Options{Results: &result.Options{Wrap: true, MaxBytes: 2048}})
	mustReplace(t, r, "notes", &plainTool{serverTool("notes", "read", "").def, textResult(strings.Repeat("x", 600))})
	got := ask(t, r, "call_tool", `{"name":"notes__read"}`)
	assert.Equal(t, len(got), len(ask(t, r, "notes__read", "")), "bytes")
	assert.Equal(t, strings.Count(got, "<untrusted-content"), 1, "envelopes")
	assert.Equal(t, strings.Count(got, `server="notes" tool="read"`), 1, "envelopes of the tool")
}

// The call_tool of one registry calls its tools wherever it is listed, and is decided
// about there.
func TestCallToolOfAnotherRegistry(t *testing.T) {
	theirs := searching(t, registry.Options{})
	tool, calls := recorded("files", "read", titled)
	mustReplace(t, theirs, "files", tool)

	ours := &belt{Registry: registry.New(&registry.Options{Approver: mustPolicy(t, approval.Allow, policy.Rule{Verdict: approval.Deny, User: "eve", Tool: "call_tool"})})}
	other, wrong := recorded("files", "read", titled)
	mustReplace(t, ours, "files", other)
	mustAdd(t, ours, shownIn(t, theirs, always, "call_tool"))
	args := json.RawMessage(`{"name":"files__read","arguments":{"title":"a"}}`)
	assert.Value(ours.Call(t.Context(), "call_tool", args))(t)
	assert.Equal(t, len(*calls), 1)
	assert.Equal(t, len(*wrong), 0)
	assert.As[*approval.DeniedError](t, assert.Err(ours.Call(onbehalf.With(t.Context(), "eve"), "call_tool", args)))
	assert.Equal(t, len(*calls), 1)
}

// A tool that is called nearly the same is another one.
func TestCallToolCallsItsNamesake(t *testing.T) {
	r := searching(t, registry.Options{})
	tool, calls := recorded("call", "tool", titled)
	mustReplace(t, r, "call", tool)
	assert.Value(r.Call(t.Context(), "call_tool", json.RawMessage(`{"name":"call__tool","arguments":{"title":"a"}}`)))(t)
	assert.Equal(t, len(*calls), 1)
	nested := `{"name":"call_tool","arguments":{"name":"call__tool","arguments":{"title":"a"}}}`
	assert.As[*registry.ArgumentsError](t, assert.Err(r.Call(t.Context(), "call_tool", json.RawMessage(nested))))
	assert.Equal(t, len(*calls), 1)
}

// Who calls a tool whose result goes to the user must know that: an agent that sees
// call_tool does not.
func TestCallToolLeavesTheUsersResults(t *testing.T) {
	r := searching(t, registry.Options{})
	mustReplace(t, r, "bank", assert.Value(registry.With(serverTool("bank", "balance", "Tell the balance."), func(d *registry.Definition) { d.ReturnDirect = true }))(t))
	set := r.Toolset(t.Context(), always)
	assert.Contains(t, toolNames(set.Tools), "bank__balance", "the model is told of")
	assert.Lacks(t, toolNames(set.Deferred), "bank__balance", "the model is told of")
	_, err := r.Call(t.Context(), "call_tool", json.RawMessage(`{"name":"bank__balance"}`))
	assert.As[*registry.ArgumentsError](t, err)
	assert.Contains(t, err.Error(), `"bank__balance", whose result goes to the user: call that tool by its own name`)
	assert.Value(r.Call(t.Context(), "bank__balance", nil))(t)
}

// What is denied to a user is not told of by an error either.
func TestErrorsRespectTheUser(t *testing.T) {
	accepted := ledger.New(nil)
	r := searching(t, registry.Options{Ledger: accepted, Approver: mustPolicy(t, approval.Allow,
		policy.Rule{Verdict: approval.Deny, User: "guest", Server: "payroll"})})
	mustReplace(t, r, "payroll", serverTool("payroll", "fire", ""), serverTool("payroll", "hire_staff", ""))
	mustReplace(t, r, "payroll", serverTool("payroll", "fire", "Monday."), serverTool("payroll", "hire_staff", ""))
	for user, want := range map[string]struct{ held, misspelt string }{
		"guest": {`calling tool "payroll__fire" is not allowed`, `unknown tool "payroll__hire_staf"`},
		"boss":  {`"Monday."`, `unknown tool "payroll__hire_staf"; did you mean "payroll__hire_staff"?`},
	} {
		ctx := onbehalf.With(t.Context(), user)
		for name, want := range map[string]string{"payroll__fire": want.held, "payroll__hire_staf": want.misspelt} {
			for tool, args := range map[string]string{name: `{}`, "call_tool": `{"name":"` + name + `"}`} {
				_, err := r.Call(ctx, tool, json.RawMessage(args))
				assert.Contains(t, fmt.Sprint(err), want, "%s calls %s%s", user, tool, args)
				if user == "guest" {
					assert.Lacks(t, fmt.Sprint(err), "Monday")
					assert.Lacks(t, fmt.Sprint(err), "did you mean")
				}
			}
		}
	}
}

// The tools for searching are there for everybody, and stay when others are replaced.
func TestFindersStay(t *testing.T) {
	r := searching(t, registry.Options{Approver: mustPolicy(t, approval.Deny)})
	for range 2 {
		assert.Contains(t, ask(t, r, "search_tools", `{"query":"note"}`), "There are no tools", "a search by who may call nothing")
		assert.Contains(t, fmt.Sprint(assert.Err(r.Call(t.Context(), "serch_tools", nil))), `did you mean "search_tools"?`)
		diff := mustReplace(t, r, "", native("search_tools"), native("other"))
		assert.Equal(t, len(diff.Rejected), 1, "replaced: rejected")
		assert.Between(t, len(diff.Added), 0, 1, "replaced: added")
	}
}

// A model learns why there is no tool of a name, by call_tool and by describe_tool.
func TestFindersSayWhyThereIsNoTool(t *testing.T) {
	r := searching(t, registry.Options{})
	cause := errors.New("the variable SECRET is not set")
	r.Explain(func(_ context.Context, name string) error {
		return &registry.NotReadyError{Tool: name, Server: "gitea", Reason: "it is being started", Err: cause}
	})
	const said = `tool "gitea__create_issue": server "gitea" is not ready: it is being started`
	assert.Equal(t, fmt.Sprint(assert.Err(r.Call(t.Context(), "call_tool", json.RawMessage(`{"name": "gitea__create_issue", "arguments": {}}`)))), said+": "+cause.Error(), "call_tool")
	_, shown := show(t, r, `{"names":["gitea__create_issue"]}`)
	assert.Equal(t, shown.Missing[0].Reason, said, "describe_tool")
}
