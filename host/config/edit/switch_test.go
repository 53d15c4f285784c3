package edit

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// editText changes a text as the file at path and returns what became of it.
func editText(t *testing.T, path, before string, change func(f memoryFile) error) string {
	t.Helper()
	d, err := newDraft(path, []byte(before), nil)
	assert.OK(t, err, "%s", path)
	f := memoryFile{d}
	assert.OK(t, change(f), "%s", path)
	return string(f.data)
}

// turnText switches a server.
func turnText(t *testing.T, path, before, name string, off bool) string {
	t.Helper()
	return editText(t, path, before, func(f memoryFile) error { return f.Set(name, record.Switch(!off)) })
}

// TestSwitchOff: each program gets its own word, which stays when the server is on again.
func TestSwitchOff(t *testing.T) {
	const one = `{"mcpServers": {"a": {"command": "x"}}}`
	for _, test := range []struct{ path, text, off string }{
		{".codeium/windsurf/mcp_config.json", one, `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`},
		{"cline_mcp_settings.json", one, `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`},
		{".codeium/windsurf/mcp_config.json", `{"mcpServers": {"a": {"command": "x", "enabled": true}}}`,
			`{"mcpServers": {"a": {"command": "x", "enabled": false, "disabled": true}}}`}, // "enabled" means nothing there
		{".mcpproxy/mcp_config.json", `{"mcpServers": [{"name": "a", "command": "x"}]}`, `{"mcpServers": [{"name": "a", "command": "x", "enabled": false}]}`},
		{"unknown.json", one, `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`},
		{"unknown.json", `{"mcpServers": [{"name": "a", "command": "x"}]}`, `{"mcpServers": [{"name": "a", "command": "x", "enabled": false}]}`},
		{"unknown.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x", "enabled": true}}}`,
			`{"mcpServers": {"a": {"command": "x", "enabled": false}, "b": {"command": "x", "enabled": true}}}`},
		{".zed/settings.json", `{"context_servers": {"a": {"command": "x"}}}`, `{"context_servers": {"a": {"command": "x", "enabled": false}}}`},
		{".gemini/settings.json", "{\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}}\n}\n",
			"{\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}},\n  \"mcp\": {\n    \"excluded\": [\"a\"]\n  }\n}\n"},
		{".gemini/settings.json", `{"mcp": {"allowed": ["a", "b"]}, "mcpServers": {"a": {"command": "x"}}}`,
			`{"mcp": {"allowed": ["a", "b"], "excluded": ["a"]}, "mcpServers": {"a": {"command": "x"}}}`},
		{".gemini/settings.json", `{"mcp": {"excluded": []}, "mcpServers": {"a": {"command": "x"}}}`, ``},
		{".gemini/settings.json", `{"mcp": {"excluded": ["b"]}, "mcpServers": {"a": {"command": "x"}}}`,
			`{"mcp": {"excluded": ["b", "a"]}, "mcpServers": {"a": {"command": "x"}}}`},
		// What stands there already is set, wherever it stands.
		{"cline_mcp_settings.json", `{"mcpServers": {"a": {"disabled": false, "command": "x"}}}`, `{"mcpServers": {"a": {"disabled": true, "command": "x"}}}`},
		{"cline_mcp_settings.json", `{"mcpServers": {"a": {"command": "x", "disabled": false}}}`, `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`},
		{"cline_mcp_settings.json", "{\"mcpServers\": {\r\n\t\"a\": {\r\n\t\t\"command\": \"x\",\r\n\t\t\"disabled\": false, // why\r\n\t},\r\n}}", ``},
		{"cline_mcp_settings.json", "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"x\" // why\n  }\n}}", ``},
		{"cline_mcp_settings.json", "\xef\xbb\xbf{\"mcpServers\":{\"a\":{\"command\":\"x\",\"disabled\":false}}}", ``},
		{"cline_mcp_settings.json", "{\"mcpServers\": {\n  \"a\": {\n    \"command\":  \"x\",\n    \"disabled\": false\n  }\n}}", ``},
		{".zed/settings.json", `{"context_servers": {"a": {"command": "x", "enabled": true}}}`, ``},
	} {
		off := turnText(t, test.path, test.text, "a", true)
		assert.True(t, test.off == "" || off == test.off, "%s: off:\n%s is\n%s", test.path, off, test.off)
		c, err := config.Parse(t.Context(), test.path, []byte(off), nil)
		assert.OK(t, err, "%s: after off", test.path)
		assert.True(t, c.Servers[0].Disabled, "%s: after off: c.Servers[0].Disabled", test.path)
		assert.OK(t, c.Servers[0].Err, "%s: after off", test.path)
		on := turnText(t, test.path, off, "a", false)
		c, err = config.Parse(t.Context(), test.path, []byte(on), nil)
		assert.True(t, err == nil && !c.Servers[0].Disabled, "%s: on again: %v", test.path, err)
		assert.Equal(t, turnText(t, test.path, on, "a", true), off, "%s: off, on and off", test.path)
	}
}

// TestSwitchOn: what is off is on.
func TestSwitchOn(t *testing.T) {
	for _, test := range []struct{ path, text, on string }{
		{"cline_mcp_settings.json", `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`, `{"mcpServers": {"a": {"command": "x"}}}`},
		{"cline_mcp_settings.json", `{"mcpServers": {"a": {"disabled": true, "command": "x"}}}`, `{"mcpServers": {"a": {"disabled": false, "command": "x"}}}`},
		{"cline_mcp_settings.json", "{\"mcpServers\": {\n  \"a\": {\n    \"command\":  \"x\",\n    \"disabled\":   true // broken\n  }\n}}", ``},
		{"unknown.json", `{"mcpServers": {"a": {"enabled": false, "command": "x"}}}`, `{"mcpServers": {"a": {"enabled": true, "command": "x"}}}`},
		{".gemini/settings.json", `{"mcp": {"allowed": ["b"]}, "mcpServers": {"a": {"command": "x"}}}`, `{"mcp": {"allowed": ["b", "a"]}, "mcpServers": {"a": {"command": "x"}}}`},
		{".gemini/settings.json", `{"mcp": {"allowed": ["b"], "excluded": ["c"]}, "mcpServers": {"a": {"command": "x"}}}`, ``},
		{".gemini/settings.json", `{"mcp": {"allowed": ["b", "a"], "excluded": ["c", "a"]}, "mcpServers": {"a": {"command": "x"}}}`, ``},
		{".gemini/settings.json", `{"mcp": {"excluded": ["b", "a"]}, "mcpServers": {"a": {"command": "x"}}}`, `{"mcp": {"excluded": ["b"]}, "mcpServers": {"a": {"command": "x"}}}`},
	} {
		on := turnText(t, test.path, test.text, "a", false)
		assert.True(t, test.on == "" || on == test.on, "%s: on:\n%s is\n%s", test.path, on, test.on)
		c, err := config.Parse(t.Context(), test.path, []byte(on), nil)
		assert.True(t, err == nil && !c.Servers[0].Disabled, "%s: on: %v", test.path, err)
	}
}

// TestSwitchOnOurWord: a key of ours that Gemini CLI does not read is set too.
func TestSwitchOnOurWord(t *testing.T) {
	got := turnText(t, ".gemini/settings.json", `{"mcpServers": {"a": {"command": "x", "disabled": true}}}`, "a", false)
	assert.Equal(t, got, `{"mcpServers": {"a": {"command": "x", "disabled": false}}}`)
}

// TestGeminiLists: a file that says by lists which servers are used can be added to,
// and its servers renamed and removed.
func TestGeminiLists(t *testing.T) {
	const path, text = ".gemini/settings.json", `{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"command": "x"}}}`
	add := func(disabled bool) func(memoryFile) error {
		return func(f memoryFile) error { return f.Add(&config.Server{Name: "z", Command: "z", Disabled: disabled}) }
	}
	remove := func(f memoryFile) error { return f.remove("z") }
	on := editText(t, path, text, add(false))
	assert.Equal(t, on, `{"mcp": {"allowed": ["a", "z"]}, "mcpServers": {"a": {"command": "x"}, "z": {"command": "z"}}}`)
	got := editText(t, path, on, remove)
	assert.Equal(t, got, text)
	renamed := editText(t, path, on, func(f memoryFile) error {
		return f.Set("z", &record.Patch{Keys: []string{"name"}, Values: config.Server{Name: "y"}})
	})
	assert.Equal(t, renamed, strings.ReplaceAll(strings.ReplaceAll(on, `"z":`, `"y":`), `"z"]`, `"y"]`))
	off := editText(t, path, `{"mcpServers": {"a": {"command": "x"}}}`, add(true))
	assert.Equal(t, off, `{"mcpServers": {"a": {"command": "x"}, "z": {"command": "z"}}, "mcp": {"excluded": ["z"]}}`)
	got = editText(t, path, off, remove)
	assert.Equal(t, got, `{"mcpServers": {"a": {"command": "x"}}}`)
}

// TestToolList: a list of tools stays a list.
func TestToolList(t *testing.T) {
	const path = ".copilot/mcp-config.json"
	with := func(tools string) string {
		return `{"mcpServers": {"a": {"type": "local", "command": "x", "tools": ` + tools + `}}}`
	}
	for _, test := range []struct {
		before string
		tools  config.ToolFilter
		after  string
	}{
		{`["*"]`, config.ToolFilter{Allow: []string{"read"}}, with(`["read"]`)},
		{`["read"]`, config.ToolFilter{}, with(`["*"]`)},
		{`["read"]`, config.ToolFilter{Allow: []string{}}, with(`[]`)},
		{`["*"]`, config.ToolFilter{Deny: []string{"rm"}}, `{"mcpServers": {"a": {"type": "local", "command": "x", "tools": ["*"], "excludeTools": ["rm"]}}}`},
	} {
		got := editText(t, path, with(test.before), func(f memoryFile) error {
			return f.Set("a", &record.Patch{Keys: []string{"tools", "env"}, Values: config.Server{Tools: test.tools, Env: map[string]config.Secret{}}})
		})
		assert.Equal(t, got, test.after)
	}
	got := editText(t, path, `{"mcpServers": {}}`, func(f memoryFile) error {
		return f.Add(&config.Server{Name: "a", Command: "x", Tools: config.ToolFilter{Allow: []string{"read"}}})
	})
	assert.Contains(t, got, `"tools": ["read"]`)
	d, err := newDraft(path, []byte(with(`["read"]`)), nil)
	assert.OK(t, err)
	err = memoryFile{d}.Set("a", &record.Patch{Keys: []string{"tools"}, Values: config.Server{Tools: config.ToolFilter{Rename: map[string]string{"read": "get"}}}})
	assert.As[*editError](t, err)
}

// TestNamelessIsNotAdded: what changes an entry without a name adds none.
func TestNamelessIsNotAdded(t *testing.T) {
	const text = `{"mcpServers": [{"command": "x"}]}`
	f := memoryFile{assert.Value(newDraft("f.json", []byte(text), nil))(t)}
	for what, err := range map[string]error{
		"Set": f.Set("", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "d"}}), "Remove": f.remove(""),
	} {
		assert.Is(t, err, &record.Error{Code: record.CodeNotFound}, "%s", what)
	}
	assert.Equal(t, string(f.data), text)
}

// TestSetVariables: variables that come and go leave what was there.
func TestSetVariables(t *testing.T) {
	for _, entry := range []string{
		`{"command": "x"}`, "{\n    \"command\": \"x\",\n    \"lazy\": true\n  }",
		"{\n    \"command\": \"x\" // why\n  }",
	} {
		text := `{"mcpServers": {"a": ` + entry + `}}`
		set := func(env map[string]config.Secret, text string) string {
			got := editText(t, "f.json", text, func(f memoryFile) error {
				return f.Set("a", &record.Patch{Keys: []string{"env"}, Values: config.Server{Env: env}})
			})
			return got
		}
		assert.Equal(t, set(nil, set(map[string]config.Secret{"A": "1", "B": "2"}, text)), text)
	}
	// Other changes are made too.
	got := editText(t, "f.json", `{"mcpServers": {"a": {"command": "x", "env": {"A": "1"}, "lazy": true}}}`, func(f memoryFile) error {
		return f.Set("a", &record.Patch{Keys: []string{"env", "command"}, Values: config.Server{Env: map[string]config.Secret{}, Command: "y"}})
	})
	assert.Equal(t, got, `{"mcpServers": {"a": {"command": "y", "lazy": true}}}`)
}

// TestNewFileOfAPlace: a new file has the format of its place.
func TestNewFileOfAPlace(t *testing.T) {
	for path, want := range map[string]string{
		".zed/settings.json": `{"context_servers": `, ".mcprc": `{"a": `,
		".gemini/settings.json": `{"mcpServers": `, "mcp-servers.json": `{"servers": `, "any.json": `{"mcpServers": `,
	} {
		d := assert.Value(newDraft(path, nil, nil))(t)
		assert.OK(t, memoryFile{d}.Add(&config.Server{Name: "a", Command: "x"}), "%s", path)
		assert.True(t, strings.HasPrefix(strings.ReplaceAll(strings.Join(strings.Fields(string(d.data)), " "), "{ ", "{"), want), "%s", path)
	}
}
