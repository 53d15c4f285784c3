package otel_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"

	belt "github.com/mcpbelt/mcpbelt/adapters/otel"
	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A bench is a registry with the tools of a server and native ones.
type bench struct {
	*lab
	registry *registry.Registry
	client   *mcp.Client
	stop     func()
}

func newBench(t *testing.T, opts belt.Options, options *registry.Options) *bench {
	t.Helper()
	l, server := newLab(t, opts), newServer(mcp.Revision20251125)
	b := &bench{lab: l, registry: registry.New(options), client: newClient(t, &transport.Pipe{Serve: server.Run}, mcp.ClientOptions{Tracer: l})}
	b.stop = l.Registry(b.registry)
	list := assert.Value(b.client.Tools(t.Context()))(t)
	var tools []registry.Tool
	for _, tool := range list {
		tools = append(tools, registry.Remote("notes", tool, b.client.CallTool))
	}
	assert.Value(b.registry.Replace(registry.Server{Name: "notes"}, tools))(t)
	native := registry.MustFunc("add", "Adds", func(ctx context.Context, in addends) (int, error) {
		_, span := l.tracer.Tracer("test").Start(ctx, "inside")
		span.End()
		if in.A < 0 {
			return 0, errors.New("negative")
		}
		return in.A + in.B, nil
	})
	relays := registry.MustFunc("relays", "Calls a tool of the server by itself", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := b.client.CallTool(ctx, "echo", nil, nil)
		return "", err
	})
	panics := registry.MustFunc("panics", "Panics", func(context.Context, struct{}) (string, error) { panic("sekret") })
	assert.OK(t, b.registry.Add(native, relays, panics))
	l.spans.Reset()
	return b
}

type addends struct{ A, B int }

// A call of a server's tool is one execution: its span, and below it that of the request.
func TestToolOfServer(t *testing.T) {
	b := newBench(t, belt.Options{}, nil)
	assert.Value(b.registry.Call(t.Context(), "notes__echo", nil))(t)
	executed, sent := b.one(t, "execute_tool notes__echo", "internal"), b.one(t, "tools/call echo", "client")
	assert.Equal(t, sent.Parent.SpanID(), executed.SpanContext.SpanID(), "the parent of the request")
	assert.Equal(t, says(executed.Attributes), "gen_ai.operation.name=execute_tool gen_ai.tool.name=notes__echo gen_ai.tool.type=extension mcpbelt.server.name=notes")
	assert.Equal(t, value(sent, "gen_ai.operation.name"), "", "the request says it is an execution of its own: %s", says(sent.Attributes))
	assert.Equal(t, value(sent, "gen_ai.tool.name"), "echo", "the request says it is an execution of its own: %s", says(sent.Attributes))
	// A tool that calls another one is not that.
	b.spans.Reset()
	assert.Value(b.registry.Call(t.Context(), "relays", nil))(t)
	assert.False(t, value(b.one(t, "tools/call echo", "client"), "gen_ai.operation.name") != "execute_tool", "an execution is missing")
}

