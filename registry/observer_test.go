// Tests of observer.go and observe.go: what observers see.

package registry_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A watcher notes what it observes, one line each.
type watcher struct {
	mu   sync.Mutex
	all  []registry.Observation
	seen []string
}

func (w *watcher) observe(_ context.Context, o *registry.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	origin, outcome := "-", fmt.Sprintf("%d bytes", o.ResultBytes)
	if o.Tool != nil {
		origin = strings.TrimPrefix(o.Tool.Origin.Server+"/"+cmp.Or(o.Tool.Origin.Tool, o.Tool.Name), "/")
	}
	if o.IsError {
		outcome += ", an error"
	}
	if o.Err != nil {
		outcome = fmt.Sprintf("%T", o.Err)
	}
	line := fmt.Sprintf("%s %s = %s %s: %s", o.Kind, o.Name, origin, string(o.Arguments), outcome)
	if o.Relayed {
		line += ", relayed"
	}
	if o.Passed {
		line += ", passed"
	}
	w.all, w.seen = append(w.all, *o), append(w.seen, line)
}

func (w *watcher) last(t *testing.T) registry.Observation {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.False(t, len(w.all) == 0, "nothing was observed")
	return w.all[len(w.all)-1]
}

func (w *watcher) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.seen, "\n")
	w.seen = nil
	return text
}

func (w *watcher) expect(t *testing.T, want ...string) {
	t.Helper()
	assert.Equal(t, w.take(), strings.Join(want, "\n"), "observed")
}

// Every way that a call can go is observed, once.
func TestObserve(t *testing.T) {
	r := registry.New(&registry.Options{
		Ledger: ledger.New(nil),
		Approver: registry.ApproverFunc(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
			switch req.Tool.Origin.Tool {
			case "never":
				return approval.Decision{Verdict: approval.Deny}, nil
			case "unclear":
				return approval.Decision{}, errors.New("no idea")
			}
			return approval.Decision{Verdict: approval.Allow}, nil
		}),
	})
	assert.Value(toolset.New(r, nil))(t)
	broken := registry.MustFunc("broken", "Breaks", func(context.Context, struct{}) (string, error) { panic("ouch") })
	mustAdd(t, r, broken, registry.MustFunc("fails", "Fails", func(context.Context, struct{}) (string, error) { return "", errors.New("no") }))
	typed := serverTool("s", "typed", "")
	typed.def.InputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	mustReplace(t, r, "s", serverTool("s", "never", ""), serverTool("s", "unclear", ""), serverTool("s", "works", ""), typed, serverTool("s", "changed", ""))
	mustReplace(t, r, "s", serverTool("s", "never", ""), serverTool("s", "unclear", ""), serverTool("s", "works", ""), typed, serverTool("s", "changed", "in a new way"))

	var w watcher
	stop := r.Observe(w.observe)
	for _, test := range []struct{ name, args, want string }{
		{"s__works", `{"a":1}`, `call s__works = s/works {"a":1}: 8 bytes, passed`},
		{"S Works", ``, `call S Works = s/works {}: 8 bytes, passed`},
		{"call_tool", `{"name":"s__works","arguments":{"b":2}}`, `call s__works = s/works {"b":2}: 8 bytes, relayed, passed`},
		{"call_tool", `{"name":"s__nothing"}`, `call s__nothing = - {}: *registry.UnknownToolError, relayed`},
		{"call_tool", `{"name":3}`, `call call_tool = call_tool {"name":3}: *registry.ArgumentsError`},
		{"nothing", `{"a":1}`, `call nothing = - {"a":1}: *registry.UnknownToolError`},
		{"s__works", `[`, `call s__works = s/works [: *registry.ArgumentsError`},
		{"s__typed", `{"n":"x"}`, `call s__typed = s/typed {"n":"x"}: *registry.ArgumentsError`},
		{"s__never", `{}`, `call s__never = s/never {}: *approval.DeniedError`},
		{"s__unclear", `{}`, `call s__unclear = s/unclear {}: *approval.PolicyError`},
		{"s__changed", `{}`, `call s__changed = s/changed {}: *registry.QuarantinedError`},
		{"broken", `{}`, `call broken = broken {}: *registry.PanicError, passed`},
		{"fails", `{}`, `call fails = fails {}: 2 bytes, an error, passed`},
	} {
		_, err := r.Call(inConversation(t.Context(), "ann", "talk"), test.name, json.RawMessage(test.args))
		w.expect(t, test.want)
		o := w.last(t)
		assert.Equal(t, o.Err, err, "observed error")
		assert.Equal(t, fmt.Sprintf("%s %s %q %t %t", o.User, o.Conversation, o.Approval, o.Began.IsZero(), o.Duration < 0), `ann talk "" false false`, "observed")
	}
	stop()
	stop()
	assert.Value(r.Call(t.Context(), "s__works", nil))(t)
	w.expect(t, "")
}

