package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/root"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// clientFiles are the files of other programs that connect writes, by the name of the
// program: where they are in the home, and what stands in them, secrets included.
var clientFiles = map[string][2]string{
	"claude-desktop": {".config/Claude/claude_desktop_config.json", "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\", \"env\": {\"TOKEN\": \"sk-0123456789abcdef\"}}, // one\n  },\n  \"theme\": \"dark\"\n}\n"},
	"claude-code":    {".claude.json", `{"numStartups":12,"mcpServers":{"a":{"type":"stdio","command":"x"}},"projects":{"/p":{"mcpServers":{}}}}`},
	"cursor":         {".cursor/mcp.json", "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"url\": \"https://example.com/mcp\"}\r\n\t}\r\n}\r\n"},
	"windsurf":       {".codeium/windsurf/mcp_config.json", "{\"mcpServers\":{}}"},
	"vs-code":        {".config/Code/User/mcp.json", "{\n\t\"inputs\": [],\n\t\"servers\": {\n\t\t\"a\": {\"type\": \"stdio\", \"command\": \"x\"}\n\t}\n}\n"},
	"cline":          {".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "{\n  \"mcpServers\": {\n  }\n}"},
	"gemini-cli":     {".gemini/settings.json", "{\n  \"theme\": \"GitHub\", // a comment\n  \"selectedAuthType\": \"oauth\"\n}\n"},
	"copilot-cli":    {".copilot/mcp-config.json", "{\n    \"mcpServers\": {\n        \"a\": {\"type\": \"local\", \"command\": \"x\", \"args\": [], \"tools\": [\"*\"]}\n    }\n}"},
	"zed":            {".config/zed/settings.json", "// Zed settings\n{\n  \"vim_mode\": true,\n  \"context_servers\": {\n    \"a\": {\"source\": \"custom\", \"command\": \"x\", \"args\": []},\n  },\n}\n"},
	"opencode":       {".config/opencode/opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}}\n}\n"},
	"crush":          {".config/crush/crush.json", "{\n  \"mcp\": {\n    \"a\": {\"type\": \"stdio\", \"command\": \"x\"}\n  }\n}\n"},
	"kiro":           {".kiro/settings/mcp.json", "{ \"mcpServers\": { } }\n"},
	"junie":          {".junie/mcp/mcp.json", "\n\n{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n\n"},
	"amazon-q":       {".aws/amazonq/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"},},}"},
	//report: Command | danieljustus/symaira-vault#1036, CoplayDev/unity-mcp#311 | an installer adds itself to the file of a client, and comments, order and values that it does not understand are gone | `connect` adds one entry to the text as it is, in JSON, TOML and YAML, and `disconnect` leaves the file byte for byte as it was
	"codex":    {".codex/config.toml", "# mine\nmodel = \"o3\"\n\n[mcp_servers.a] # one\ncommand = 'x'\nenv = { TOKEN = \"sk-0123456789abcdef\" }\n\n[tui]\ntheme = \"dark\""},
	"goose":    {".config/goose/config.yaml", "# mine\nGOOSE_MODEL: x\nextensions:\n  a: # one\n    type: stdio\n    cmd:   x\n    envs: {TOKEN: sk-0123456789abcdef}\n\nGOOSE_MODE: auto\n"},
	"continue": {".continue/config.yaml", "name: mine\nversion: 0.0.1 # as it was\nmcpServers:\n  - name: a\n    command: x\n    env:\n      TOKEN: 'sk-0123456789abcdef'\nrules:\n- \"be short\"\n"},
	"kode":     {".kode.json", "{\n  \"mcpServers\": {\n    \"a\": {\"type\": \"stdio\", \"command\": \"x\"}\n  }\n}"},
}

// A desk is a home with the programs of a user.
type desk struct {
	env            *cli.Env
	home           string
	stdout, stderr bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	d := &desk{home: t.TempDir()}
	variables := map[string]string{"HOME": d.home, "USERPROFILE": d.home, "APPDATA": filepath.Join(d.home, ".config")}
	d.env = &cli.Env{
		Stdin: strings.NewReader(""), Stdout: &d.stdout, Stderr: &d.stderr,
		Lookup: func(name string) (string, bool) { value, ok := variables[name]; return value, ok },
		Dir:    d.home, StateDir: filepath.Join(d.home, "state"), Now: time.Now,
	}
	return d
}

