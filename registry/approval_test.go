package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A ward is a registry whose calls an approver decides, with a real server that
// notes down what reaches it.
type ward struct {
	*registry.Registry
	server *sdk.Server
	client *mcp.Client

	mu      sync.Mutex
	reached []string // the arguments of each call at the server, as they came
	decide  registry.ApproverFunc
	arrived chan struct{} // if not nil, gets a value for each call at the server, which then answers nothing
}

func newWard(t *testing.T, opts approval.Options) *ward {
	t.Helper()
	w := &ward{server: sdk.NewServer(&sdk.Implementation{Name: "files", Version: "1"}, nil)}
	for _, name := range []string{"delete", "move"} {
		w.server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				w.mu.Lock()
				w.reached = append(w.reached, string(req.Params.Arguments))
				arrived := w.arrived
				w.mu.Unlock()
				if arrived != nil {
					arrived <- struct{}{}
					<-ctx.Done()
				}
				return servedText(req.Params.Name + " done"), nil
			})
	}
	w.Registry = registry.New(&registry.Options{
		Approvals: opts,
		Approver: registry.ApproverFunc(func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			w.mu.Lock()
			decide := w.decide
			w.mu.Unlock()
			return decide(ctx, req)
		}),
	})
	w.says(approval.Ask)
	w.connect(t)
	return w
}

// connect lists the server's tools, through a new client.
func (w *ward) connect(t *testing.T) {
	t.Helper()
	c := mcp.NewClient("files", &transport.Pipe{Serve: w.server.Run}, nil)
	t.Cleanup(func() { _ = c.Close() })
	w.client = c
	listed := assert.Value(c.Tools(t.Context()))(t)
	var tools []registry.Tool
	for _, tool := range listed {
		tools = append(tools, registry.Remote("files", tool, c.CallTool))
	}
	mustReplace(t, w.Registry, "files", tools...)
}

// decides sets what the approver does.
func (w *ward) decides(f registry.ApproverFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.decide = f
}

func (w *ward) says(v approval.Verdict) {
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: v, Reason: "because"}, nil
	})
}

// asks makes a call that has to be asked for, and returns what is asked.
func (w *ward) asks(t *testing.T, ctx context.Context, tool, args string) *registry.ApprovalRequest {
	t.Helper()
	_, err := w.Call(ctx, tool, json.RawMessage(args))
	var required *registry.ApprovalRequiredError
	if !errors.As(err, &required) {
		t.Fatalf("%s: %v, want an ApprovalRequiredError", tool, err)
	}
	return required.Request
}

// at checks what reached the server.
func (w *ward) at(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.reached, want) {
		t.Fatalf("at the server: %q, want %q", w.reached, want)
	}
}

func wantError[E error](t *testing.T, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Fatalf("error = %v (%T), want a %T", err, err, e)
	}
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome of %v", err)
	return e
}

func as(ctx context.Context, user, conversation string) context.Context {
	return registry.WithConversation(onbehalf.With(ctx, user), conversation)
}

// No call passes but one that was decided for.
func TestApprovalVerdicts(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := t.Context()
	call := func() error {
		_, err := w.Call(ctx, "files__delete", json.RawMessage(`{"path":"a"}`))
		return err
	}

	for _, v := range []approval.Verdict{approval.Deny, -1, 4, 1 << 20} {
		w.says(v)
		if denied := wantError[*approval.DeniedError](t, call()); denied.Tool != "files__delete" || denied.Reason != "because" {
			t.Errorf("%v: %+v", v, denied)
		}
	}
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Allow}, errors.New("the office is closed")
	})
	if failed := wantError[*approval.PolicyError](t, call()); failed.Tool != "files__delete" || failed.Err.Error() != "the office is closed" {
		t.Errorf("%+v", failed)
	}
	w.says(approval.Ask)
	if asked := wantError[*registry.ApprovalRequiredError](t, call()); asked.Request.Reason != "because" {
		t.Errorf("%+v", asked.Request)
	}
	w.at(t)

	w.says(approval.Allow)
	if err := call(); err != nil {
		t.Error(err)
	}
	w.at(t, `{"path":"a"}`)
}

