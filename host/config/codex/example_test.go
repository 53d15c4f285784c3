package codex_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/codex"
)

func ExampleFormat() {
	c, err := config.Parse(context.Background(), "config.toml", []byte(`
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-server"]
startup_timeout_sec = 20

[mcp_servers.tracker]
url = "https://tracker.example.com/mcp"
bearer_token_env_var = "TRACKER_TOKEN"
`), &config.Options{
		Formats: []*config.Format{codex.Format()},
		Lookup:  func(name string) (string, bool) { return "s3cret", name == "TRACKER_TOKEN" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range c.Servers {
		fmt.Println(s)
	}
	// Output:
	// docs (stdio "npx", 2 args) at config.toml:2
	// tracker (http https://tracker.example.com, headers Authorization) at config.toml:7
}
