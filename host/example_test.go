package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// exampleFile writes a config file, and exampleOptions make its server run in
// this process, so that the examples need no program.
func exampleFile() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	path = filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"notes": {"command": "notes-server"}}}`), 0o600); err != nil {
		panic(err)
	}
	return path, func() { _ = os.RemoveAll(dir) }
}

func exampleOptions() *host.Options {
	type note struct {
		Text string `json:"text"`
	}
	return &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		s := sdk.NewServer(&sdk.Implementation{Name: "notes"}, nil)
		sdk.AddTool(s, &sdk.Tool{Name: "create"}, func(_ context.Context, _ *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "kept: " + in.Text}}}, nil, nil
		})
		return &transport.Pipe{Serve: s.Run}, nil
	}}
}

func ExampleOpen() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	h, err := host.Open(ctx, path, exampleOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()

	add := func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }
	if err := h.Registry().Add(registry.MustFunc("add", "Add two numbers", add)); err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range h.Registry().Snapshot().Tools() {
		fmt.Println(t.Definition().Name)
	}
	res, err := h.Registry().Call(ctx, "notes__create", json.RawMessage(`{"text":"hi"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// add
	// notes__create
	// kept: hi
}

// A host whose calls are approved, and whose tools stay what they were.
func ExampleOptions() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	accepted, err := ledger.Open(filepath.Join(filepath.Dir(path), "mcp.lock.json"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	opts := exampleOptions()
	opts.Registry = registry.New(&registry.Options{
		Ledger:   accepted,
		Approver: policy.Cautious(),
		Results:  &result.Options{MaxBytes: 16 << 10},
	})
	h, err := host.Open(ctx, path, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()

	_, err = h.Registry().Call(ctx, "notes__create", json.RawMessage(`{"text":"hi"}`))
	var asked *registry.ApprovalRequiredError
	if !errors.As(err, &asked) {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s: %s\n", asked.Request.Tool.DisplayName(), asked.Request.Args, asked.Request.Reason)
	res, err := h.Registry().Approve(ctx, asked.Request.ID, nil) // somebody said yes
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text(res))
	// Output:
	// notes:create (MCP) {"text":"hi"}: its server is not trusted
	// kept: hi
}

func ExampleHost_Servers() {
	path, remove := exampleFile()
	defer remove()
	h, err := host.Open(context.Background(), path, exampleOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()
	for _, s := range h.Servers() {
		fmt.Println(s.Name, s.State.Phase, s.Tools, s.Err)
	}
	// Output: notes ready 1 <nil>
}

func ExampleHost_Apply() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	h, err := host.Open(ctx, path, exampleOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()

	c, err := config.Parse(ctx, "new.json", []byte(`{"mcpServers": {"diary": {"command": "diary-server"}}}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := h.Apply(ctx, c)
	fmt.Println(report.Started, report.Stopped, err)
	// Output: [diary] [notes] <nil>
}

func ExampleHost_Disable() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	h, err := host.Open(ctx, path, exampleOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()
	err = h.Disable(ctx, "notes")
	fmt.Println(len(h.Registry().Snapshot().Tools()), err)
	err = h.Enable(ctx, "notes")
	fmt.Println(len(h.Registry().Snapshot().Tools()), err)
	// Output:
	// 0 <nil>
	// 1 <nil>
}

func ExampleHost_Watch() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	h, err := host.Open(ctx, path, exampleOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()
	for servers := range h.Watch(ctx) {
		fmt.Println(servers[0].Name, servers[0].State.Phase)
		break // or go on, and see every later change
	}
	// Output: notes ready
}

func ExampleHost_Shutdown() {
	h := host.New(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(h.Shutdown(ctx))
	// Output: <nil>
}

// A program that keeps the entries of its servers itself applies one of them, and the
// others go on.
func ExampleHost_ApplyServers() {
	ctx := context.Background()
	h := host.New(fakes(&host.Options{}))
	defer h.Close()
	report, err := h.ApplyServers(ctx, "add", []string{"notes"}, func(ctx context.Context) (map[string]*config.Server, error) {
		c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "notes"}}}`), nil)
		if err != nil {
			return nil, err
		}
		return map[string]*config.Server{"notes": c.Servers[0]}, nil
	})
	fmt.Println(report.Started, err)
	fmt.Println(names(h))
	// Output:
	// [notes] <nil>
	// notes__echo
}
