package otel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A lab is a Telemetry whose spans and measurements stay in memory.
type lab struct {
	*belt.Telemetry
	spans  *tracetest.InMemoryExporter
	tracer *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
}

func newLab(t testing.TB, opts belt.Options) *lab {
	t.Helper()
	l := &lab{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	l.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(l.spans))
	opts.TracerProvider = l.tracer
	opts.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.reader))
	if opts.Propagator == nil {
		opts.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	l.Telemetry = belt.New(&opts)
	return l
}

// of returns the spans that have ended and are called name.
func (l *lab) of(name string) []tracetest.SpanStub {
	return slices.DeleteFunc(l.spans.GetSpans(), func(s tracetest.SpanStub) bool { return s.Name != name })
}

// one returns the span of that name and kind, and fails the test if there is another
// number of them.
func (l *lab) one(t testing.TB, name, kind string) tracetest.SpanStub {
	t.Helper()
	found := slices.DeleteFunc(l.of(name), func(s tracetest.SpanStub) bool { return s.SpanKind.String() != kind })
	if len(found) != 1 {
		t.Fatalf("%d spans %q of kind %s, want 1; there are %v", len(found), name, kind, l.names())
	}
	return found[0]
}

func (l *lab) names() (names []string) {
	for _, s := range l.spans.GetSpans() {
		names = append(names, s.SpanKind.String()+" "+s.Name)
	}
	return names
}

// says returns attributes as text, in the order of their keys.
func says(attributes []attribute.KeyValue) string {
	return setSays(attribute.NewSet(attributes...))
}

func setSays(set attribute.Set) string {
	var lines []string
	for _, kv := range set.ToSlice() {
		lines = append(lines, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
	}
	return strings.Join(lines, " ")
}

func value(s tracetest.SpanStub, key string) string {
	for _, kv := range s.Attributes {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// histogram returns the data points of a metric, and the bounds of its buckets.
func (l *lab) histogram(t testing.TB, name string) (points []metricdata.HistogramDataPoint[float64]) {
	t.Helper()
	var all metricdata.ResourceMetrics
	assert.OK(t, l.reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				assert.False(t, m.Unit != "s" || m.Description == "", "%s has unit %q and description %q", name, m.Unit, m.Description)
				points = append(points, m.Data.(metricdata.Histogram[float64]).DataPoints...)
			}
		}
	}
	return points
}

func (l *lab) series(t testing.TB, name string) (all []string) {
	t.Helper()
	for _, p := range l.histogram(t, name) {
		all = append(all, fmt.Sprintf("%d %s", p.Count, setSays(p.Attributes)))
	}
	slices.Sort(all)
	return all
}

// everything returns all that would leave the process.
func (l *lab) everything(t testing.TB) string {
	t.Helper()
	var all metricdata.ResourceMetrics
	assert.OK(t, l.reader.Collect(context.Background(), &all))
	out := string(assert.Value(json.Marshal(all))(t))
	for _, s := range l.spans.GetSpans() {
		out += fmt.Sprintf("\n%s %v %v %v %v", s.Name, says(s.Attributes), s.Events, s.Links, s.Status)
	}
	for _, name := range []string{"mcp.client.operation.duration", "mcp.server.operation.duration"} {
		out += strings.Join(l.series(t, name), "\n")
	}
	return out
}

// versions are the revisions of the protocol that tests speak.
func versions() []string { return []string{mcp.Revision20251125, mcp.Revision20260728} }

// newServer returns a server of the official SDK with a few tools.
func newServer(version string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: []string{version}})
	object := json.RawMessage(`{"type":"object"}`)
	add := func(name string, handle sdk.ToolHandler) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: object}, handle)
	}
	add("echo", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	add("fails", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no"}}}, nil
	})
	add("hangs", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("asks", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: res.Action}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "t", URITemplate: "file:///{+path}"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "x"}}}, nil
	})
	return s
}

// web serves a server over HTTP, and lets see each request first.
func web(t testing.TB, s *sdk.Server, version string, see func(*http.Request)) *transport.HTTP {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: version == mcp.Revision20260728})
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if see != nil {
			see(r)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(listener.Close)
	return &transport.HTTP{URL: listener.URL + "/mcp?key=sekret-in-url"}
}

func newClient(t testing.TB, to mcp.Transport, opts mcp.ClientOptions) *mcp.Client {
	c := mcp.NewClient("notes", to, &opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
