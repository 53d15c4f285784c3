package otel

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// Registry records the calls of r's tools from now on, until stop: one span
// execute_tool and one measurement for each, also for those that are not made because they are
// denied, wait for approval or are wrong. A call of a server's tool has the span of its
// request as a child. The span has the id of [registry.WithCallID]. Call it once for a
// registry, before other middleware is added that is to be measured. A host calls it for
// its own registry.
func (t *Telemetry) Registry(r *registry.Registry) (stop func()) {
	var stopped atomic.Bool
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			if stopped.Load() {
				return next(ctx, call)
			}
			return t.execute(ctx, call, next)
		}
	})
	r.Observe(func(ctx context.Context, o *registry.Observation) {
		if !stopped.Load() {
			t.refused(ctx, o)
		}
	})
	return func() { stopped.Store(true) }
}

// An executed is the tool that a span execute_tool is about.
type executed struct{ server, tool string }

type executedKey struct{}

// executing returns the tool that is being executed in a context.
func executing(ctx context.Context) executed {
	e, _ := ctx.Value(executedKey{}).(executed)
	return e
}

func (t *Telemetry) execute(ctx context.Context, call *registry.Call, next registry.Handler) (res *mcp.CallToolResult, err error) {
	f, name := t.tool(call.Tool, call.Args)
	t.callID(&f, registry.CallIDOf(ctx))
	ctx, o := t.begin(ctx, name, trace.SpanKindInternal, f, t.tools)
	if origin := call.Tool.Origin; origin.Server != "" {
		ctx = context.WithValue(ctx, executedKey{}, executed{origin.Server, origin.Tool})
	}
	fate := fate{kind: "panic"}
	defer func() { t.end(ctx, o, o.began, fate) }()
	res, err = next(ctx, call)
	fate = fateOfCall(res, err)
	if t.allowed[ToolResult] && err == nil && res != nil && o.span.IsRecording() {
		if raw, err := json.Marshal(res); err == nil {
			o.span.SetAttributes(ToolResult.String(t.json(raw)))
		}
	}
	return res, err
}

// tool returns what is recorded of a tool's call, and the name of its span.
func (t *Telemetry) tool(def *registry.Definition, args []byte) (f facts, name string) {
	f = newFacts()
	t.both(&f, keyOperation.String(executeTool))
	kind := "function"
	if def.Origin.Server != "" {
		kind = "extension"
		t.both(&f, keyServer.String(def.Origin.Server))
	}
	t.both(&f, keyToolType.String(kind))
	name = executeTool
	if shown := t.shown(t.name(&f, def.Origin.Server, keyTool, def.Name)); shown != "" {
		name += " " + shown
	}
	if t.allowed[ToolArguments] {
		t.detail(&f, ToolArguments.String(t.json(args)))
	}
	return f, name
}

// callID adds the id that the caller gave the call, see [registry.WithCallID].
func (t *Telemetry) callID(f *facts, id string) {
	if id != "" {
		t.detail(f, keyCallID.String(t.word(id, maxName)))
	}
}

// refused records a call that was not made.
func (t *Telemetry) refused(ctx context.Context, o *registry.Observation) {
	if o.Passed || o.Kind == registry.Denied {
		return
	}
	f, name := newFacts(), executeTool
	if o.Tool != nil {
		f, name = t.tool(o.Tool, o.Arguments)
	} else {
		t.both(&f, keyOperation.String(executeTool))
		if o.Name != "" {
			t.detail(&f, keyTool.String(t.word(o.Name, maxName)))
		}
	}
	t.callID(&f, o.CallID)
	if errors.As(o.Err, new(*registry.ApprovalRequiredError)) {
		t.both(&f, keyApproval.String(approvalWaiting))
	}
	fate := fateOfCall(nil, o.Err)
	t.addFate(&f, fate)
	if t.tools.Enabled(ctx) {
		t.tools.Record(ctx, o.Duration.Seconds(), metric.WithAttributeSet(attribute.NewSet(f.metric...)))
	}
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(o.Began), trace.WithAttributes(f.span...))
	if fate.kind != "" {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(o.Began.Add(o.Duration)))
}
