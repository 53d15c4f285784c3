package filewatch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/filewatch"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A host that follows its config file.
func ExampleFiles() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "mcp.json")
	edit := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}
	edit(`{"mcpServers": {"notes": {"command": "notes-server"}}}`)

	h, err := host.Open(ctx, path, inProcess())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()
	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
	edits := []string{
		`{"mcpServers": {"notes": {"command": "no`, // an editor that is not ready
		`{"mcpServers": {"diary": {"command": "diary-server"}}}`,
	}
	err = h.Follow(ctx, filewatch.Files([]string{path}, nil), load, &host.FollowOptions{
		Done: func(r host.Report, err error) {
			fmt.Println("started", r.Started, "stopped", r.Stopped, "kept", r.Kept, "failed:", err != nil)
			if len(edits) == 0 {
				cancel()
				return
			}
			edit(edits[0])
			edits = edits[1:]
		},
	})
	fmt.Println(err)
	// Output:
	// started [] stopped [] kept [notes] failed: false
	// started [] stopped [] kept [] failed: true
	// started [diary] stopped [notes] kept [] failed: false
	// context canceled
}

// inProcess runs the servers in this process, so that the example needs no program.
func inProcess() *host.Options {
	return &host.Options{StateDir: host.NoState, Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: sdk.NewServer(&sdk.Implementation{Name: e.Name}, nil).Run}, nil
	}}
}
