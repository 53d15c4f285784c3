// Tests of forms: servers that are added and changed, and arguments of tools.

//go:build integration && unix

package adminpage

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// TestEditKeepsSecrets changes a server whose secret the page knows masked alone.
func TestEditKeepsSecrets(t *testing.T) {
	s, p := openPage(t, local(t, "files", "files"))
	p.open("/servers/files/edit")
	p.AwaitTrue("[...document.querySelectorAll('textarea')].some((area) => area.value.includes('API_TOKEN='))")
	assert.False(t, p.has("[...document.querySelectorAll('input, textarea')].some((field) => field.value.includes("+quoted(hosttest.Secret)+"))"), "the secret is in the page")
	const area = "[...document.querySelectorAll('textarea')].find((area) => area.value.includes('API_TOKEN='))"
	assert.OK(t, p.Eval("("+area+".focus(), "+area+".setSelectionRange(1e6, 1e6), 0)", nil))
	p.Type("\nMORE=1")
	p.button("form", "Variables", "Test")
	p.awaitText("It works: 2 tools")
	p.button("form", "Variables", "Save")
	p.awaitText("files was changed.")
	is := assert.Value(s.host.Inspect("files"))(t)
	for name, want := range map[string]string{"API_TOKEN": hosttest.Secret, "MORE": "1"} {
		assert.Equal(t, is.Entry.Env[name].Reveal(), want, "variable %s", name)
	}
}

// TestEditedServerKeepsItsTools saves other arguments and a description: nothing is said to have failed, the tools stay offered,
// and what was not accepted waits in words.
func TestEditedServerKeepsItsTools(t *testing.T) {
	s, p := openPage(t, local(t, "files", "files"))
	hosttest.Until(t, s.host, "files", "ready", func(st host.Status) bool { return st.Stage == host.StageReady })
	edit := func(add string) {
		t.Helper()
		p.open("/servers/files/edit")
		p.reach("Arguments")
		p.Type(add)
	}
	edit("one")
	p.awaitText("This is started until now:")
	p.awaitText("Accept the server as it becomes")
	p.accessible("an edited entry")
	p.button("form", "Variables", "Save")
	p.awaitText("files was changed.")
	assert.Equal(t, hosttest.Names(s.host), "files__list files__read", "tools after a change that is accepted")
	assert.False(t, p.has("document.querySelector('main .note.bad')"), "a change that is well is said to have failed")
	edit("two ")
	p.reach("Accept the server as it becomes")
	p.Press(" ")
	p.button("form", "Variables", "Save")
	p.awaitText("files was changed.")
	assert.Equal(t, hosttest.Names(s.host), "", "tools after a change that is not accepted")
	p.open("/changes")
	p.awaitText("changed entry")
	p.AwaitTrue("[...document.querySelectorAll('.diff td')].map((el) => el.innerText.trim()).join(' ').includes('[\"one\"]')")
	assert.False(t, p.has("/[0-9a-f]{20}/.test(document.querySelector('.diff').innerText)"), "a hash that no person can judge")
	p.button(".card", "changed entry", "Accept")
	p.awaitText("files: accepted.")
	hosttest.Eventually(t, "the tools are back", func() bool { return hosttest.Names(s.host) == "files__list files__read" })
}

// TestStaleForm has another change a server while its form is open, and the user leave a form: what was typed is kept.
func TestStaleForm(t *testing.T) {
	s, p := openPage(t, remote("weather", serveHTTP(t, weatherServer())))
	edit := func(text string) {
		t.Helper()
		p.settled("/servers/weather/edit")
		p.reach("Description")
		p.Type(text)
	}
	p.open("/servers/weather/edit")
	edit("mine")
	p.Click("nav a[href='/admin/servers']")
	p.settled("/servers")
	assert.OK(t, p.Eval("history.back()", nil))
	p.awaitText("What you typed here before is shown.")
	assert.Value(s.manager.Update(hosttest.Watchdog(t), "weather", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "theirs"}}))(t)
	p.button("form", "Address", "Save")
	p.awaitText("was changed elsewhere")
	p.button("form", "Address", "Keep what is written here")
	p.awaitText("What is written here is kept")
	p.button("form", "Address", "Save")
	p.awaitText("weather was changed.")
	assert.Equal(t, assert.Value(s.manager.Server(t.Context(), "weather"))(t).Record.Description, "mine", "description")
}

