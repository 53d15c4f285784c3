// Mcpbelt lists, tests and calls the tools of MCP servers from a terminal or a script.
//
// Run mcpbelt help for its commands.
package main

import (
	"os"

	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/root"
)

func main() { os.Exit(root.Main()) }
