// Mcpbelt lists, tests and calls the tools of MCP servers from a terminal or a script.
//
// Run mcpbelt help for its commands.
package main

import (
	"os"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/root"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
)

func main() {
	codemode.Child() // serve runs scripts in a process of its own
	os.Exit(root.Main())
}
