package host_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// A host that follows where its servers are listed. For files there is [host.FileChanges].
func ExampleHost_Follow() {
	ctx, cancel := context.WithCancel(context.Background())
	h := host.New(exampleOptions())
	defer func() { _ = h.Close() }()

	table := []string{
		`{"mcpServers": {"notes": {"command": "notes-server"}}}`,
		`{"mcpServers": {"notes": {"command`, // somebody is writing
		`{"mcpServers": {"diary": {"command": "diary-server"}}}`,
	}
	row := -1
	changes := func(ctx context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) {
			for row++; row < len(table) && ctx.Err() == nil && yield([]string{"table"}); row++ {
			}
		}
	}
	load := func(context.Context) (*config.Config, error) {
		return config.Parse(ctx, "table", []byte(table[row]), nil)
	}
	err := h.Follow(ctx, changes, load, &host.FollowOptions{Done: func(r host.Report, err error) {
		fmt.Println(r.Started, r.Stopped, err != nil)
	}})
	fmt.Println(err)
	cancel()
	// Output:
	// [notes] [] false
	// [] [] true
	// [diary] [notes] false
	// <nil>
}

func ExampleFileChanges() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}
	write(`{"mcpServers": {"notes": {"command": "notes-server"}}}`)
	ctx, cancel := context.WithCancel(context.Background())
	h := host.New(exampleOptions())
	defer func() { _ = h.Close() }()

	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
	err = h.Follow(ctx, host.FileChanges(path), load, &host.FollowOptions{Done: func(r host.Report, err error) {
		fmt.Println(r.Started, r.Stopped, err)
		if len(r.Stopped) > 0 {
			cancel()
			return
		}
		write(`{"mcpServers": {"diary": {"command": "diary-server"}}}`)
	}})
	fmt.Println(err)
	// Output:
	// [notes] [] <nil>
	// [diary] [notes] <nil>
	// context canceled
}
