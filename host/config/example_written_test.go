package config_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// What a person is shown is the entry as it stands in the file.
func ExampleServer_Written() {
	c, err := config.Parse(context.Background(), "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "notes", "env": {"TOKEN": "${NOTES_TOKEN}"}}}}`),
		&config.Options{Lookup: func(string) (string, bool) { return "s3cret", true }})
	if err != nil {
		panic(err)
	}
	env, _, _ := c.Servers[0].Written()
	fmt.Println(env["TOKEN"].Reveal())
	// Output:
	// ${NOTES_TOKEN}
}
