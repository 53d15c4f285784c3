package host_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// notesOptions make "notes-server" a server in this process.
func notesOptions() *host.Options {
	return &host.Options{
		StateDir: host.NoState,
		Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			if e.Command != "notes-server" {
				return nil, nil
			}
			s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1.0"}, nil)
			s.AddTool(&sdk.Tool{Name: "create", InputSchema: map[string]any{"type": "object"}}, nil)
			return &transport.Pipe{Serve: s.Run}, nil
		},
	}
}

// The tools of a server that is not in the configuration.
func ExampleHost_Try() {
	ctx := context.Background()
	h := host.New(notesOptions())
	defer func() { _ = h.Close() }()
	c, err := config.Parse(ctx, "new.json", []byte(`{"mcpServers": {"new": {"command": "notes-server"}}}`), nil)
	if err != nil {
		log.Print(err)
		return
	}
	entry := c.Servers[0]
	err = h.Try(ctx, entry, nil, func(ctx context.Context, t mcp.Transport, opts *mcp.ClientOptions) error {
		client := mcp.NewClient(entry.Name, t, opts)
		defer func() { _ = client.Close() }()
		tools, err := client.Tools(ctx)
		for _, tool := range tools {
			fmt.Println(tool.Name)
		}
		return err
	})
	if err != nil {
		log.Print(err)
	}
	// Output: create
}

// What completion at a shell knows of a server without starting it.
func ExampleCachedTools() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Print(err)
		return
	}
	defer os.RemoveAll(dir)
	opts := notesOptions()
	opts.StateDir = dir
	h := host.New(opts)
	c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "notes-server"}}}`), nil)
	if err == nil {
		_, err = h.Apply(ctx, c)
	}
	if err := errors.Join(err, h.Close()); err != nil {
		log.Print(err)
		return
	}
	tools, known := host.CachedTools(dir, c.Servers[0])
	fmt.Println(known, tools[0].Name)
	// Output: true create
}

func ExampleHost_Inspect() {
	ctx := context.Background()
	h := host.New(notesOptions())
	defer func() { _ = h.Close() }()
	c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "notes-server"}}}`), nil)
	if err == nil {
		_, err = h.Apply(ctx, c)
	}
	if err != nil {
		log.Print(err)
		return
	}
	notes, err := h.Inspect("notes")
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(notes.Entry.Command, notes.Client.State().Phase, notes.Calls.Total.Ended(), notes.LastFailure.Err)
	// Output: notes-server ready 0 <nil>
}
