//go:build unix

// Tests of internal/tools/arguments.go and internal/belt/parts.go: calls as people write them, by public reports.

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// An echoing server says what arguments it got, byte for byte, to the tool show, and the text of its tool say.
const echoing = `
const lines = require('readline').createInterface({input: process.stdin})
const object = text => {
  let depth = 0, quoted = false
  for (let i = 0; i < text.length; i++) {
    if (quoted) { if (text[i] === '\\') i++; else if (text[i] === '"') quoted = false }
    else if (text[i] === '"') quoted = true
    else if (text[i] === '{') depth++
    else if (text[i] === '}' && --depth === 0) return text.slice(0, i + 1)
  }
}
const schema = JSON.parse(process.argv[1]), said = JSON.parse(process.argv[2])
lines.on('line', line => {
  const m = JSON.parse(line); if (m.id === undefined) return
  const text = m.method === 'tools/call' && (m.params.name === 'say' ? said.text : object(line.slice(line.indexOf('"arguments":') + 12)))
  const results = {initialize: {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 'e', version: '1'}},
    'tools/list': {tools: [{name: 'show', inputSchema: schema}, {name: 'say', inputSchema: {type: 'object'}}]},
    'tools/call': {content: [{type: 'text', text}], isError: said.isError}}
  const result = results[m.method]
  console.log(JSON.stringify(result ? {jsonrpc: '2.0', id: m.id, result} : {jsonrpc: '2.0', id: m.id, error: {code: -32601, message: 'no'}}))
})`

func newEchoing(t *testing.T, schema, said string) *world {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	w := newWorld(t, "")
	w.write("echo.cjs", echoing)
	args := assert.Value(json.Marshal([]string{"-e", echoing, schema, said}))(t)
	w.write("home/.config/mcpbelt/mcp.json", fmt.Sprintf(`{"mcpServers":{"e":{"command":"node","args":%s}}}`, args))
	return w
}

// What stands behind key= is sent as the type that the schema has for key, wherever that says it.
func TestArgumentTypes(t *testing.T) {
	const schema = `{"type":"object","$defs":{"d":{"properties":{"ref":{"type":"boolean"}}}},
		"properties":{"id":{"type":"string"},"n":{"type":"integer"},"f":{"type":"number"},"to":{"type":"array","items":{"type":"string"}},"any":{}, "null":{"anyOf":[{"type":"integer"},{"type":"null"}]}},
		"allOf":[{"properties":{"depth":{"type":"integer"}}},{"$ref":"#/$defs/d"},{"anyOf":[{"properties":{"deep":{"type":"number"}}},{"properties":{"deep":{"type":"boolean"}}}]}]}`
	w := newEchoing(t, strings.Join(strings.Fields(schema), ""), `{}`)
	w.write("alice", "from a file")
	for arg, want := range map[string]string{
		//report: Command | openclaw/mcporter#126, openclaw/mcporter#131, modelcontextprotocol/inspector#657 | digits behind `=` become a number, and leading zeros are lost | they stay a text where the schema has a text
		"id=000123": `{"id":"000123"}`, "id=326030": `{"id":"326030"}`, "id=true": `{"id":"true"}`,
		//report: Command | VibiumDev/vibium#85 | a number arrives as a text, and the server refuses it | it is sent as the number that the schema has
		"n=2000": `{"n":2000}`, "f=1.10": `{"f":1.10}`, "f=3": `{"f":3}`, "null=null": `{"null":null}`, "null=7": `{"null":7}`,
		//report: Command | openclaw/mcporter#63, openclaw/mcporter#103 | a property stands below allOf, anyOf or a reference, and a text is sent | its type is found there, too; all integers are integers, whatever their size
		"depth=3": `{"depth":3}`, "ref=true": `{"ref":true}`, "deep=2.5": `{"deep":2.5}`, "deep=false": `{"deep":false}`,
		"n=18446744073709551616": `{"n":18446744073709551616}`, "n=1.0": `{"n":1}`,
		//report: Command | Panniantong/Agent-Reach#679 | quotes that a shell has not removed become part of the value | they are part of a text, which is sent as it stands
		`id="x"`: `{"id":"\"x\""}`,
		"to=a":   `{"to":["a"]}`, `to:=["a","b"]`: `{"to":["a","b"]}`, `{"id":"x","n":9007199254740993}`: `{"id":"x","n":9007199254740993}`,
		//report: Command | openclaw/mcporter#212 | a value begins with @, which names a file | the file is read; where there is none the error says how the text itself is written, which works
		"id=@alice": `{"id":"from a file"}`, `id:="@bob"`: `{"id":"@bob"}`,
	} {
		assert.Equal(t, strings.TrimSuffix(w.run("call", "e", "show", arg, "--yes"), "\n"), want, "%s", arg)
	}
	for arg, says := range map[string]string{"id=@bob": `id:='"@bob"'`, "n=x": "integer", "depth=1.5": "integer"} {
		out, err := w.command("call", "e", "show", arg, "--yes").CombinedOutput()
		assert.Fails(t, err, "%s", arg)
		assert.Contains(t, string(out), says, "%s", arg)
	}
}

// What a call prints into a pipe or a file is what the server sent, and its exit says whether the tool failed.
func TestCallOutput(t *testing.T) {
	//report: Command | openonion/connectonion#256 | the output of a tool is cleaned for people though a program reads it | into a pipe or a file goes what the server sent: tabs, line ends and control characters
	const text = "a\tb\r\nc\x1b[1m d\u2028e\n"
	w := newEchoing(t, `{"type":"object"}`, string(assert.Value(json.Marshal(map[string]any{"text": text}))(t)))
	assert.Equal(t, w.run("call", "e", "say", "--yes"), text)
	//report: Command | knowsuchagency/mcp2cli#75, openclaw/mcporter#153, openclaw/mcporter#203, CALLE-AI/call-e-integrations#127 | a tool answers with isError, or there is no such tool, and the command exits with 0 | the exit is 5 for an error of the tool, and 3 for one that there is not; with `--json`, too
	w = newEchoing(t, `{"type":"object"}`, `{"text":"disk full","isError":true}`)
	for _, json := range []string{"--yes", "--json"} {
		for tool, exit := range map[string]int{"say": 5, "none": 3} {
			cmd := w.command("call", "e", tool, "--yes", json)
			out, _ := cmd.CombinedOutput()
			assert.Equal(t, cmd.ProcessState.ExitCode(), exit, "%s %s: %s", tool, json, out)
		}
	}
}
