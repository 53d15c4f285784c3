package host_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
)

// A host that follows where its servers are listed. For a file, package
// host/config/filewatch makes the changes.
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