// TestFieldsOfAnEntry fills in what an entry has besides, and takes a command line apart.
func TestFieldsOfAnEntry(t *testing.T) {
	s, p := openPage(t, local(t, "files", "files"))
	hosttest.Until(t, s.host, "files", "ready", func(st host.Status) bool { return st.Stage == host.StageReady })
	p.open("/servers/files/edit")
	assert.OK(t, p.Eval("document.querySelector('form details').open = true", nil))
	p.reach("Tools that are left out")
	p.Type("list")
	p.reach("Start it when a tool of it is called")
	p.Press(" ")
	p.reach("Other keys of its entry")
	p.Type(`{"limits": {"maxTools": 7}}`)
	p.accessible("all fields of an entry")
	p.button("form", "Variables", "Save")
	p.awaitText("files was changed.")
	is := assert.Value(s.host.Inspect("files"))(t)
	assert.Equal(t, strings.Join(is.Entry.Tools.Deny, " "), "list", "tools that are left out")
	assert.True(t, is.Entry.Lazy, "lazy")
	assert.Equal(t, is.Entry.Limits.MaxTools, 7, "limit")
	assert.Equal(t, is.Entry.Env["API_TOKEN"].Reveal(), hosttest.Secret, "secret")
	p.open("/servers/files/edit") // it shows what was saved, and clears it
	p.AwaitTrue("[...document.querySelectorAll('textarea')].some((area) => area.value === 'list')")
	assert.OK(t, p.Eval("(() => { const area = [...document.querySelectorAll('textarea')].find((a) => a.value === 'list'); area.value = ''; area.dispatchEvent(new Event('input', {bubbles: true})); return 0 })()", nil))
	p.button("form", "Variables", "Save")
	p.awaitText("files was changed.")
	is = assert.Value(s.host.Inspect("files"))(t)
	assert.Equal(t, len(is.Entry.Tools.Deny), 0, "tools that are left out")
	assert.Equal(t, is.Entry.Limits.MaxTools, 7, "limit")

	p.open("/add")
	p.reach("Command")
	p.Type(`npx -y "a package" it\'s`)
	p.button("form", "The command has blanks", "Put them there")
	var got []string
	assert.OK(t, p.Eval("[...document.querySelectorAll('form input[type=text], form textarea')].slice(2, 4).map((el) => el.value)", &got))
	assert.Equal(t, strings.Join(got, "|"), "npx|-y\na package\nit's", "the command and its arguments")
}

// TestServerOfAnotherFile tests a server whose entry stands in a file that the page does not change, and copies it.
func TestServerOfAnotherFile(t *testing.T) {
	s, p := openPage(t)
	c := assert.Value(config.Parse(t.Context(), "/srv/servers.json", []byte(`{"mcpServers": {"other": {"url": "`+serveHTTP(t, weatherServer())+`", "headers": {"X-Key": "`+hosttest.Secret+`", "X-Team": "a"}}}}`), nil))(t)
	assert.Value(s.host.ApplyServers(hosttest.Watchdog(t), "add", "other", func(context.Context) (map[string]*config.Server, error) {
		return map[string]*config.Server{"other": c.Servers[0]}, nil
	}))(t)
	p.open("/servers/other")
	p.awaitText("/srv/servers.json")
	p.accessible("a server of another file")
	p.button(".heading", "other", "Test")
	p.awaitText("It works: 1 tool")
	p.button(".heading", "other", "Copy")
	p.awaitText("This is a copy of the entry of other")
	assert.True(t, p.has("[...document.querySelectorAll('textarea')].some((area) => area.value === 'X-Key: \\nX-Team: a')"), "headers without their secrets")
	p.AwaitTrue("[...document.querySelectorAll('input')].some((field) => field.value === 'other')")
}

// TestPasteOfSeveral takes one of the servers of a pasted file.
func TestPasteOfSeveral(t *testing.T) {
	_, p := openPage(t)
	p.open("/add")
	p.Click("details.card summary")
	p.Fill("details.card textarea", `{"mcpServers": {"one": {"command": "x"}, "two": {"command": "y", "args": ["1", "2"]}}}`)
	p.button("details.card", "Paste", "Fill in the form")
	p.awaitText("There are 2 servers.")
	p.button("details.card", "Paste", "two")
	p.awaitText("y 1 2")
	p.Fill("details.card textarea", `{"mcpServers": {"one": `)
	p.button("details.card", "Paste", "Fill in the form")
	p.AwaitTrue("document.querySelector('details.card [role=alert]').textContent !== ''")
}

