package otel

import (
	"context"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// scope names this instrumentation to OpenTelemetry.
const scope = "github.com/mcpbelt/mcpbelt/adapters/otel"

// A Telemetry records requests and calls of tools. It is an [mcp.Tracer], and one
// can serve any number of clients and registries. It is safe for
// concurrent use, and starts no goroutine.
type Telemetry struct {
	tracer    trace.Tracer
	propagate propagation.TextMapPropagator
	allowed   map[attribute.Key]bool
	redact    *result.Shaper // of secrets
	names     names

	clientRequests, clientSessions metric.Float64Histogram
	serverRequests, tools          metric.Float64Histogram
}

var (
	_ mcp.Tracer        = (*Telemetry)(nil)
	_ mcp.RetryTracer   = (*Telemetry)(nil)
	_ mcp.SessionTracer = (*Telemetry)(nil)
)

// New returns a Telemetry.
func New(opts *Options) *Telemetry {
	o := opts.withDefaults()
	t := &Telemetry{
		tracer:    o.TracerProvider.Tracer(scope),
		propagate: o.Propagator,
		allowed:   make(map[attribute.Key]bool, len(o.Attributes)),
		redact:    result.New(&result.Options{Redact: true}),
		names:     names{max: o.MaxNames},
	}
	for _, key := range o.Attributes {
		t.allowed[key] = true
	}
	meter := o.MeterProvider.Meter(scope)
	durations := []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	t.clientRequests = histogram(meter, "mcp.client.operation.duration", "The duration of the MCP request or notification as observed on the sender from the time it was sent until the response or ack is received.", durations)
	t.clientSessions = histogram(meter, "mcp.client.session.duration", "The duration of the MCP session as observed on the MCP client.", durations)
	t.serverRequests = histogram(meter, "mcp.server.operation.duration", "MCP request or notification duration as observed on the receiver from the time it was received until the result or ack is sent.", durations)
	t.tools = histogram(meter, "gen_ai.execute_tool.duration", "The duration of a single tool execution.",
		[]float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92})
	return t
}

func histogram(meter metric.Meter, name, description string, bounds []float64) metric.Float64Histogram {
	h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
	if err != nil {
		api.Handle(err)
	}
	if h == nil {
		return noop.Float64Histogram{}
	}
	return h
}

// An operation is something under way: its span, and what its measurement will say.
type operation struct {
	span    trace.Span
	began   time.Time
	facts   facts // of the span, and those of the measurement
	metered metric.Float64Histogram
}

// begin begins an operation. Facts that only a measurement has are added to it.
func (t *Telemetry) begin(ctx context.Context, name string, kind trace.SpanKind, f facts, metered metric.Float64Histogram, opts ...trace.SpanStartOption) (context.Context, *operation) {
	o := &operation{began: time.Now(), facts: f, metered: metered}
	opts = append(opts, trace.WithSpanKind(kind), trace.WithTimestamp(o.began), trace.WithAttributes(f.span...))
	ctx, o.span = t.tracer.Start(ctx, name, opts...)
	return ctx, o
}

// end ends an operation, measured from the time that it really began.
func (t *Telemetry) end(ctx context.Context, o *operation, from time.Time, fate fate) {
	now := time.Now()
	if o.metered.Enabled(ctx) {
		if from.IsZero() {
			from = o.began
		}
		t.addFate(&o.facts, fate)
		o.metered.Record(ctx, now.Sub(from).Seconds(), metric.WithAttributeSet(attribute.NewSet(o.facts.metric...)))
	}
	if o.span.IsRecording() {
		var last facts
		t.addFate(&last, fate)
		o.span.SetAttributes(last.span...)
		if fate.kind != "" {
			o.span.SetStatus(codes.Error, t.description(fate))
		}
	}
	o.span.End(trace.WithTimestamp(now))
}

// addFate adds how an operation ended. A code that is none counts as other in metrics,
// which hold few values.
func (t *Telemetry) addFate(f *facts, fate fate) {
	if fate.kind == "" {
		return
	}
	if fate.code == "" {
		t.both(f, keyError.String(fate.kind))
		return
	}
	counted := fate.code
	if !isCode(counted) {
		counted = other
	}
	for _, key := range []attribute.Key{keyError, keyStatus} {
		t.detail(f, key.String(fate.code))
		if t.allowed[key] {
			f.metric = append(f.metric, key.String(counted))
		}
	}
}

// description returns what to say of an error in the status of a span.
func (t *Telemetry) description(fate fate) string {
	if !t.allowed[ToolResult] || fate.message == "" {
		return ""
	}
	return t.text(fate.message)
}
