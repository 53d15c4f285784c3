package codemode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

var readOnly = mcp.ToolAnnotations{ReadOnlyHint: true}

func textOf(res *mcp.CallToolResult) string { return result.Text(res) }

// What code_execution answers, with and without success.
func TestTool(t *testing.T) {
	fails := remote{server: "s", name: "fails", call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: textResult("no such file").Content}, nil
	}}
	structured := remote{server: "s", name: "structured", output: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: textResult("n is 1").Content, StructuredContent: map[string]any{"n": 1}}, nil
	}}
	image := remote{server: "s", name: "image", call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, nil
	}}
	large := remote{server: "s", name: "large", call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
		return textResult(`["` + strings.Repeat("x", 1<<20) + `"]`), nil
	}}
	r := newRegistry(t, &registry.Options{Results: &result.Options{Wrap: true}}, fails, structured, image, large)
	assert.OK(t, r.Add(newRunner(t, r, nil).Tool(nil)))
	for _, test := range []struct{ args, want string }{
		{`{"code":"return [1, '<b>']"}`, `{"value":[1,"<b>"]}`},
		{`{"code":"console.log('a', {b: 1}); console.error(new Error('c'))"}`, `{"log":"a {\"b\":1}\nError: c\n"}`},
		{`{"code":"return input.x * 2","input":{"x":4}}`, `{"value":8}`},
		{`{"code":"return await tools.s.structured({})"}`, `{"value":{"n":1}}`},
		{`{"code":"return await tools.s.image({})"}`, `{"value":[{"type":"image","mimeType":"image/png","data":"eA=="}]}`},
		{`{"code":"return (await tools.s.large({}))[0].length"}`, `{"value":1048576}`},
		{`{"code":"await tools.s.fails({a: 1})"}`, `{"error":"ToolError: no such file"`},
		{`{"code":"await call('code_execution', {code: ''})"}`, `{"error":"ToolError: a script cannot run another one"`},
		{`{"code":"await call('read_result', {handle: 'x'})"}`, `{"error":"ToolError: `},
		{`{"code":"throw new TypeError('x')"}`, `{"error":"TypeError: x","at":"at`},
		{`{"code":"let x = ;"}`, `{"error":"SyntaxError: unexpected token in expression: ';'","at":"line 1, column`},
		{`{"resume":"nothing"}`, `no script waits under this id: it has ended, or has waited too long; run it again`},
		{`{"code":"x","ask_once":true}`, `codemode: no one can be asked about a plan: Options.ApprovePlan is nil`},
		{`{"code":"return await tools.s.structured({x: 1})","dry":true}`, `{"value":null,"calls":[{"tool":"s__structured","arguments":{"x":1},"state":"planned"}],"say":"This was a dry run: calls that are \"planned\" were not made, and returned null."}`},
	} {
		got := textOf(assert.Value(r.Call(t.Context(), codemode.ToolName, []byte(test.args)))(t))
		assert.True(t, strings.HasPrefix(got, test.want), "%s: %q begins with %q", test.args, got, test.want)
	}
	for _, args := range []string{`{}`, `{"code":"1","resume":"x"}`, `{"code":"1","more":2}`, `{"code":1}`, `{"code":"1","timeout":-1}`} {
		assert.As[*registry.ArgumentsError](t, assert.Err(r.Call(t.Context(), codemode.ToolName, []byte(args))))
	}
}

// A large value is cut where the runner, or the registry, cuts it, and the model is told.
func TestLargeValue(t *testing.T) {
	r := newRegistry(t, &registry.Options{Results: &result.Options{MaxBytes: 4 << 10}})
	c := newRunner(t, r, nil)
	assert.OK(t, r.Add(c.Tool(nil)))
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: `return 'x'.repeat(1 << 20)`}))(t)
	assert.Equal(t, report.Bytes, 1<<20+2, "(%v)", report.Err)
	if got, most := len(report.Value), 65<<10; got > most {
		t.Errorf("got %d bytes of it, want at most %d", got, most)
	}
	res := assert.Value(r.Call(t.Context(), codemode.ToolName, []byte(`{"code":"return 'x'.repeat(1 << 14)"}`)))(t)
	if got := textOf(res); len(got) > 4<<10 || !strings.Contains(got, "read_result") {
		t.Errorf("got %d bytes, want at most 4 KiB that name read_result: %s", len(got), got)
	}
}

// The description has the declarations of few tools.
func TestDescription(t *testing.T) {
	r := newRegistry(t, nil, remote{server: "git hub", name: "create-issue", output: `{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}`})
	c := newRunner(t, r, nil)
	want := "\n\nThe tools:\ntools.git_hub.create_issue(args: object): Promise<{number: number}> // Tool create-issue.\n"
	assert.True(t, strings.HasSuffix(c.Tool(nil).Definition().Description, want), "%q ends with %q", c.Tool(nil).Definition().Description, want)
	none := func(*registry.Definition) bool { return false }
	if got, want := c.Tool(none).Definition().Description, "\n\nFind the tools by search."; !strings.HasSuffix(got, want) {
		t.Errorf("got the description %s, want the end %s", got, want)
	}
}