// Native tools are recorded too, and how they fail.
func TestNativeTool(t *testing.T) {
	b := newBench(t, belt.Options{}, nil)
	for args, kind := range map[string]string{`{"A":1,"B":2}`: "", `{"A":-1,"B":2}`: "tool_error"} {
		b.spans.Reset()
		assert.Value(b.registry.Call(t.Context(), "add", json.RawMessage(args)))(t)
		span := b.one(t, "execute_tool add", "internal")
		if value(span, "error.type") != kind || (span.Status.Code == codes.Error) != (kind != "") || value(span, "gen_ai.tool.type") != "function" || value(span, "mcpbelt.server.name") != "" {
			t.Errorf("%s: %s, %v", args, says(span.Attributes), span.Status)
		}
		assert.True(t, b.of("inside")[0].Parent.SpanID() == span.SpanContext.SpanID(), "what the tool does is not below it")
	}
	_, _ = b.registry.Call(t.Context(), "panics", nil)
	assert.Equal(t, value(b.one(t, "execute_tool panics", "internal"), "error.type"), "panic")
	got := b.series(t, "gen_ai.execute_tool.duration")
	want := []string{
		"1 error.type=panic gen_ai.operation.name=execute_tool gen_ai.tool.name=panics gen_ai.tool.type=function",
		"1 error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=add gen_ai.tool.type=function",
		"1 gen_ai.operation.name=execute_tool gen_ai.tool.name=add gen_ai.tool.type=function",
	}
	assert.False(t, strings.Join(got, "\n") != strings.Join(want, "\n"), "measured %q, want %q", got, want)
	assert.False(t, strings.Contains(b.everything(t), "sekret"), "the words of a panic are told")
	b.stop()
	b.spans.Reset()
	_, _ = b.registry.Call(t.Context(), "add", json.RawMessage(`{"A":1,"B":2}`))
	_, _ = b.registry.Call(t.Context(), "nothing", nil)
	assert.List(t, b.names(), []string{"internal inside"}, "after stop")
}

// Calls that are not made have a span each, of the time that was spent on them, and
// one that waits for approval has not failed.
func TestCallsNotMade(t *testing.T) {
	b := newBench(t, belt.Options{}, &registry.Options{Approver: registry.ApproverFunc(func(_ context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
		switch r.Tool.Origin.Tool {
		case "fails":
			return approval.Decision{Verdict: approval.Deny, Reason: "sekret reason"}, nil
		case "echo":
			return approval.Decision{Verdict: approval.Ask}, nil
		case "hangs":
			return approval.Decision{}, errors.New("sekret")
		}
		return approval.Decision{Verdict: approval.Allow}, nil
	})})
	b.registry.Explain(func(_ context.Context, name string) error {
		switch server, _, _ := strings.Cut(name, "__"); server {
		case "gone":
			return &registry.NotReadyError{Tool: name, Server: server, Err: context.DeadlineExceeded}
		case "login":
			return &registry.NotReadyError{Tool: name, Server: server, Err: &auth.LoginRequiredError{}}
		}
		return nil
	})
	ctx, root := b.tracer.Tracer("test").Start(t.Context(), "root")
	defer root.End()
	for _, test := range []struct{ name, args, span, kind string }{
		{"notes__fails", `{}`, "execute_tool notes__fails", "denied"},
		{"notes__hangs", `{}`, "execute_tool notes__hangs", "policy_failed"},
		{"gone__echo", `{}`, "execute_tool", "server_not_ready"},
		{"login__echo", `{}`, "execute_tool", "login_required"},
		{"no such tool ghp_0123456789abcdefghijABCDEFGHIJ012345", `{}`, "execute_tool", "unknown_tool"},
		{"add", `{"A":"sekret","B":1}`, "execute_tool add", "invalid_arguments"},
		{"notes__echo", `{"q":"sekret"}`, "execute_tool notes__echo", ""},
	} {
		b.spans.Reset()
		_, err := b.registry.Call(ctx, test.name, json.RawMessage(test.args))
		assert.Fails(t, err, "%s was called", test.name)
		span := b.one(t, test.span, "internal")
		assert.Equal(t, value(span, "error.type"), test.kind, "%s: %s, %v", test.name, says(span.Attributes), span.Status)
		assert.Equal(t, span.Status.Code == codes.Error, test.kind != "", "%s: %s, %v", test.name, says(span.Attributes), span.Status)
		assert.False(t, (value(span, "mcpbelt.tool.approval") == "required") != (test.kind == ""), "%s: %s", test.name, says(span.Attributes))
		assert.Equal(t, span.Parent.SpanID(), root.SpanContext().SpanID(), "%s: parent %v, %v to %v", test.name, span.Parent, span.StartTime, span.EndTime)
		assert.False(t, span.EndTime.Before(span.StartTime), "%s: parent %v, %v to %v", test.name, span.Parent, span.StartTime, span.EndTime)
		assert.True(t, len(b.spans.GetSpans()) == 1, "%s: %v", test.name, b.names())
		if all := b.everything(t); strings.Contains(all, "sekret") || strings.Contains(all, "ghp_") {
			t.Errorf("%s: a secret is told", test.name)
		}
		var waits *registry.ApprovalRequiredError
		if !errors.As(err, &waits) {
			continue
		}
		assert.False(t, strings.Contains(b.everything(t), waits.Request.ID), "the id of the approval is told")
		b.spans.Reset()
		assert.Value(b.registry.Approve(ctx, waits.Request.ID, nil))(t)
		if made := b.one(t, "execute_tool notes__echo", "internal"); value(made, "error.type") != "" || b.one(t, "tools/call echo", "client").Parent.SpanID() != made.SpanContext.SpanID() {
			t.Errorf("resumed: %v", b.names())
		}
		b.spans.Reset()
		assert.Fails(t, assert.Err(b.registry.Approve(ctx, waits.Request.ID, nil)), "resumed twice")
		if span := b.one(t, "execute_tool", "internal"); value(span, "error.type") != "approval_void" {
			t.Errorf("resumed twice: %s", says(span.Attributes))
		}
	}
	const operation, notes = "gen_ai.operation.name=execute_tool", " gen_ai.tool.type=extension mcpbelt.server.name=notes"
	assert.Equal(t, strings.Join(b.series(t, "gen_ai.execute_tool.duration"), "\n"), strings.Join([]string{
		"1 error.type=approval_void " + operation,
		"1 error.type=denied " + operation + " gen_ai.tool.name=notes__fails" + notes,
		"1 error.type=invalid_arguments " + operation + " gen_ai.tool.name=add gen_ai.tool.type=function",
		"1 error.type=login_required " + operation,
		"1 error.type=policy_failed " + operation + " gen_ai.tool.name=notes__hangs" + notes,
		"1 error.type=server_not_ready " + operation,
		"1 error.type=unknown_tool " + operation,
		"1 " + operation + " gen_ai.tool.name=notes__echo" + notes,
		"1 " + operation + " gen_ai.tool.name=notes__echo gen_ai.tool.type=extension mcpbelt.server.name=notes mcpbelt.tool.approval=required",
	}, "\n"), "the measurements: those that were not made have no call of a tool in them")
}