// What waits for approval can be followed to its end.
func TestObserveApprovals(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	var seen watcher
	w.Observe(seen.observe)
	ctx := inConversation(t.Context(), "ann", "talk")
	one := w.mustAsk(t, ctx, "files__delete", `{"path":"a"}`)
	who := func() string {
		o := seen.last(t)
		assert.Equal(t, o.Approval, one.ID, "observed")
		return fmt.Sprintf("%s in %s, %t", o.User, o.Conversation, o.Tool != nil)
	}
	assert.Equal(t, who(), "ann in talk, true")
	assert.Fails(t, assert.Err(w.Approve(inConversation(t.Context(), "bob", ""), one.ID, nil)), "bob resumed ann's call")
	assert.Equal(t, who(), " in , false", "bob's attempt shows")
	assert.Value(w.Approve(t.Context(), one.ID, nil))(t)
	assert.Equal(t, who(), "ann in talk, true")
	two := w.mustAsk(t, ctx, "files__move", `{}`)
	assert.OK(t, w.Deny(ctx, two.ID, "no"))
	assert.Fails(t, w.Deny(ctx, two.ID, "no"), "refused twice")
	seen.expect(t,
		`call files__delete = files/delete {"path":"a"}: *registry.ApprovalRequiredError`,
		`approve  = - : *approval.UnknownError`,
		`approve files__delete = files/delete {"path":"a"}: 11 bytes, passed`,
		`call files__move = files/move {}: *registry.ApprovalRequiredError`,
		`deny files__move = files/move {}: 0 bytes`,
		`deny  = - : *approval.UnknownError`,
	)
}

// An observer changes nothing: neither the call, nor what others observe, nor by a
// panic what the caller gets.
func TestObserversChangeNothing(t *testing.T) {
	r := newRegistry(t, registry.MustFunc("echo", "Says it again", func(_ context.Context, in struct{ Text string }) (string, error) { return in.Text, nil }))
	var after watcher
	r.Observe(nil)
	r.Observe(func(_ context.Context, o *registry.Observation) {
		clear(o.Arguments)
		o.Err, o.Name = errors.New("made up"), "made up"
		panic("ouch")
	})
	r.Observe(after.observe)
	r.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		res, err := next(ctx, call)
		clear(call.Args) // which it must not do
		return res, err
	}))
	args := json.RawMessage(`{"Text":"hello"}`)
	assert.Equal(t, textOf(t, assert.Value(r.Call(t.Context(), "echo", args))(t)), "hello")
	after.expect(t, `call echo = echo {"Text":"hello"}: 5 bytes, passed`)
}

// A panic of middleware is seen, and goes on.
func TestObserveBrokenMiddleware(t *testing.T) {
	r := newRegistry(t, native("a"))
	r.Use(around(func(context.Context, *registry.Call, registry.Handler) (*mcp.CallToolResult, error) { panic("ouch") }))
	var w watcher
	r.Observe(w.observe)
	assert.Equal(t, panicOf(func() { _, _ = r.Call(t.Context(), "a", nil) }), "ouch", "recovered")
	w.expect(t, `call a = a {}: *errors.errorString, passed`)
}

// Observers come and go while calls are made.
func TestObserveConcurrently(t *testing.T) {
	r := newRegistry(t, native("a"))
	var all watcher
	r.Observe(all.observe)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				stop := r.Observe(func(context.Context, *registry.Observation) {})
				assert.Equal(t, assert.Err(r.Call(t.Context(), "a", nil)), nil)
				stop()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, len(all.all), 400, "calls were observed, of 400")
}
