// Goose reads a config file in YAML.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/goose"
)

func main() {
	c, err := config.Parse(context.Background(), "config.yaml", []byte(`
extensions:
  docs:
    type: stdio
    cmd: npx
    args: [-y, docs-server]
`), &config.Options{Formats: []config.Format{goose.Format()}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok", c.Servers[0])
}

// Output: ok docs (stdio "npx", 2 args) at config.yaml:3