// The dashboard of the page asks for what is measured, and for nothing else.
func TestDashboard(t *testing.T) {
	page := string(assert.Value(os.ReadFile("../../docs/adapters/otel-dashboard.json"))(t))
	known := map[string]bool{}
	for _, name := range []string{"mcp.client.operation.duration", "mcp.client.session.duration", "mcp.server.operation.duration", "gen_ai.execute_tool.duration"} {
		known[strings.ReplaceAll(name, ".", "_")+"_seconds"] = true
		assert.Contains(t, string(assert.Value(os.ReadFile("telemetry.go"))(t)), `"`+name+`"`)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	assert.OK(t, json.Unmarshal([]byte(page), &dashboard))
	labels := map[string]bool{"le": true}
	for _, key := range belt.DefaultAttributes() {
		labels[strings.ReplaceAll(string(key), ".", "_")] = true
	}
	asked := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\b[a-z_]+_seconds(?:_bucket|_count|_sum)\b`).FindAllString(target.Expr, -1) {
				asked++
				assert.True(t, known[name[:strings.LastIndex(name, "_")]], "%s: %s is not measured", p.Title, name)
			}
			for _, list := range regexp.MustCompile(`by \(([^)]*)\)|([a-z_]+)[!=]~?"`).FindAllStringSubmatch(target.Expr, -1) {
				for label := range strings.SplitSeq(list[1]+list[2], ",") {
					assert.True(t, labels[strings.TrimSpace(label)], "%s: %q is no attribute", p.Title, label)
				}
			}
		}
	}
	assert.True(t, asked >= 6, "%d metrics asked for", asked)
}

