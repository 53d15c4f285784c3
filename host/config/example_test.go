package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
)

func ExampleParse() {
	c, err := config.Parse(context.Background(), ".mcp.json", []byte(`{
	"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "server-files"]},
		"tracker": {
			"url": "https://tracker.example.com/mcp",
			"headers": {"Authorization": "Bearer ${TRACKER_TOKEN}"}, // a secret
		},
		"broken": {"command": "npx", "args": "-y", "comand": 1},
	},
}`), &config.Options{Lookup: func(name string) (string, bool) { return "s3cret", name == "TRACKER_TOKEN" }})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range c.Servers {
		fmt.Println(s)
		if s.Err != nil {
			fmt.Println("  fault:", s.Err)
		}
	}
	for _, w := range c.Warnings {
		fmt.Println("warning:", w)
	}
	// Output:
	// files (stdio "npx", 2 args) at .mcp.json:3
	// tracker (auto https://tracker.example.com, headers Authorization) at .mcp.json:4
	// broken (stdio "npx", 0 args) at .mcp.json:8
	//   fault: .mcp.json:8:40: mcpServers.broken.args: must be an array, not a string: put it in [ ]
	// warning: .mcp.json:8:46: mcpServers.broken.comand: unknown key: did you mean "command"?
}

func ExampleLoad() {
	_, err := config.Load(context.Background(), "no/such/.mcp.json", nil)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Println("no servers are configured")
	}
	// Output: no servers are configured
}

func ExampleServer_Hash() {
	parse := func(data string) *config.Server {
		c, err := config.Parse(context.Background(), ".mcp.json", []byte(data), nil)
		if err != nil {
			panic(err)
		}
		return c.Servers[0]
	}
	before := parse(`{"mcpServers": {"files": {"command": "npx", "args": ["server-files"]}}}`)
	moved := parse(`{"mcpServers": {
		// with a comment
		"files": {"args": ["server-files"], "command": "npx"}}}`)
	changed := parse(`{"mcpServers": {"files": {"command": "npx", "args": ["server-files", "/"]}}}`)
	fmt.Println(before.Hash() == moved.Hash(), before.Hash() == changed.Hash())
	// Output: true false
}

func ExampleSecret() {
	token := config.Secret("s3cret")
	fmt.Println(token, len(token.Reveal()))
	// Output: [redacted] 6
}

func ExampleUnsetVariableError() {
	c, err := config.Parse(context.Background(), "f.json", []byte(`{"mcpServers": {"a": {"command": "${TOOL}"}}}`),
		&config.Options{Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		fmt.Println(err)
		return
	}
	var unset *config.UnsetVariableError
	if errors.As(c.Servers[0].Err, &unset) {
		fmt.Println("please set", unset.Name)
	}
	// Output: please set TOOL
}

func ExampleFind() {
	for _, location := range config.Find(&config.FindOptions{
		GOOS:   "darwin",
		Home:   "/Users/ann",
		Lookup: func(string) (string, bool) { return "", false },
	}) {
		if location.Client == "Claude Desktop" || location.Client == "Codex" {
			fmt.Println(location.Client, location.Format, location.Path)
		}
	}
	// Output:
	// Claude Desktop mcpServers /Users/ann/Library/Application Support/Claude/claude_desktop_config.json
	// Codex codex /Users/ann/.codex/config.toml
}

func ExampleMerge() {
	parse := func(file, data string, scope config.Scope) *config.Config {
		c, err := config.Parse(context.Background(), file, []byte(data), &config.Options{Scope: scope})
		if err != nil {
			panic(err)
		}
		return c
	}
	all := config.Merge(
		parse("home/.cursor/mcp.json", `{"mcpServers": {"db": {"command": "db"}, "web": {"command": "web"}}}`, config.ScopeUser),
		parse("app/.mcp.json", `{"mcpServers": {"db": {"command": "app-db"}}}`, config.ScopeProject),
	)
	for _, s := range all.Servers {
		fmt.Println(s.Name, s.Source, s.Source.Scope)
	}
	for _, hidden := range all.Shadowed {
		fmt.Println(hidden)
	}
	// Output:
	// db app/.mcp.json:1 project
	// web home/.cursor/mcp.json:1 user
	// db (home/.cursor/mcp.json:1) is hidden by app/.mcp.json:1
}

func ExampleLoadAll() {
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, data := range map[string]string{
		".mcp.json": `{"mcpServers": {"db": {"command": "db"}}}`,
		".mcprc":    `{"broken": `,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			panic(err)
		}
	}
	configs, err := config.LoadAll(context.Background(), config.Find(&config.FindOptions{
		Project: dir,
		Home:    filepath.Join(dir, "home"),
		Lookup:  func(string) (string, bool) { return "", false },
	}), nil)
	fmt.Println(len(configs), "file, with", configs[0].Servers[0].Name)
	fmt.Println(strings.TrimPrefix(err.Error(), dir+string(filepath.Separator)))
	// Output:
	// 1 file, with db
	// .mcprc:1:12: broken: expected a value, found the end of the file
}

