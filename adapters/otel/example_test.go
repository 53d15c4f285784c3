package otel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A host whose servers, and the tools of all of them, are recorded by the global
// providers of OpenTelemetry.
func Example() {
	var opts host.Options
	opts.StateDir = host.NoState

	opts.Client.Tracer = belt.New(nil)
	h := host.New(&opts)
	defer func() { _ = h.Close() }()
	fmt.Println("recording")
	// Output: recording
}

// What a call of a server's tool looks like.
func ExampleTelemetry_Registry() {
	spans := tracetest.NewInMemoryExporter()
	telemetry := belt.New(&belt.Options{TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans))})

	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "list", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})

	client := mcp.NewClient("notes", &transport.Pipe{Serve: server.Run}, &mcp.ClientOptions{Tracer: telemetry})
	defer func() { _ = client.Close() }()
	reg := registry.New(nil)
	defer telemetry.Registry(reg)()
	tools, err := client.Tools(context.Background())
	if err == nil {
		_, err = reg.Replace(registry.Server{Name: "notes"}, []registry.Tool{registry.Remote("notes", tools[0], client.CallTool)})
	}
	if err == nil {
		_, err = reg.Call(context.Background(), "notes__list", nil)
	}
	if err != nil {
		fmt.Println(err)
	}
	for _, s := range spans.GetSpans() {
		if strings.HasSuffix(s.Name, "list") && !strings.HasPrefix(s.Name, "tools/list") {
			fmt.Println(s.SpanKind, s.Name)
		}
	}
	// Output:
	// client tools/call list
	// internal execute_tool notes__list
}

// Arguments and results are recorded only for who says so, and secrets that can be
// told by their form are hidden.
func ExampleDefaultAttributes() {
	telemetry := belt.New(&belt.Options{
		Attributes: append(belt.DefaultAttributes(), belt.ToolArguments, belt.ToolResult),
	})
	_ = telemetry
	// Output:
}

// New for a single client: each of its requests has a span, and carries the trace.
func ExampleNew() {
	client := mcp.NewClient("notes", &transport.Command{Path: "notes-server"}, &mcp.ClientOptions{Tracer: belt.New(nil)})
	fmt.Println(client.Name(), client.Close())
	// Output: notes <nil>
}
