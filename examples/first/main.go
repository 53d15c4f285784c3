// First runs the three MCP servers of mcp.json, adds a tool of its own, and calls one tool
// of each. It is the first program of the README:
//
//	cd examples/first && go run .
//
// It needs Node: npx downloads the servers on the first run.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

type point struct{ X, Y int }

func sum(_ context.Context, p point) (int, error) { return p.X + p.Y, nil }

func run(ctx context.Context, file string) error {
	h, err := host.Open(ctx, file, &host.Options{OpenWait: time.Minute}) // npx may download first
	if err != nil {
		return err
	}
	defer h.Close()
	for _, s := range h.Servers() { // a server that failed says why
		fmt.Printf("%-10s %-8s %2d tools  %v\n", s.Name, s.Stage, s.Tools, s.Err)
	}

	tools := h.Registry()
	if err := tools.Add(registry.MustFunc("sum", "Add two integers", sum)); err != nil {
		return err
	}
	for _, call := range []struct{ tool, args string }{
		{"sum", `{"X":1,"Y":2}`},
		{"everything__echo", `{"message":"hello"}`},
		{"files__list_directory", `{"path":"."}`},
	} {
		res, err := tools.Call(ctx, call.tool, json.RawMessage(call.args))
		if err != nil {
			fmt.Println(call.tool, "failed:", err)
			continue
		}
		fmt.Println(call.tool, "->", result.Text(res))
	}
	return nil
}

func main() {
	if err := run(context.Background(), "mcp.json"); err != nil {
		log.Fatal(err)
	}
}
