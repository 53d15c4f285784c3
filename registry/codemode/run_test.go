package codemode_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/codemode/codemodetest"
)

func TestScript(t *testing.T) {
	r := newRegistry(t, nil, echo("git hub", "create-issue"), echo("notes", "add"))
	c := newRunner(t, r, nil)
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

func TestProcessEngine(t *testing.T) {
	e := assert.Value(codemode.NewProcessEngine())(t)
	codemodetest.TestEngine(t, e)
}
