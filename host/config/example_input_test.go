package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/config"
)

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