// A script sees the tools that are kept and are not for apps alone, and no others, whatever it tries.
func TestKeep(t *testing.T) {
	for _, app := range []bool{false, true} {
		secret := echo("s", "secret")
		secret.app = app
		c := newRunner(t, newRegistry(t, nil, echo("s", "open"), secret), nil)
		keep := func(d *registry.Definition) bool { return app || d.Origin.Tool != "secret" }
		res := assert.Value(c.Tool(keep).Call(onbehalf.WithApps(t.Context()), []byte(`{"code":"const all = []; for (const f of [() => tools.s.secret({}), () => call('s__secret'), () => call('S_SECRET'), () => describe('s__secret'), () => call('s__secre')]) try { all.push(await f()) } catch (e) { all.push(e.message) } return [all, (await search('secret open echo tool', 10)).map(t => t.name)]"}`)))(t)
		want := `{"value":[["unknown tool \"s.secret\": find one by search(...)","unknown tool \"s__secret\": find one by search(...)","unknown tool \"S_SECRET\": find one by search(...)","unknown tool \"s__secret\": find one by search(...)","unknown tool \"s__secre\": find one by search(...)"],["s__open"]]}`
		assert.Equal(t, textOf(res), want, "for apps alone: %v", app)
		assert.Lacks(t, c.Tool(keep).Definition().Description, "secret")
	}
}

// A script does not call tools that the registry hides: those find and call the tools that keep may leave out.
func TestHiddenTool(t *testing.T) {
	r := newRegistry(t, nil, echo("s", "open"))
	assert.OK(t, r.AddHidden(registry.MustFunc("hidden", "Hidden", func(context.Context, struct{}) (string, error) { return "called", nil })))
	assert.Equal(t, run(t, newRunner(t, r, nil), `try { return await call('hidden', {}) } catch (e) { return e.code }`), `"unknown_tool"`)
}

// Policy, ledger, middleware and observers see of a script's calls what they see of direct
// ones.
func TestSameAsDirectCalls(t *testing.T) {
	calls := []struct{ name, args string }{
		{"s__echo", `{"a":1}`}, {"s__echo", `{"b":"x"}`}, {"s__denied", `{}`}, {"s__fails", `{}`},
		{"nothing", `{}`}, {"later__tool", `{}`},
	}
	seenBy := func(make func(ctx context.Context, r *registry.Registry, name, args string)) []string {
		var mu sync.Mutex
		var seen []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf(format, args...))
		}
		approver := registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			note("asked %s %s %s %t", req.User, req.Tool.Name, req.Args, req.Trusted)
			if req.Tool.Name == "s__denied" {
				return approval.Decision{Reason: "no"}, nil
			}
			return approval.Decision{Verdict: approval.Allow}, nil
		})
		fails := remote{server: "s", name: "fails", call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			return nil, &mcp.OutcomeUnknownError{Tool: "fails", Err: errors.New("lost")}
		}}
		r := newRegistry(t, &registry.Options{Approver: approver, Ledger: ledger.New(nil)}, echo("s", "echo"), echo("s", "denied"), fails, echo("later", "old"))
		assert.Value(r.Replace(registry.Server{Name: "later"}, []registry.Tool{echo("later", "tool").tool()}))(t)
		r.Use(func(next registry.Handler) registry.Handler {
			return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
				note("passed %s %s", call.Tool.Name, call.Args)
				return next(ctx, call)
			}
		})
		r.Observe(func(_ context.Context, o *registry.Observation) {
			note("observed %s %s %s %s %t %d %v", o.User, o.Name, o.Kind, o.Arguments, o.Passed, o.ResultBytes, o.Err)
		})
		for _, call := range calls {
			make(userContext(t), r, call.name, call.args)
		}
		return seen
	}
	direct := seenBy(func(ctx context.Context, r *registry.Registry, name, args string) {
		_, _ = r.Call(ctx, name, []byte(args))
	})
	scripted := seenBy(func(ctx context.Context, r *registry.Registry, name, args string) {
		assert.Value(newRunner(t, r, nil).Run(ctx, &codemode.Script{Code: fmt.Sprintf("await call(%q, %s)", name, args)}))(t)
	})
	assert.Equal(t, fmt.Sprintf("%q", direct), fmt.Sprintf("%q", scripted))
	if got, least := len(direct), 2*len(calls); got < least {
		t.Errorf("got %d notes, want at least %d", got, least)
	}
}

// The calls of a script are told apart by the id of the call that runs it, and a number.
func TestCallIDs(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	r := newRegistry(t, nil, echo("s", "echo"))
	r.Observe(func(_ context.Context, o *registry.Observation) {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, o.CallID)
	})
	c := newRunner(t, r, nil)
	for _, ctx := range []context.Context{t.Context(), registry.WithCallID(t.Context(), "c7")} {
		assert.Value(c.Run(ctx, &codemode.Script{Code: `await tools.s.echo({}); await tools.s.echo({})`}))(t)
	}
	assert.Equal(t, fmt.Sprint(ids), "[code_execution/1 code_execution/2 c7/1 c7/2]", "the ids")
}