// TestStagedTest tries a server that cannot be started: the page says how far it came, why no further, and what to do, and keeps
// nothing.
func TestStagedTest(t *testing.T) {
	s, p := openPage(t)
	p.open("/add")
	p.press("Test")
	p.awaitText("Name is missing.")
	p.Type("new") // the focus is where something is missing
	p.reach("Command")
	p.Type("no-such-command")
	p.reach("Arguments")
	p.Type("--port\n7")
	p.awaitText("no-such-command --port 7")
	p.press("Test")
	for _, text := range []string{"It does not work yet.", "failed here", "Cause:", "Cure:", "Nothing was kept."} {
		p.awaitText(text)
	}
	p.accessible("a test that fails")
	assert.Equal(t, s.names(), "", "servers")
}

// TestViewer opens the views as one who may look: what they may not see is not there.
func TestViewer(t *testing.T) {
	s := openBusy(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.viewer)
	for _, path := range views {
		p.open(path)
		assert.False(t, p.has("document.body.innerText.includes("+quoted(hosttest.Secret)+") || location.pathname === '/admin/launches' && document.body.innerText.includes('adminpage.test')"), "%s: a secret, or the command of a launch", path)
		assert.False(t, p.has("[...document.querySelectorAll('main button.primary, main button.danger')].some((b) => b.getAttribute('aria-disabled') !== 'true')"), "%s: a button that changes something", path)
	}
}

// withForm returns an expression whose value is that of a body, which has what the modules of the page export.
func withForm(body string) string {
	return `(async () => {
		const dir = document.querySelector('script[type=module]').src.replace('app.js', '');
		const {form, parse} = await import(dir + 'form.js');
		` + body + `
	})()`
}

// What a form is given it gives back, as far as its schema has fields for it.
func TestFormKeepsValues(t *testing.T) {
	_, p := openPage(t)
	for _, c := range []struct{ name, schema, value, want string }{
		{"nothing", `{"type":"object"}`, `{}`, `{}`},
		{"texts and numbers", `{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"}}}`, `{"s":"a\nb","i":-3,"n":1e-7}`, ``},
		{"a large integer", `{"properties":{"i":{"type":"integer"}}}`, `{"i":12345678901234567890}`, ``},
		{"true and false", `{"properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"required":["a"]}`, `{"a":false}`, ``},
		{"values of an enum", `{"properties":{"a":{"enum":["x",3,null,{"k":[1]}]},"b":{"enum":["x",3]}}}`, `{"a":{"k":[1]},"b":3}`, ``},
		{"a constant that is required", `{"properties":{"k":{"const":"only"}},"required":["k"]}`, `{}`, `{"k":"only"}`},
		{"lists", `{"properties":{"l":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}`, `{"l":[["a","b"],[]]}`, ``},
		{"a tuple", `{"properties":{"t":{"type":"array","prefixItems":[{"type":"string"}]}}}`, `{"t":["a",1]}`, ``},
		{"an object in an object", `{"properties":{"o":{"type":"object","properties":{"p":{"type":"string"}}}}}`, `{"o":{"p":"x"}}`, ``},
		{"an empty object", `{"properties":{"o":{"type":"object","properties":{"p":{"type":"string"}}}}}`, `{"o":{}}`, ``},
		{"properties without a field", `{"properties":{"a":{"type":"string"}}}`, `{"a":"x","b":{"c":1},"__proto__":2}`, ``},
		{"a map", `{"properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}}}`, `{"m":{"k":"v"}}`, ``},
		{"anything", `{"properties":{"a":true,"b":{}}}`, `{"a":[1],"b":"x"}`, ``},
		{"one of two kinds", `{"properties":{"p":{"oneOf":[{"properties":{"kind":{"const":"cat"},"n":{"type":"integer"}},"required":["kind","n"]},{"properties":{"kind":{"const":"dog"},"s":{"type":"string"}},"required":["kind"]}]}}}`, `{"p":{"kind":"dog","s":"x"}}`, ``},
		{"a choice beside properties", `{"properties":{"a":{"type":"string"}},"anyOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"properties":{"c":{"type":"string"}},"required":["c"]}]}`, `{"a":"x","c":"y"}`, ``},
		{"several types", `{"properties":{"a":{"type":["string","number","null"]}}}`, `{"a":4}`, ``},
		{"a reference", `{"properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string"}}}`, `{"a":"x"}`, ``},
		{"a recursive schema", `{"properties":{"v":{"type":"string"},"next":{"$ref":"#"}}}`, `{"v":"1","next":{"v":"2","next":{"v":"3"}}}`, ``},
		{"all of some", `{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`, `{"a":"x","b":"y"}`, ``},
		{"a default that is left out", `{"properties":{"n":{"type":"integer","default":7}}}`, `{}`, ``},
	} {
		var got struct{ Value, Want string }
		err := p.Eval(withForm(`
			const f = form(parse(`+quoted(c.schema)+`), parse(`+quoted(c.value)+`));
			document.body.append(f.el);
			const value = JSON.stringify(f.read()) ?? f.el.querySelector('[role=alert]').textContent;
			f.el.remove();
			const exact = (text) => JSON.parse(text, (_, v, {source}) => typeof v === 'number' ? JSON.rawJSON(source) : v);
			const sorted = (v) => JSON.stringify(v, (_, o) => o && typeof o === 'object' && !Array.isArray(o) && !JSON.isRawJSON(o) ? Object.fromEntries(Object.keys(o).sort().map((k) => [k, o[k]])) : o);
			return {value: sorted(exact(value)), want: sorted(exact(`+quoted(c.want)+` || `+quoted(c.value)+`))};`), &got)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		assert.Equal(t, got.Value, got.Want, "%s", c.name)
	}
}

