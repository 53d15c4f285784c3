package otel

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpbelt/mcpbelt/mcp"
)

const methodCallTool = "tools/call"

type operationKey struct{}

// RequestStart implements [mcp.Tracer].
func (t *Telemetry) RequestStart(ctx context.Context, r *mcp.RequestInfo) context.Context {
	f := newFacts()
	name := t.method(&f, r.Server, r.Method)
	t.both(&f, keyServer.String(r.Server))
	if target := t.target(&f, r, executing(ctx)); target != "" {
		name += " " + target
	}
	kind, metered := trace.SpanKindClient, t.clientRequests
	var opts []trace.SpanStartOption
	if r.Incoming {
		kind, metered = trace.SpanKindServer, t.serverRequests
		ctx, opts = t.parent(ctx, incoming{outgoing{r}})
		t.connection(&f, r.Connection)
	}
	if r.Notification && quiet(r.Method) {
		return context.WithValue(ctx, operationKey{}, t.unseen(f, metered))
	}
	ctx, o := t.begin(ctx, name, kind, f, metered, opts...)
	if !r.Incoming {
		t.propagate.Inject(ctx, outgoing{r})
	}
	return context.WithValue(ctx, operationKey{}, o)
}

// RequestRetry implements [mcp.RetryTracer].
func (t *Telemetry) RequestRetry(ctx context.Context, _ *mcp.RequestInfo, err error) {
	if o, _ := ctx.Value(operationKey{}).(*operation); o != nil {
		var f facts
		t.detail(&f, keyError.String(fateOf(err).kind))
		o.span.AddEvent("mcpbelt.retry", trace.WithAttributes(f.span...))
	}
}

// RequestEnd implements [mcp.Tracer].
func (t *Telemetry) RequestEnd(ctx context.Context, r *mcp.RequestInfo) {
	o, _ := ctx.Value(operationKey{}).(*operation)
	if o == nil {
		return
	}
	var late facts
	if r.ID != "" {
		t.detail(&late, keyRequestID.String(t.word(r.ID, maxID)))
	}
	if r.Attempts > 1 {
		t.detail(&late, keyAttempts.Int(r.Attempts))
	}
	if !r.Incoming {
		t.connection(&late, r.Connection)
	}
	fate := fateOf(r.Err)
	if r.Method == methodCallTool && r.Err == nil {
		if failed(r.Result) {
			fate.kind = toolError
		}
		if t.allowed[ToolResult] && o.span.IsRecording() {
			t.detail(&late, ToolResult.String(t.json(r.Result)))
		}
	}
	o.facts.metric = append(o.facts.metric, late.metric...)
	o.span.SetAttributes(late.span...)
	t.end(ctx, o, r.SentAt, fate)
}

// SessionEnd implements [mcp.SessionTracer].
func (t *Telemetry) SessionEnd(s *mcp.SessionInfo) {
	ctx := context.Background()
	if !t.clientSessions.Enabled(ctx) {
		return
	}
	var f facts
	t.both(&f, keyServer.String(s.Server))
	t.connection(&f, s.Connection)
	t.addFate(&f, fateOf(s.Err))
	t.clientSessions.Record(ctx, s.Duration.Seconds(), metric.WithAttributeSet(attribute.NewSet(f.metric...)))
}

// unseen returns an operation that is measured only.
func (t *Telemetry) unseen(f facts, metered metric.Float64Histogram) *operation {
	return &operation{span: trace.SpanFromContext(context.Background()), began: time.Now(), facts: f, metered: metered}
}

// connection adds what is known of a connection. A part of it is known early.
func (t *Telemetry) connection(f *facts, c mcp.ConnInfo) {
	if isRevision(c.ProtocolVersion) {
		t.both(f, keyProtocol.String(c.ProtocolVersion))
	}
	if c.SessionID != "" {
		t.detail(f, SessionID.String(cut(c.SessionID, maxName)))
	}
	switch {
	case c.Origin != "":
		t.address(f, c.Origin)
	case c != (mcp.ConnInfo{}) && c.SessionID == "":
		t.both(f, keyTransport.String("pipe"))
	}
}

// isRevision reports whether a version is one of the protocol. The other side may say
// anything.
func isRevision(version string) bool {
	return slices.Contains([]string{"2024-11-05", "2025-03-26", "2025-06-18", mcp.Revision20251125, mcp.Revision20260728}, version)
}

// param returns a parameter of a request that is a text.
func param(r *mcp.RequestInfo, name string) (text string) {
	_ = json.Unmarshal(r.Param(name), &text) // a flawed one is no text
	return text
}

// target adds what a request is about, and returns what its span is named after.
// Around is what the span around it is about.
func (t *Telemetry) target(f *facts, r *mcp.RequestInfo, around executed) string {
	switch r.Method {
	case methodCallTool:
		name := param(r, "name")
		if around != (executed{r.Server, name}) { // else it is one execution, told already
			t.both(f, keyOperation.String(executeTool))
		}
		if t.allowed[ToolArguments] {
			t.detail(f, ToolArguments.String(t.json(r.Param("arguments"))))
		}
		return t.shown(t.name(f, r.Server, keyTool, name))
	case "prompts/get":
		return t.shown(t.name(f, r.Server, keyPrompt, param(r, "name")))
	case "resources/read", "resources/subscribe", "resources/unsubscribe", "notifications/resources/updated":
		if uri := t.uri(param(r, "uri")); uri != "" {
			t.detail(f, keyResource.String(uri))
		}
	}
	return ""
}

// shown returns a name for the name of a span: nothing if there are too many.
func (t *Telemetry) shown(name string) string {
	if name == other {
		return ""
	}
	return name
}

// parent returns the context for a span of what another program began, and a link to
// the span around it if that is of another trace or place. Baggage of others is not
// taken over.
func (t *Telemetry) parent(ctx context.Context, from propagation.TextMapCarrier) (context.Context, []trace.SpanStartOption) {
	around := trace.SpanContextFromContext(ctx)
	theirs := trace.SpanContextFromContext(t.propagate.Extract(context.Background(), from))
	if !theirs.IsValid() {
		return ctx, nil
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, theirs)
	if around.IsValid() && !around.Equal(theirs) {
		return ctx, []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: around})}
	}
	return ctx, nil
}
