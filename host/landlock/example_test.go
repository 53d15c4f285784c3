//go:build linux

package landlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/landlock"
	"github.com/mcpbelt/mcpbelt/transport"
)

func ExampleNew() {
	h := host.New(&host.Options{
		Isolators: map[string]host.Isolator{config.IsolationLandlock: landlock.New(nil)},
	})
	defer func() { _ = h.Close() }()
}

// A server that must not read the user's keys either gets what programs need, and its
// mounts.
func ExampleOptions() {
	confine := landlock.New(&landlock.Options{
		Read: []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"},
	})
	_, err := confine.Isolate(context.Background(), &config.Server{
		Name:      "notes",
		Command:   "notes-server",
		Isolation: &config.Isolation{Kind: config.IsolationLandlock, Mounts: []config.Mount{{Path: "/home/ann/notes", Write: true}}},
	}, &transport.Command{Path: "notes-server"})
	if err != nil {
		log.Print(err)
	}
}

func ExampleIsolator_Isolate() {
	// Only a container can show a folder elsewhere.
	_, err := landlock.New(nil).Isolate(context.Background(), &config.Server{
		Name:      "notes",
		Source:    config.Source{File: ".mcp.json", Line: 3},
		Command:   "notes-server",
		Isolation: &config.Isolation{Kind: config.IsolationLandlock, Image: "alpine"},
	}, &transport.Command{Path: "notes-server"})
	fmt.Println(err)
	// Output:
	// server "notes" (.mcp.json:3): isolation "landlock": "image" and "args" are for the kind "docker": remove them; it was not started
}