// A form says what is wrong, and shows a value that it has no fields for as JSON.
func TestFormSaysWhatIsWrong(t *testing.T) {
	_, p := openPage(t)
	for _, c := range []struct{ name, schema, do, want string }{
		{"a text that is required", `{"properties":{"a":{"type":"string","minLength":1}},"required":["a"]}`, `f.read()`, "a is required."},
		{"a choice that is required", `{"properties":{"a":{"type":"boolean"}},"required":["a"]}`, `f.read()`, "a is required."},
		{"no number", `{"properties":{"a":{"type":"number"}}}`, `fill('x'); f.read()`, "a has to be a number."},
		{"no whole number", `{"properties":{"a":{"type":"integer"}}}`, `fill('1.5'); f.read()`, "a has to be a whole number."},
		{"no JSON", `{"properties":{"a":{}}}`, `fill('{'); f.read()`, "a is not JSON"},
		{"another kind of value", `{"properties":{"a":{"type":"string"}}}`, `tab('JSON'); fill('{"a":5}'); tab('Form')`, "The form has no fields for this value."},
		{"JSON that is right", `{"properties":{"a":{"type":"string"}}}`, `tab('JSON'); fill('{"a":"5"}'); tab('Form')`, ""},
	} {
		var got string
		err := p.Eval(withForm(`
			const f = form(parse(`+quoted(c.schema)+`));
			document.body.append(f.el);
			const fill = (text) => { f.el.querySelector('input, textarea').value = text; };
			const tab = (text) => [...f.el.querySelectorAll('.tabs button')].find((b) => b.textContent === text).click();
			`+c.do+`;
			const said = f.el.querySelector('[role=alert]').textContent;
			f.el.remove();
			return said;`), &got)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Schemas that have no end, or are none, make a form of a few elements all the same.
func TestFormOfHostileSchemas(t *testing.T) {
	_, p := openPage(t)
	for name, schema := range map[string]string{
		"a reference to itself":     `{"$ref": "#"}`,
		"an endless object":         `{"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}`,
		"endless choices":           `{"anyOf": [{"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}, {"$ref": "#"}]}`,
		"all of itself, often":      `{"allOf": Array(8).fill({$ref: "#"})}`,
		"a reference to elsewhere":  `{"$ref": "https://example.com/schema"}`,
		"a reference to nothing":    `{"properties": {"a": {"$ref": "#/%zz"}, "b": {"$ref": "#x"}, "c": {"$ref": 5}}}`,
		"a deep default":            `{"properties": {"v": {"$ref": "#/$defs/v"}}, "$defs": {"v": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/v"}}, {"type": "array", "items": {"$ref": "#/$defs/v"}}]}}, "default": {"v": [[[[[[[[[[[[[[1]]]]]]]]]]]]]]}}`,
		"a long default":            `{"properties": {"l": {"type": "array", "items": {"type": "string"}, "default": Array(50000).fill("x")}}}`,
		"many properties":           `{"properties": Object.fromEntries(Array.from({length: 50000}, (_, i) => ["p" + i, {}]))}`,
		"many values":               `{"enum": Array.from({length: 50000}, (_, i) => i)}`,
		"words of the wrong kind":   `{"type": 5, "properties": [], "required": "x", "enum": "no", "oneOf": {}, "items": 7}`,
		"parts of the wrong kind":   `{"properties": {"a": null, "b": 5, "c": "x", "d": [], "e": true, "f": false}}`,
		"no schema":                 `null`,
		"names of the own language": `{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}}}`,
	} {
		var elements int
		assert.Equal(t, p.Eval(withForm(`const f = form(`+schema+`); f.read(); return f.el.querySelectorAll('*').length;`), &elements), nil, "%s", name)
		assert.True(t, elements <= 1000, "%s: %d elements are at most 1000", name, elements)
	}
}
