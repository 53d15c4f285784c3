// Filewatch follows a config file.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
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

// inProcess is a server in this process.
func inProcess(_ session.Key, e *config.Server) (mcp.Transport, error) {
	return &transport.Pipe{Serve: sdk.NewServer(&sdk.Implementation{Name: e.Name}, nil).Run}, nil
}

func main() {
	path := filepath.Join(os.TempDir(), "mcp.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	write(`{"mcpServers": {"notes": {"command": "notes-server"}}}`)
	ctx, cancel := context.WithCancel(context.Background())
	h, err := host.Open(ctx, path, &host.Options{StateDir: host.NoState, Transport: inProcess})
	if err != nil {
		log.Fatal(err)
	}
	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
	err = h.Follow(ctx, filewatch.Files([]string{path}, nil), load, &host.FollowOptions{Done: func(r host.Report, _ error) {
		switch {
		case len(r.Kept) > 0:
			write(`{"mcpServers": {"diary": {"command": "diary-server"}}}`)
		case len(r.Started) > 0:
			fmt.Println("ok started", r.Started, "stopped", r.Stopped)
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	if err := h.Close(); err != nil {
		log.Fatal(err)
	}
}

// Output: ok started [diary] stopped [notes]
