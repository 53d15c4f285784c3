// Core lists and calls a tool of a server and one of its own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

type note struct {
	Text string `json:"text"`
}

// notes is a server in this process.
func notes(session.Key, *config.Server) (mcp.Transport, error) {
	s := sdk.NewServer(&sdk.Implementation{Name: "notes"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "create"}, func(_ context.Context, _ *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "kept: " + in.Text}}}, nil, nil
	})
	return &transport.Pipe{Serve: s.Run}, nil
}

func main() {
	ctx := context.Background()
	path := filepath.Join(os.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"notes": {"command": "notes-server"}}}`), 0o600); err != nil {
		log.Fatal(err)
	}
	h, err := host.Open(ctx, path, &host.Options{Transport: notes, Registry: newRegistry(), StateDir: host.NoState})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	var texts []any
	for _, call := range [][2]string{{"add", `{"A":1,"B":2}`}, {"notes__create", `{"text":"hi"}`}} {
		res, err := h.Registry().Call(ctx, call[0], json.RawMessage(call[1]))
		if err != nil {
			log.Fatal(err)
		}
		texts = append(texts, result.Text(res))
	}
	fmt.Println(append([]any{"ok"}, texts...)...)
}

func newRegistry() *registry.Registry {
	reg := registry.New(nil)
	err := reg.Add(registry.MustFunc("add", "Adds two numbers", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	return reg
}

// Output: ok 3 kept: hi
