// Belt is the program of the quickstart: it opens a config file with two MCP servers, adds
// a tool of its own, calls one tool of each, kills a server and calls it again.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/registry"
)

//go:embed mcp.json
var configFile []byte

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, configFile, 0o600); err != nil {
		return err
	}

	h, err := host.Open(ctx, path, &host.Options{StateDir: host.NoState, OpenWait: -1})
	if err != nil {
		return err
	}
	defer func() { _ = h.Close() }()
	if err := h.Registry().Add(registry.MustFunc("add", "Add two numbers", add)); err != nil {
		return err
	}

	printServers(h)
	printTools(h)
	fmt.Println("\nOne call of each:")
	for _, call := range []struct{ tool, args string }{
		{"add", `{"a":1,"b":2}`},
		{"notes__create", `{"text":"buy milk"}`},
		{"clock__now", `{"zone":"UTC"}`},
	} {
		if err := show(ctx, h, call.tool, call.args); err != nil {
			return err
		}
	}

	fmt.Println("\nKilling the notes server:")
	if err := kill(h, "notes"); err != nil {
		return err
	}
	if err := show(ctx, h, "notes__create", `{"text":"and bread"}`); err != nil {
		return err
	}
	printServers(h)
	return h.Shutdown(ctx)
}

type addInput struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

func add(_ context.Context, in addInput) (float64, error) { return in.A + in.B, nil }

// show calls a tool and prints what it answers.
func show(ctx context.Context, h *host.Host, tool, args string) error {
	begun := time.Now()
	res, err := h.Registry().Call(ctx, tool, json.RawMessage(args))
	if err != nil {
		return err
	}
	fmt.Printf("  %s %s -> %s (%v)\n", tool, args, res.Text(), time.Since(begun).Round(10*time.Microsecond))
	return nil
}

// kill ends a server's process as rudely as the system allows.
func kill(h *host.Host, name string) error {
	for _, s := range h.Servers() {
		if s.Name != name || s.State.PID == 0 {
			continue
		}
		p, err := os.FindProcess(s.State.PID)
		if err != nil {
			return err
		}
		fmt.Printf("  process %d killed; nothing else is done about it\n", p.Pid)
		return p.Kill()
	}
	return fmt.Errorf("server %q does not run", name)
}

func printServers(h *host.Host) {
	fmt.Println("\nServers:")
	for _, s := range h.Servers() {
		fmt.Printf("  %-8s %-6s %v, revision %s, %d tools, %d connections\n",
			s.Name, s.Transport, s.State.Phase, s.State.ProtocolVersion, s.Tools, s.State.Connections)
		if s.Err != nil {
			fmt.Println("   ", s.Err)
		}
	}
}

func printTools(h *host.Host) {
	fmt.Println("\nTools:")
	for _, t := range h.Registry().Snapshot().Tools() {
		fmt.Printf("  %-14s %s\n", t.Definition().Name, t.Definition().Description)
	}
}
