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
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// The call_tool of one registry calls its tools wherever it is listed, and is decided
// about there.
func TestCallToolOfAnotherRegistry(t *testing.T) {
	theirs := searching(t, registry.Options{})
	tool, calls := recorded("files", "read", titled)
	mustReplace(t, theirs, "files", tool)

	ours := &belt{Registry: registry.New(&registry.Options{Approver: mustPolicy(t, approval.Allow, policy.Rule{Verdict: approval.Deny, User: "eve", Tool: "call_tool"})})}
	other, wrong := recorded("files", "read", titled)
	mustReplace(t, ours, "files", other)
	mustAdd(t, ours, callTool(t, theirs))
	args := json.RawMessage(`{"name":"files__read","arguments":{"title":"a"}}`)
	assert.Value(ours.Call(t.Context(), "call_tool", args))(t)
	assert.Equal(t, len(*calls), 1)
	assert.Equal(t, len(*wrong), 0)
	assert.As[*approval.DeniedError](t, errorOf(ours.Call(onbehalf.With(t.Context(), "eve"), "call_tool", args)))
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
	assert.As[*registry.ArgumentsError](t, errorOf(r.Call(t.Context(), "call_tool", json.RawMessage(nested))))
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
				if err == nil || !strings.Contains(err.Error(), want) || user == "guest" && (strings.Contains(err.Error(), "Monday") || strings.Contains(err.Error(), "did you mean")) {
					t.Errorf("%s calls %s%s: %v, want %s", user, tool, args, err, want)
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
		assert.Contains(t, fmt.Sprint(errorOf(r.Call(t.Context(), "serch_tools", nil))), `did you mean "search_tools"?`)
		diff := mustReplace(t, r, "", native("search_tools"), native("other"))
		assert.Equal(t, len(diff.Rejected), 1, "replaced: rejected")
		wantBetween(t, len(diff.Added), 0, 1, "replaced: added")
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
	assert.Equal(t, fmt.Sprint(errorOf(r.Call(t.Context(), "call_tool", json.RawMessage(`{"name": "gitea__create_issue", "arguments": {}}`)))), said+": "+cause.Error(), "call_tool")
	_, shown := show(t, r, `{"names":["gitea__create_issue"]}`)
	assert.Equal(t, shown.Missing[0].Reason, said, "describe_tool")
}