// run runs a command line that must end with an exit, and returns what it writes.
func (d *desk) run(t *testing.T, want cli.Exit, args ...string) string {
	t.Helper()
	d.stdout.Reset()
	d.stderr.Reset()
	assert.Equal(t, root.Run(t.Context(), d.env, args), int(want), "%q: %s: exit", args, &d.stderr)
	return d.stdout.String()
}

func (d *desk) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(d.home, filepath.FromSlash(name))
	assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.OK(t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

// TestConnectAndDisconnect: of eighteen programs the file is byte for byte what it was, and
// the dry run shows all that is written, and no secret.
func TestConnectAndDisconnect(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the places are those of Linux")
	}
	for name, file := range clientFiles {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			path := d.write(t, file[0], file[1])
			diff := d.run(t, cli.OK, "connect", name, "--dry-run")
			assert.Contains(t, diff, "\n+++ "+path+" (new)\n@@ ")
			assert.Contains(t, diff, `serve`)
			assert.Lacks(t, diff, "sk-0123456789abcdef")
			assert.Equal(t, read(t, path), file[1], "after the dry run")
			d.run(t, cli.ApprovalNeeded, "connect", name)
			d.run(t, cli.OK, "connect", name, "--yes")
			assert.Contains(t, read(t, path), "mcpbelt")
			assert.Lacks(t, d.run(t, cli.OK, "list", "--json"), `"name": "mcpbelt"`, "the list")
			assert.Contains(t, d.run(t, cli.OK, "connect", name, "--yes"), "is connected already")
			assert.Contains(t, d.run(t, cli.OK, "connect"), name+" ")
			d.run(t, cli.OK, "disconnect", name)
			assert.Equal(t, read(t, path), file[1])
			info, err := os.Stat(path)
			assert.OK(t, err)
			assert.Equal(t, info.Mode().Perm(), 0o640)
			d.run(t, cli.NotFound, "disconnect", name)

			// A file that was changed since loses the entry alone.
			d.run(t, cli.OK, "connect", name, "--yes")
			changed := strings.Replace(read(t, path), `"mcpbelt"`, ` "mcpbelt"`, 1)
			if !strings.HasSuffix(path, "json") {
				changed += "\n# later\n"
			}
			d.write(t, file[0], changed)
			assert.Contains(t, d.run(t, cli.OK, "disconnect", name), "the entry alone")
			assert.Lacks(t, read(t, path), "mcpbelt")

			// A file that was not there is gone again.
			assert.OK(t, os.Remove(path))
			d.run(t, cli.OK, "connect", name, "--yes")
			d.run(t, cli.OK, "disconnect", name)
			assert.Fails(t, assert.Err(os.Stat(path)), "got a file that was not there before")
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(assert.Value(os.ReadFile(path))(t))
}

// A call at a terminal logs the user in, if they agree.
func TestCallLogsIn(t *testing.T) {
	d, _ := newLoginDesk(t, &authtest.Options{})
	d.env.InTerminal, d.env.ErrTerminal, d.env.Width = true, true, 80
	var opened atomic.Int32
	d.env.Browse = func(ctx context.Context, page string) error {
		opened.Add(1)
		return browse(ctx, page)
	}
	d.env.Stdin = strings.NewReader("n\n")
	d.run(t, cli.LoginNeeded, "call", "acme", "nothing", "--yes")
	assert.Equal(t, opened.Load(), 0, "pages in the browser of a user who did not agree")
	assert.Contains(t, d.stderr.String(), `Server "acme" wants a login. Log in now? [y/N]`)
	d.env.Stdin = strings.NewReader("y\n")
	d.run(t, cli.NotFound, "call", "acme", "nothing", "--yes") // it is logged in, and has no such tool
}
