//go:build unix

// Tests of internal/belt/entry.go: entries as people find them on pages of servers, by public reports.

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What any program writes is added as it is meant, or the error says what is wrong with it.
func TestAddEntries(t *testing.T) {
	w := newWorld(t, "")
	for name, c := range map[string]struct{ entry, want, says string }{
		//report: Config files | anthropics/claude-code#48448, excalidraw/excalidraw-mcp#64, aj47/SpeakMCP#226 | the page of a server has JSON with `type` and `url`, and no command | `mcpbelt add NAME JSON` takes it
		"type": {`{"type":"http","url":"https://x.example/mcp"}`, `{"type":"http","url":"https://x.example/mcp"}`, ""},
		//report: Config files | 21st-dev/magic-mcp#82, affaan-m/ECC#1003 | an entry has a URL and no type | it is taken, and the transport is found out when it is first used
		"no type": {`{"url":"https://x.example/mcp","headers":{"x-api-key":"${KEY}"}}`, `{"url":"https://x.example/mcp","headers":{"x-api-key":"${KEY}"}}`, ""},
		//report: Config files | anthropics/claude-code#39039 | `claude mcp add` wrote `serverUrl` beside `type`, which is Windsurf's word | it is taken for the URL
		"serverUrl": {`{"serverUrl":"https://x.example/mcp","type":"http"}`, `{"type":"http","url":"https://x.example/mcp"}`, ""},
		//report: Config files | bcurts/agentchattr#34, Chemaclass/agnostic-ai#90 | Gemini CLI calls the URL `httpUrl` and has a timeout in milliseconds | both are taken
		"httpUrl": {`{"httpUrl":"https://x.example/mcp","timeout":30000}`, `{"type":"http","url":"https://x.example/mcp","readTimeoutSeconds":30}`, ""},
		//report: Config files | google-gemini/gemini-cli#14621 | a key has a blank at its end, and the server is said to have no URL | the error names the key as it stands there, and the one that was meant
		"blank in a key": {`{"httpUrl ":"https://x.example/mcp"}`, "", `"httpUrl ": unknown key: did you mean "httpUrl"?`},
		//report: Config files | anthropics/claude-code#6204, aaronsb/obsidian-mcp-plugin#124 | `transport` is an object with the URL in it, as the page of a plugin has it, and the server is skipped | the error says that the key must be a string; nothing is written
		"transport object": {`{"transport":{"type":"http","url":"https://x.example","headers":{}}}`, "", "transport: must be a string, not an object"},
		//report: Config files | smart-mcp-proxy/mcpproxy-go#33 | an entry of mcpproxy has `protocol`, `enabled` and `quarantined` | they are taken; what this program does not use stays in the file
		"mcpproxy": {`{"command":"docker","protocol":"auto","args":["run"],"enabled":true,"quarantined":false}`, `{"command":"docker","args":["run"],"protocol":"auto"}`, ""},
		//report: Config files | OpenCode https://opencode.ai/docs/mcp-servers | the command is a list, and the environment is called `environment` | both are taken
		"opencode": {`{"type":"local","command":["npx","-y","x"],"environment":{"A":"${A}"}}`, `{"command":"npx","args":["-y","x"],"env":{"A":"${A}"}}`, ""},
		//report: Config files | anthropics/claude-code#17791 | a value of env is itself a reference, which the command line of another program expands | it is written as it stands
		"reference": {`{"command":"uv","env":{"D":"${D}","E":""}}`, `{"command":"uv","env":{"D":"${D}","E":""}}`, ""},
		//report: Config files | microsoft/vscode#264448, RooCodeInc/Roo-Code#4739 | an entry names a file of variables | `envFile` is kept
		"envFile": {`{"command":"uv","envFile":"/x/.env"}`, `{"command":"uv","envFile":"/x/.env"}`, ""},
		//report: Config files | egoist/chatwise-releases#910, amxv/mcp-manager#5 | the JSON of a page has a comment, or is the whole file | both are read; a file with several servers is for `mcpbelt import`
		"comment":      {"{\"command\":\"uv\", // optional\n}", `{"command":"uv"}`, ""},
		"whole file":   {`{"servers":{"github":{"type":"http","url":"https://x.example/mcp/"}},"inputs":[]}`, `{"type":"http","url":"https://x.example/mcp/"}`, ""},
		"many servers": {`{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}`, "", "import the file (mcpbelt import)"},
		//report: Config files | tailcallhq/forgecode#1763 | an empty object is imported without a word | the error says what an entry needs
		"empty": {`{}`, "", `has neither "command" nor "url"`},
	} {
		name = strings.ReplaceAll(name, " ", "-")
		out, err := w.command("add", name, c.entry).CombinedOutput()
		if c.says != "" {
			assert.Fails(t, err, "%s", name)
			assert.Contains(t, string(out), c.says, "%s", name)
			continue
		}
		assert.OK(t, err, "%s: %s", name, out)
		var file struct {
			Servers map[string]json.RawMessage `json:"mcpServers"`
		}
		assert.OK(t, json.Unmarshal(assert.Value(os.ReadFile(filepath.Join(w.dir, "home/.config/mcpbelt/mcp.json")))(t), &file))
		var got, want any
		assert.OK(t, json.Unmarshal(file.Servers[name], &got), "%s", name)
		assert.OK(t, json.Unmarshal([]byte(c.want), &want))
		assert.Equal(t, string(assert.Value(json.Marshal(got))(t)), string(assert.Value(json.Marshal(want))(t)), "%s", name)
		out, err = w.command("add", name+"-2", w.run("get", name, "--json")).CombinedOutput()
		assert.OK(t, err, "%s: what get shows is added again: %s", name, out)
	}
}

// A file without a byte counts as one without servers, and is written.
func TestEmptyFiles(t *testing.T) {
	//report: Config files | google-antigravity/antigravity-cli#252, Opendray/opendray#440, xintaofei/codeg#632, DefangLabs/defang#1469 | a program makes a config file of 0 bytes | it has no servers; `add` and `connect` write it
	for _, text := range []string{"", " \n"} {
		w := newWorld(t, "")
		w.write("home/.config/mcpbelt/mcp.json", text)
		w.write("home/.codeium/windsurf/mcp_config.json", text)
		out, err := w.command("list").CombinedOutput()
		assert.OK(t, err, "%s", out)
		assert.Lacks(t, string(out), "empty", "list")
		w.run("add", "x", "--", "node", "y.js")
		w.run("connect", "windsurf", "--yes")
		assert.Contains(t, w.run("list"), "x ", "what was added")
	}
}
