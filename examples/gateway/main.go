// Gateway puts three MCP servers behind one URL, and calls a tool of each through it.
//
//	go run ./examples/gateway          # and ends
//	go run ./examples/gateway -serve   # and goes on serving, for other clients
//
// The servers are this program itself, started with the name of one of them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

func main() {
	log.SetFlags(0)
	if name := os.Getenv("EXAMPLE_SERVER"); name != "" {
		serveTool(name)
		return
	}
	serve := flag.Bool("serve", false, "go on serving until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *serve); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, serve bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	entries := map[string]any{}
	for _, name := range []string{"clock", "greeter", "counter"} {
		entries[name] = map[string]any{"command": program, "env": map[string]string{"EXAMPLE_SERVER": name}}
	}
	file, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return err
	}

	o := &host.Options{StateDir: host.NoState, OpenWait: -1}
	gateway.Prepare(o) // so that servers can ask the gateway's clients
	h, err := host.Open(ctx, path, o)
	if err != nil {
		return err
	}
	defer h.Close()
	g, err := gateway.New(h, &gateway.Options{Anonymous: true})
	if err != nil {
		return err
	}
	defer g.Close()

	listener, err := net.Listen("tcp", "localhost:0") // Options.Anonymous is for loopback addresses
	if err != nil {
		return err
	}
	server := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	defer server.Close()
	url := "http://" + listener.Addr().String() + "/mcp"
	fmt.Println("three servers at", url)

	if err := use(ctx, url); err != nil {
		return err
	}
	if serve {
		<-ctx.Done()
	}
	return nil
}

// use is what any MCP client does.
func use(ctx context.Context, url string) error {
	client := mcp.NewClient("belt", &transport.HTTP{URL: url}, nil)
	defer client.Close()
	tools, err := client.Tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		res, err := client.CallTool(ctx, t.Name, json.RawMessage(`{"name":"Ada"}`), nil)
		if err != nil {
			return err
		}
		fmt.Printf("%-18s %s\n", t.Name, res.Text())
	}
	return nil
}

// serveTool is a server with one tool.
func serveTool(name string) {
	type input struct {
		Name string `json:"name" jsonschema:"who asks"`
	}
	calls := 0
	answers := map[string]func(string) string{
		"clock":   func(string) string { return "it is " + time.Now().Format(time.TimeOnly) },
		"greeter": func(who string) string { return "hello, " + who },
		"counter": func(string) string { calls++; return fmt.Sprintf("call %d", calls) },
	}
	server := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "ask", Description: "Ask the " + name}, func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answers[name](in.Name)}}}, nil, nil
	})
	if err := server.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
