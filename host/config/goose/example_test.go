package goose_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/goose"
)

func ExampleFormat() {
	c, err := config.Parse(context.Background(), "config.yaml", []byte(`
extensions:
  docs:
    type: stdio
    cmd: npx
    args: [-y, docs-server]
    envs: {LOG: quiet}
    timeout: 300
  tracker:
    type: streamable_http
    uri: https://tracker.example.com/mcp
`), &config.Options{Formats: []*config.Format{goose.Format()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range c.Servers {
		fmt.Println(s)
	}
	// Output:
	// docs (stdio "npx", 2 args, env LOG) at config.yaml:3
	// tracker (http https://tracker.example.com) at config.yaml:9
}

func ExampleContinue() {
	c, err := config.Parse(context.Background(), "config.yaml", []byte(`
mcpServers:
  - name: docs
    command: npx
    args: [-y, docs-server]
  - name: tracker
    type: streamable-http
    url: https://tracker.example.com/mcp
    requestOptions:
      headers: {X-Team: core}
`), &config.Options{Formats: []*config.Format{goose.Format(), goose.Continue()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range c.Servers {
		fmt.Println(s)
	}
	// Output:
	// docs (stdio "npx", 2 args) at config.yaml:3
	// tracker (http https://tracker.example.com, headers X-Team) at config.yaml:6
}
