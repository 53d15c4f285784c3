// Otel records the span of a call.
package main

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/registry"
)

func main() {
	spans := tracetest.NewInMemoryExporter()
	telemetry := belt.New(&belt.Options{TracerProvider: trace.NewTracerProvider(trace.WithSyncer(spans))})
	reg := newRegistry()
	stop := telemetry.Registry(reg)
	if _, err := reg.Call(context.Background(), "add", []byte(`{"A":1,"B":2}`)); err != nil {
		log.Fatal(err)
	}
	stop()
	fmt.Println("ok", len(spans.GetSpans()), spans.GetSpans()[0].Name)
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

// Output: ok 1 execute_tool add