// An unlisted tool does not even come before the approver.
func TestApprovalOfAnUnlistedTool(t *testing.T) {
	w := newWard(t, approval.Options{})
	w.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		t.Errorf("asked about %s", req.Tool.Name)
		return approval.Decision{Verdict: approval.Allow}, nil
	})
	_, err := w.Call(t.Context(), "files__format", nil)
	wantError[*registry.UnknownToolError](t, err)
	w.Remove("files__move")
	_, err = w.Call(t.Context(), "files__move", nil)
	wantError[*registry.UnknownToolError](t, err)
	w.at(t)
}

func TestApprovalWithoutAnApprover(t *testing.T) {
	r := registry.New(nil)
	mustAdd(t, r, native("tool"))
	if _, err := r.Call(t.Context(), "tool", nil); err != nil {
		t.Error(err)
	}
	if _, err := r.Approve(t.Context(), "", nil); err == nil {
		t.Error("something was resumed")
	}
}

// The approver sees who wants what, and cannot change it.
func TestApprovalRequest(t *testing.T) {
	w := newWard(t, approval.Options{})
	w.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		if req.User != "ann" || req.Conversation != "c1" || string(req.Args) != `{"path":"a"}` || req.Tool.Origin != (registry.Origin{Server: "files", Tool: "delete"}) {
			t.Errorf("request = %+v", req)
		}
		if req.ID != "" || req.Approved || req.Reason != "" || !req.Asked.IsZero() || !req.Expires.IsZero() {
			t.Errorf("request of a call that does not wait = %+v", req)
		}
		copy(req.Args, `{"path":"b"}`)
		req.User, req.Conversation = "bob", "c2"
		return approval.Decision{Verdict: approval.AllowForSession}, nil
	})
	assert.Value(w.Call(as(t.Context(), "ann", "c1"), "files__delete", json.RawMessage(`{"path":"a"}`)))(t)
	w.at(t, `{"path":"a"}`)
	w.says(approval.Ask)
	w.asks(t, as(t.Context(), "bob", "c2"), "files__delete", `{}`)

	w.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		if !req.Approved || req.ID != "" {
			t.Errorf("request of a call that is allowed for the session = %+v", req)
		}
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	if _, err := w.Call(as(t.Context(), "ann", "c1"), "files__delete", nil); err != nil {
		t.Error(err)
	}
}

// A context that ends while somebody decides ends the call, and leaves nothing.
func TestApprovalContext(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w.decides(func(ctx context.Context, _ *registry.ApprovalRequest) (approval.Decision, error) {
		cancel()
		<-ctx.Done()
		return approval.Decision{}, ctx.Err()
	})
	_, err := w.Call(ctx, "files__delete", nil)
	if wantError[*approval.PolicyError](t, err); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not the context's end", err)
	}
	w.says(approval.Ask)
	_, err = w.Call(ctx, "files__delete", nil)
	if wantError[*approval.PolicyError](t, err); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not the context's end", err)
	}
	if waiting := w.Approvals(t.Context()); len(waiting) > 0 {
		t.Errorf("%d calls wait for nobody", len(waiting))
	}
	w.at(t)
}

// A panic of the approver goes to the caller, and the call is not made.
func TestApprovalPanic(t *testing.T) {
	w := newWard(t, approval.Options{})
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) { panic("oh") })
	if v := panicOf(func() { _, _ = w.Call(t.Context(), "files__delete", nil) }); v != "oh" {
		t.Errorf("panic %v", v)
	}
	if waiting := w.Approvals(t.Context()); len(waiting) > 0 {
		t.Errorf("%d calls wait", len(waiting))
	}
	w.at(t)
	w.says(approval.Allow) // nothing is locked
	if _, err := w.Call(t.Context(), "files__delete", nil); err != nil {
		t.Error(err)
	}
}

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}
