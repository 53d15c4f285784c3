package codemode_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

func TestScript(t *testing.T) {
	c := newRunner(t, newRegistry(t, nil, echo("git hub", "create-issue"), echo("notes", "add")), nil)
	for _, test := range []struct{ code, want string }{
		{`return 1 + 1`, `2`},
		{`return await tools.notes.add({a: [1, "x"]})`, `{"a":[1,"x"]}`},
		{`return await tools.git_hub.create_issue({title: "t"})`, `{"title":"t"}`},
		{`return await tools["git hub"]["create-issue"]()`, `{}`},
		{`return await call("notes__add", {b: null})`, `{"b":null}`},
		{`return (await Promise.all([...Array(32).keys()].map(i => tools.notes.add({i})))).map(x => x.i).reduce((a, b) => a + b)`, `496`},
		{`return (await search("add a note", 3)).map(t => t.name)[0]`, `"notes__add"`},
		{`return (await describe("notes__add")).declaration`, `"tools.notes.add(args: object): Promise<any>"`},
		{`try { await call("nowhere__x") } catch (e) { return [e.name, e.code, e.outcome] }`, `["ToolError","unknown_tool","not sent"]`},
		{`return typeof require + typeof fetch + typeof process + typeof setTimeout + typeof performance + typeof print`, `"undefinedundefinedundefinedundefinedundefinedundefined"`},
		{`return Object.getOwnPropertyNames(globalThis).filter(n => /^[a-z]/.test(n)).join()`, `"parseInt,parseFloat,isNaN,isFinite,decodeURI,decodeURIComponent,encodeURI,encodeURIComponent,escape,unescape,undefined,eval,globalThis,call,search,describe,tools,console"`},
		{`` + "return [new Date().getFullYear() > 2000, '\U0001f600', '\\ud800'.length]", `[true,"😀",1]`},
		{`return ["\ud800", "\\ud800", "\\\\ud800"]`, `["�","\\ud800","\\\\ud800"]`},
		{`return undefined`, ``},
	} {
		assert.Equal(t, run(t, c, test.code), test.want, "%s", test.code)
	}
	t.Log(c.Confinement())
}

// What a script returns comes as JSON, or as its beginning.
func TestValue(t *testing.T) {
	c := newRunner(t, newRegistry(t, nil), &codemode.Options{Limits: codemode.Limits{Output: 4 << 10}})
	for code, want := range map[string]string{
		`return input.n[1]`:                            `2`,
		`return {a: [null, true, "<é"], b: undefined}`: `{"a":[null,true,"<é"]}`,
		``: ``,
		`return await Promise.all([1, Promise.resolve(2)])`: `[1,2]`,
		`return "\ud83d\ude00\ud83d".length`:                `3`,
	} {
		report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: cmp.Or(code, " "), Input: []byte(`{"n":[1,2]}`)}))(t)
		assert.OK(t, report.Err, "%s", code)
		assert.Equal(t, string(report.Value), want, "%s", code)
	}
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: `return "x".repeat(10000)`}))(t)
	assert.Equal(t, report.Bytes, 10002)
	var beginning string
	assert.OK(t, json.Unmarshal(report.Value, &beginning))
	assert.True(t, len(beginning) <= 4<<10 && strings.HasPrefix(beginning, `"xxx`), "%.20q of %d bytes is the beginning", beginning, len(beginning))
}

// What a script throws is in the report, also what the engine throws in its place.
func TestScriptError(t *testing.T) {
	c := newRunner(t, newRegistry(t, nil, echo("s", "echo")), nil)
	for code, want := range map[string]string{
		`throw new RangeError("far")`: "RangeError: far",
		`throw "text"`:                "Error: text",
		`return 1n`:                   "TypeError",
		`let a = ;`:                   "SyntaxError",
		`await new Promise(() => {})`: "Error: ",
		`return await import("os")`:   "",
		`await tools.s.echo({b: "x".repeat(1 << 20)})`: "ToolError: the arguments have",
	} {
		report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: code}))(t)
		got := assert.As[*codemode.ScriptError](t, report.Err, "%s", code).Error()
		assert.True(t, strings.HasPrefix(got, want), "%s: %q begins with %q", code, got, want)
	}
}

// A script that has used up its processor time is ended.
func TestCPU(t *testing.T) {
	c := newRunner(t, newRegistry(t, nil), &codemode.Options{Limits: codemode.Limits{CPU: 200 * time.Millisecond}})
	assert.Equal(t, endOf(assert.Value(c.Run(t.Context(), &codemode.Script{Code: `while (true) {}`}))(t)), byCPU, "the end")
}

// As many requests as may be at a time are under way, and no more.
func TestParallel(t *testing.T) {
	const parallel = 8
	var mu sync.Mutex
	now, most, all := 0, 0, make(chan struct{})
	gate := remote{server: "s", name: "gate", readOnly: true, call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		mu.Lock()
		if now++; now == parallel && most < now {
			close(all)
		}
		most = max(most, now)
		mu.Unlock()
		select {
		case <-all:
		case <-ctx.Done():
		}
		mu.Lock()
		defer mu.Unlock()
		now--
		return textResult(""), nil
	}}
	c := newRunner(t, newRegistry(t, nil, gate), nil)
	run(t, c, `await Promise.all([...Array(20)].map(() => tools.s.gate()))`)
	assert.Equal(t, most, parallel, "requests at a time")
}

// When its caller is gone a script is ended at once, whatever it does.
func TestEnd(t *testing.T) {
	for what, code := range map[string]string{
		"a loop":                    `await tools.s.go({}); while (true) {}`,
		"a loop of the engine":      `await tools.s.go({}); return new Array(2e8).join("xx")`,
		"a request under way":       `await tools.s.go({}); await tools.s.stall({})`,
		"a request that ignores it": `await tools.s.go({}); const p = tools.s.stall({}); while (true) {}`,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("over")
		leave := remote{server: "s", name: "go", readOnly: true, call: func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
			time.AfterFunc(time.Millisecond, func() { cancel(over) })
			return textResult(""), nil
		}}
		stall := remote{server: "s", name: "stall", readOnly: true, call: func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		report, err := newRunner(t, newRegistry(t, nil, leave, stall), nil).Run(ctx, &codemode.Script{Code: code})
		assert.OK(t, err, "%s", what)
		assert.Is(t, report.Err, over, "%s", what)
		cancel(nil)
	}
}

// Of what engines have beside the language a script sees nothing.
func TestNothingElse(t *testing.T) {
	c := newRunner(t, newRegistry(t, nil), nil)
	const names = `["require","fetch","process","setTimeout","setInterval","performance","XMLHttpRequest","WebSocket","Worker","SharedArrayBuffer","Atomics","std","os","Deno","Bun","WebAssembly"]`
	assert.Equal(t, run(t, c, `return `+names+`.filter(n => n in globalThis)`), `[]`, "the names")
}

// What a script logs is cut.
func TestLog(t *testing.T) {
	c := newRunner(t, newRegistry(t, nil), nil)
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: `console.log("a", {b: 1}, null); for (let i = 0; i < 2000; i++) console.log("xxxxxxxxxx")`}))(t)
	assert.True(t, strings.HasPrefix(report.Log, "a {\"b\":1} null\n"), "the log begins with the first line")
	assert.True(t, len(report.Log) <= 16<<10+1, "the log of %d bytes is cut", len(report.Log))
}
