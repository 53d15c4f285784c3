// Tests of document.go, entry.go and expand.go: files as people and other programs write them.

package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestFilesAsTheyAre: what a file means is taken from it in whatever form it is written, and
// what is wrong with it is said with its place and cure; the other servers of it work.
func TestFilesAsTheyAre(t *testing.T) {
	known := func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "t0", "MY_URL": "https://h.example/mcp", "HOME": "/home/ann"}[name]
		return value, ok
	}
	utf16 := func(text string) string {
		var out strings.Builder
		out.WriteString("\xff\xfe")
		for _, c := range []byte(text) {
			out.Write([]byte{c, 0})
		}
		return out.String()
	}
	for _, c := range []struct{ name, in, want string }{
		//report: Files | github/copilot-cli#4323, aws/amazon-q-developer-cli#2082, nicobailon/pi-mcp-adapter#193, assistant-ui/assistant-ui#7251, nrwl/nx-console#2516 | a file has comments, and a client throws all of it away | comments are read over
		{"mcp.json", "{\n  \"mcpServers\": {\n    // off: \"b\": {\"command\": \"y\"},\n    \"a\": {\"command\": \"x\"} /* on */\n  }\n}", "a: x"},
		//report: Files | nicobailon/pi-mcp-adapter#124, dyoshikawa/rulesync#1728, upstash/context7#563, 4R9UN/mcp-kql-server#4 | a comma stands after the last member | it is read over
		{"mcp.json", `{"mcpServers": {"a": {"command": "x", "args": ["1",],},},}`, "a: x 1"},
		//report: Files | CoplayDev/unity-mcp#231, tradesdontlie/tradingview-mcp#419 | PowerShell 5.1 writes a byte order mark before UTF-8, and a client drops all servers | the mark is read over
		{"mcp.json", "\ufeff" + `{"mcpServers": {"a": {"command": "x"}}}`, "a: x"},
		//report: Files | tradesdontlie/tradingview-mcp#406 | a redirection of PowerShell writes UTF-16 | the error says so, and what to save it as
		{"mcp.json", utf16(`{"mcpServers": {"a": {"command": "x"}}}`), "UTF-16"},
		//report: Files | arcadeai-labs/smithery-cli#84, modelcontextprotocol/servers#414 | a Windows path has single backslashes | the error names the place, and that a backslash is written twice
		{"mcp.json", `{"mcpServers": {"a": {"command": "C:\Users\x.exe"}}}`, `mcp.json:1:37: mcpServers.a.command: `},
		//report: Files | modelcontextprotocol/servers#447 | a path has blanks and a drive letter | it is passed on as it is
		{"mcp.json", `{"mcpServers": {"a": {"command": "C:\\Program Files\\x.exe", "args": ["C:\\NS\\My Kindle Content"]}}}`, `a: C:\Program Files\x.exe C:\NS\My Kindle Content`},
		//report: Files | anthropics/claude-code#351, duncatzat/vigils#14 | a command stands with its arguments in one text | a warning says that the words after the first belong into "args"
		{"mcp.json", `{"mcpServers": {"a": {"command": "npx -y thing"}}}`, `put the words after the first in "args"`},
		//report: Files | getnao/nao#389, danny-avila/LibreChat#8624 | a remote server has "transport", or the type "http" or "streamable-http" | all of them mean streamable HTTP
		{"mcp.json", `{"mcpServers": {"a": {"url": "https://h.example/mcp", "transport": "streamable-http"}, "b": {"url": "https://h.example/mcp", "type": "http"}, "c": {"url": "https://h.example/mcp", "type": "streamableHttp"}}}`,
			"a: http https://h.example/mcp\nb: http https://h.example/mcp\nc: http https://h.example/mcp"},
		//report: Files | omnigent-ai/omnigent#4404, mastra-ai/mastra#18578, openclaw/openclaw#71035, esengine/DeepSeek-Reasonix#2233 | "url" and "headers" name variables, and a client sends them as they stand | ${VAR}, ${VAR:-default} and ${env:VAR} are expanded everywhere in an entry
		{"mcp.json", `{"mcpServers": {"a": {"url": "${MY_URL}", "headers": {"Authorization": "Bearer ${TOKEN}", "X": "${env:TOKEN}", "Y": "${NONE:-d}"}}}}`, "a: auto https://h.example/mcp Authorization=Bearer t0 X=t0 Y=d"},
		//report: Files | anthropics/claude-code#916 | an entry names a variable as $NAME in the middle of a text, and as ${NAME} | ${NAME} is expanded; $NAME only in files of programs that do so, such as Gemini CLI
		{"mcp.json", `{"mcpServers": {"a": {"command": "x", "env": {"DIR": "file:/$HOME/${HOME}"}}}}`, "a: x DIR=file:/$HOME//home/ann"},
		//report: Files | langchain-ai/deepagents#4681 | a variable is not set | that server alone is out of use, with the place in the file and the cure
		{"mcp.json", `{"mcpServers": {"a": {"command": "x", "args": ["${GONE}"]}, "b": {"command": "y"}}}`, "a: mcp.json:1:48: mcpServers.a.args[0]: the variable GONE is not set: set it or write ${GONE:-default}\nb: y"},
		//report: Files | NousResearch/hermes-agent#85223 | a value of "env" is a number | that server alone is out of use, and the error names the key and the cure
		{"mcp.json", `{"mcpServers": {"a": {"command": "x", "env": {"MY_FLAG": 1}}, "b": {"command": "y"}}}`, "a: mcp.json:1:58: mcpServers.a.env.MY_FLAG: must be a string, not a number: put it in double quotes\nb: y"},
		//report: Files | homeassistant-ai/ha-mcp#1046 | the servers stand beside other settings of a program | the other settings are left alone
		{"claude_desktop_config.json", `{"preferences": {"a": true}, "mcpServers": {"a": {"command": "x"}}}`, "a: x"},
		//report: Files | microsoft/vscode#278143, anthropics/claude-code#55966 | a file has a mistake, and a program says no more than that | the error has the line, the column and the cure
		{"mcp.json", "{\"mcpServers\": {\n  \"a\": {\"command\" \"x\"}}}", `mcp.json:2:19: mcpServers.a.command: expected ':' after the key`},
		{".vscode/mcp.json", `{"servers": {"a": {"type": "stdio", "command": "x"}}, "inputs": []}`, "a: x"},
	} {
		conf, err := Parse(t.Context(), c.name, []byte(c.in), &Options{Lookup: known})
		var got []string
		if err != nil {
			got = append(got, err.Error())
		} else {
			for _, s := range conf.Servers {
				got = append(got, s.Name+": "+told(s))
			}
			for _, w := range conf.Warnings {
				got = append(got, w.Error())
			}
		}
		assert.Contains(t, strings.Join(got, "\n"), c.want, "%q", c.in)
		assert.False(t, err == nil && len(conf.Servers) == 0, "%q has servers", c.in)
	}
}

// told returns an entry as a line.
func told(s *Server) string {
	if s.Err != nil {
		return s.Err.Error()
	}
	words := append([]string{s.Command}, s.Args...)
	if s.URL != "" {
		words = []string{s.Transport, s.URL}
	}
	for _, name := range []string{"Authorization", "X", "Y"} {
		if value, ok := s.Headers[name]; ok {
			words = append(words, name+"="+value.Reveal())
		}
	}
	if dir, ok := s.Env["DIR"]; ok {
		words = append(words, fmt.Sprintf("DIR=%s", dir.Reveal()))
	}
	return strings.Join(words, " ")
}
