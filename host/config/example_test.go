package config_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

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