func ExampleFormats() {
	for _, format := range config.Formats() {
		fmt.Println(format.Name)
	}
	// Output:
	// mcpServers
	// vscode
	// zed
	// kode
	// ironclaw
	// opencode
	// crush
}

// A program of one's own calls its keys otherwise.
func ExampleNewFormat() {
	acme := config.NewFormat("acme", "acmeServers", map[string]string{"command": "run", "env": "variables"})
	c, err := config.Parse(context.Background(), "acme.json", []byte(`{"acmeServers": {
		"files": {"run": "npx", "args": ["-y", "server-files"], "variables": {"MODE": "fast"}},
		"broken": {"args": []}}}`), &config.Options{Formats: []*config.Format{acme}})
	fmt.Println(err)
	fmt.Println(c.Servers[0])
	fmt.Println(c.Servers[1].Err)
	// Output:
	// <nil>
	// files (stdio "npx", 2 args, env MODE) at acme.json:2
	// acme.json:3:3: acmeServers.broken: has neither "run" nor "url": add "run" for a local server or "url" for a remote one
}

func ExampleNoServersError() {
	_, err := config.Parse(context.Background(), "settings.json", []byte(`{"editor.tabSize": 4}`), &config.Options{Format: "vscode"})
	var none *config.NoServersError
	fmt.Println(errors.As(err, &none), err)
	// Output: true settings.json:1:1: the file has no "servers" object: put the servers in {"servers": {}}
}

func ExampleSkipped() {
	c, err := config.Parse(context.Background(), ".zed/settings.json", []byte(`{"context_servers": {
  "postgres": {"source": "extension", "settings": {}},
  "files": {"command": "npx"}
}}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range c.Servers {
		fmt.Println(s.Name, s.Source)
	}
	for _, s := range c.Skipped {
		fmt.Println(s.Title, s.Source, s.Reason)
	}
	// Output:
	// files .zed/settings.json:3
	// postgres .zed/settings.json:2 it is started by an extension of Zed, which only Zed can run
}

func ExampleOptions_input() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	text := `{
  "inputs": [{"id": "key", "type": "promptString", "description": "API key", "password": true}],
  "servers": {"a": {"command": "npx", "env": {"KEY": "${input:key}"}}}
}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	c, err := config.Load(context.Background(), path, &config.Options{
		Format:  "vscode",
		Secrets: config.NewSecrets(), // keyringstore.Secrets("") remembers them for good
		Input: func(_ context.Context, in config.Input) (config.Secret, error) {
			fmt.Printf("%s (hidden: %v)?\n", in.Description, in.Password)
			return "s3cret", nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Servers[0].Err, c.Servers[0].Env["KEY"])
	// Output:
	// API key (hidden: true)?
	// <nil> [redacted]
}

func ExampleInputSecret() {
	ctx, secrets := context.Background(), config.NewSecrets()
	name := config.InputSecret("/project/.vscode/mcp.json", "vscode", "key")
	fmt.Println(secrets.SetSecret(ctx, name, "")) // the answer is forgotten
	// Output: <nil>
}

func ExampleSchema() {
	var schema struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.Title)
	// Output: MCP servers
}