// The spans of calls have the id that the model gave them, whether they are made, are
// refused, or wait and are approved by another person.
func TestCallID(t *testing.T) {
	b := newBench(t, belt.Options{}, &registry.Options{Approver: registry.ApproverFunc(func(_ context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
		if r.Tool.Name == "notes__echo" {
			return approval.Decision{Verdict: approval.Ask}, nil
		}
		return approval.Decision{Verdict: approval.Allow}, nil
	})})
	ctx := registry.WithCallID(t.Context(), "call_1")
	check := func(what, name string) {
		t.Helper()
		assert.Equal(t, value(b.one(t, name, "internal"), "gen_ai.tool.call.id"), "call_1", "%s: the call id", what)
		b.spans.Reset()
	}
	_, _ = b.registry.Call(ctx, "add", json.RawMessage(`{"A":1,"B":2}`))
	check("one that is made", "execute_tool add")
	_, err := b.registry.Call(ctx, "notes__echo", nil)
	check("one that waits", "execute_tool notes__echo")
	var waits *registry.ApprovalRequiredError
	if !errors.As(err, &waits) {
		t.Fatal(err)
	}
	assert.Value(b.registry.Approve(registry.WithCallID(t.Context(), "click 9"), waits.Request.ID, nil))(t)
	check("one that was approved", "execute_tool notes__echo")
	_, _ = b.registry.Call(ctx, "nothing", nil)
	check("one of no tool", "execute_tool")
	for _, line := range b.series(t, "gen_ai.execute_tool.duration") {
		assert.Lacks(t, line, "call_1", "measured by the id")
	}
}

// A host needs one line.
func TestHost(t *testing.T) {
	l := newLab(t, belt.Options{})
	h := host.New(&host.Options{StateDir: host.NoState, Client: mcp.ClientOptions{Tracer: l.Telemetry}})
	assert.OK(t, h.Registry().Add(registry.MustFunc("add", "Adds", func(_ context.Context, in addends) (int, error) { return in.A + in.B, nil })))
	for _, want := range []int{2, 2} { // the second time the host is closed
		for _, name := range []string{"add", "nothing"} {
			_, _ = h.Registry().Call(t.Context(), name, json.RawMessage(`{"A":1,"B":2}`))
		}
		assert.Equal(t, len(l.spans.GetSpans()), want, "spans: %q", l.names())
		assert.OK(t, h.Close())
	}
}

// Who refuses a call has not made one, and a panic of middleware is told of.
func TestRefusedAndBroken(t *testing.T) {
	b := newBench(t, belt.Options{}, &registry.Options{Approver: registry.ApproverFunc(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	_, err := b.registry.Call(t.Context(), "notes__echo", nil)
	var waits *registry.ApprovalRequiredError
	if !errors.As(err, &waits) {
		t.Fatal(err)
	}
	assert.OK(t, b.registry.Deny(t.Context(), waits.Request.ID, "no"))
	assert.Equal(t, len(b.names()), 1, "spans")
	r := registry.New(nil)
	defer b.Registry(r)()
	r.Use(func(registry.Handler) registry.Handler {
		return func(_ context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			if call.Tool.Name == "late" {
				return nil, context.DeadlineExceeded
			}
			panic("ouch")
		}
	})
	for _, name := range []string{"broken", "late"} {
		assert.OK(t, r.Add(registry.MustFunc(name, "Breaks", func(context.Context, struct{}) (string, error) { return "", nil })))
	}
	_, _ = r.Call(t.Context(), "late", nil)
	assert.Equal(t, value(b.one(t, "execute_tool late", "internal"), "error.type"), "timeout")
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Call(t.Context(), "broken", nil)
	}()
	assert.Equal(t, value(b.one(t, "execute_tool broken", "internal"), "error.type"), "panic")
}
