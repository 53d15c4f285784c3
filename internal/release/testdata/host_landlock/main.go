// Landlock refuses to start a server that wants what only a container has.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/landlock"
	"github.com/mcpbelt/mcpbelt/transport"
)

func main() {
	h := host.New(&host.Options{
		Isolators: map[string]host.Isolator{config.IsolationLandlock: landlock.New(nil)},
	})
	defer func() { _ = h.Close() }()
	_, err := landlock.New(nil).Isolate(context.Background(), &config.Server{
		Name:      "notes",
		Source:    config.Source{File: ".mcp.json", Line: 3},
		Command:   "notes-server",
		Isolation: &config.Isolation{Kind: config.IsolationLandlock, Image: "alpine"},
	}, &transport.Command{Path: "notes-server"})
	if err == nil {
		log.Fatal("the server would be started")
	}
	fmt.Println("ok", err)
}

// Output: ok server "notes" (.mcp.json:3): isolation "landlock": "image" and "args" are for the kind "docker": remove them; it was not started
