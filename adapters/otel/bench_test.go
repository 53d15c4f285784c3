package otel_test

import (
	"context"
	"encoding/json"
	"testing"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A discarder takes spans and forgets them.
type discarder struct{}

func (discarder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discarder) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discarder) Shutdown(context.Context) error                  { return nil }
func (discarder) ForceFlush(context.Context) error                { return nil }

// ways are the ways in which telemetry can be on or off; nil: off.
func ways() map[string]*belt.Telemetry {
	w3c := propagation.TraceContext{}
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	with := func(spans *sdktrace.TracerProvider) *belt.Telemetry {
		return belt.New(&belt.Options{TracerProvider: spans, MeterProvider: metrics, Propagator: w3c})
	}
	return map[string]*belt.Telemetry{
		"off":        nil,
		"no-op":      belt.New(&belt.Options{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: metricnoop.NewMeterProvider(), Propagator: w3c}),
		"unsampled":  with(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))),
		"everything": with(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discarder{}))),
	}
}

// BenchmarkRequest is a call of a tool of the official server over a pipe.
func BenchmarkRequest(b *testing.B) {
	for name, telemetry := range ways() {
		b.Run(name, func(b *testing.B) {
			var opts mcp.ClientOptions
			if telemetry != nil {
				opts.Tracer = telemetry
			}
			c := newClient(b, &transport.Pipe{Serve: newServer(mcp.Revision20251125).Run}, opts)
			assert.OK(b, c.Ready(b.Context()))
			b.ReportAllocs()
			for b.Loop() {
				assert.Value(c.CallTool(b.Context(), "echo", nil, nil))(b)
			}
		})
	}
}

// BenchmarkTool is a call of a native tool of a registry, which does nothing.
func BenchmarkTool(b *testing.B) {
	args := json.RawMessage(`{}`)
	for name, telemetry := range ways() {
		b.Run(name, func(b *testing.B) {
			r := registry.New(nil)
			assert.OK(b, r.Add(registry.MustFunc("nothing", "Does nothing", func(context.Context, struct{}) (string, error) { return "", nil })))
			if telemetry != nil {
				telemetry.Registry(r)
			}
			b.ReportAllocs()
			for b.Loop() {
				assert.Value(r.Call(b.Context(), "nothing", args))(b)
			}
		})
	}
}
