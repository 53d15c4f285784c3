// Codex reads a config file in TOML.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/codex"
)

func main() {
	c, err := config.Parse(context.Background(), "config.toml", []byte(`
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-server"]
`), &config.Options{Formats: []config.Format{codex.Format()}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", c.Servers[0])
}

// Output: ok docs (stdio "npx", 2 args) at config.toml:2
