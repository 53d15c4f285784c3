package docker_test

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/docker"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A container is for servers of images that the entry names.
func ExampleIsolator_Isolate() {
	_, err := (&docker.Isolator{}).Isolate(context.Background(), &config.Server{
		Name:      "notes",
		Source:    config.Source{File: ".mcp.json", Line: 3},
		Isolation: &config.Isolation{Kind: config.IsolationDocker},
	}, &transport.Command{Path: "notes-server"})
	fmt.Println(err)
	// Output:
	// "isolation.image" is "": name the image in which the command is, such as "node:22-slim"
}
