package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
)

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
		fmt.Println(format.Name())
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
