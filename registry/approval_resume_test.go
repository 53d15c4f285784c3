package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// spelled is an object that no re-encoding would keep as it is.
const spelled = `{ "path":"a\u0062", "n": 9007199254740993.00 }`

// What was shown is what runs, whatever others do to the bytes meanwhile.
func TestApprovalArguments(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := t.Context()
	args := []byte(spelled)
	_, err := w.Call(ctx, "files__delete", args)
	asked := wantError[*registry.ApprovalRequiredError](t, err).Request
	if string(asked.Args) != spelled {
		t.Errorf("asked for %s", asked.Args)
	}
	spoil := func(b []byte) {
		for i := range b {
			b[i] = 'x'
		}
	}
	spoil(args)
	spoil(asked.Args)
	spoil(w.Approvals(ctx)[0].Args)
	w.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		if string(req.Args) != spelled {
			t.Errorf("asked again for %s", req.Args)
		}
		spoil(req.Args)
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	// Not sent the first time: what middleware did to the arguments does not count.
	away := true
	w.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			if away {
				spoil(call.Args)
				return nil, mcp.WithOutcome(errors.New("away"), mcp.NotSent)
			}
			return next(ctx, call)
		}
	})
	if _, err := w.Approve(ctx, asked.ID, nil); err == nil || err.Error() != "away" {
		t.Fatal(err)
	}
	away = false
	res, err := w.Approve(ctx, asked.ID, nil)
	if err != nil || textOf(t, res) != "delete done" {
		t.Errorf("%v, %v", res, err)
	}
	w.at(t, spelled)
}

// The call is made as the one who asked for it, whoever answers.
func TestApprovalResumesAsTheUser(t *testing.T) {
	w := newWard(t, approval.Options{})
	var user, conversation string
	w.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, call *registry.Call) (*mcp.CallToolResult, error) {
			user, _ = onbehalf.User(ctx)
			return next(ctx, call)
		}
	})
	w.decides(func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		conversation = req.Conversation
		if u, _ := onbehalf.User(ctx); u != req.User {
			t.Errorf("context of %q, request of %q", u, req.User)
		}
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	asked := w.asks(t, as(t.Context(), "ann", "c1"), "files__delete", `{}`)
	conversation = ""
	assert.Value(w.Approve(registry.WithConversation(t.Context(), "other"), asked.ID, nil))(t)
	if user != "ann" || conversation != "c1" {
		t.Errorf("made as %q in %q", user, conversation)
	}
}

// Nobody sees, answers or awaits the calls of somebody else.
func TestApprovalOfAnotherUser(t *testing.T) {
	w := newWard(t, approval.Options{})
	asked := w.asks(t, as(t.Context(), "ann", "c"), "files__delete", `{}`)
	bob := onbehalf.With(t.Context(), "bob")
	if list := w.Approvals(bob); len(list) > 0 {
		t.Errorf("bob sees %+v", list[0])
	}
	_, err := w.Approve(bob, asked.ID, nil)
	unknown := wantError[*approval.UnknownError](t, err)
	if _, err := w.Approve(bob, "made up", nil); err.Error() != unknown.Error() {
		t.Errorf("bob can tell that the call is there: %v, %v", unknown, err)
	}
	wantError[*approval.UnknownError](t, w.Deny(bob, asked.ID, ""))
	_, err = w.Await(bob, asked.ID)
	wantError[*approval.UnknownError](t, err)
	w.EndConversation(as(t.Context(), "bob", "c"))
	w.EndConversation(as(t.Context(), "ann", "d"))
	w.at(t)
	for _, ctx := range []context.Context{onbehalf.With(t.Context(), "ann"), t.Context(), onbehalf.With(t.Context(), "")} {
		if list := w.Approvals(ctx); len(list) != 1 || list[0].ID != asked.ID {
			t.Errorf("%+v", list)
		}
	}
	if _, err := w.Approve(onbehalf.With(t.Context(), "ann"), asked.ID, nil); err != nil {
		t.Error(err)
	}
	w.at(t, `{}`)
}

// Of a hundred who approve at once, one makes the call, and all who await it get
// the result.
func TestApprovalRunsOnce(t *testing.T) {
	w := newWard(t, approval.Options{})
	for _, args := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		asked := w.asks(t, t.Context(), "files__delete", args)
		var group sync.WaitGroup
		var made atomic.Int32
		start := make(chan struct{})
		for range 100 {
			group.Go(func() {
				<-start
				res, err := w.Approve(t.Context(), asked.ID, nil)
				if err == nil {
					made.Add(1)
					res.Content = nil // the caller's own
					return
				}
				var unknown *approval.UnknownError
				if !errors.As(err, &unknown) || unknown.Reason == "" || unknown.ID != asked.ID || strings.Contains(err.Error(), asked.ID) {
					t.Errorf("%v", err)
				}
			})
			group.Go(func() {
				<-start
				if res, err := w.Await(t.Context(), asked.ID); err != nil || len(res.Content) != 1 {
					t.Errorf("%v, %v", res, err)
				}
			})
		}
		close(start)
		group.Wait()
		assert.Equal(t, made.Load(), 1, "made the call")
		if res, err := w.Await(t.Context(), asked.ID); err != nil || textOf(t, res) != "delete done" {
			t.Errorf("afterwards: %v, %v", res, err)
		}
	}
	w.at(t, `{"n":1}`, `{"n":2}`, `{"n":3}`)
}

// Approving and refusing at once: one of them wins, and the server knows which.
func TestApprovalResumeAgainstRefuse(t *testing.T) {
	w := newWard(t, approval.Options{})
	var want []string
	for range 50 {
		asked := w.asks(t, t.Context(), "files__delete", `{}`)
		var group sync.WaitGroup
		var resumed, refused error
		group.Go(func() { _, resumed = w.Approve(t.Context(), asked.ID, nil) })
		group.Go(func() { refused = w.Deny(t.Context(), asked.ID, "") })
		group.Wait()
		if (resumed == nil) == (refused == nil) {
			t.Fatalf("resumed: %v, refused: %v", resumed, refused)
		}
		if resumed == nil {
			want = append(want, `{}`)
		}
	}
	w.at(t, want...)
}

func TestApprovalRefuse(t *testing.T) {
	w := newWard(t, approval.Options{})
	for reason, want := range map[string]string{
		"":              `calling tool "files__delete" is not allowed: the user refused it`,
		"use the trash": `calling tool "files__delete" is not allowed: the user refused it: use the trash`,
	} {
		asked := w.asks(t, t.Context(), "files__delete", `{}`)
		assert.OK(t, w.Deny(t.Context(), asked.ID, reason))
		_, err := w.Await(t.Context(), asked.ID)
		if wantError[*approval.DeniedError](t, err); err.Error() != want {
			t.Errorf("%v", err)
		}
		_, err = w.Approve(t.Context(), asked.ID, nil)
		wantError[*approval.UnknownError](t, err)
		wantError[*approval.UnknownError](t, w.Deny(t.Context(), asked.ID, ""))
	}
	w.at(t)
}

// An approval is for the tool that was shown, and no other.
func TestApprovalOfAToolThatChanged(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := t.Context()
	tool, _ := w.Snapshot().Lookup("files__delete")
	for name, edit := range map[string]func(*registry.Definition){
		"description": func(d *registry.Definition) { d.Description = "Deletes everything" },
		"title":       func(d *registry.Definition) { d.Title = "Look" },
		"schema":      func(d *registry.Definition) { d.InputSchema = json.RawMessage(`{"type":"object" }`) },
		"annotations": func(d *registry.Definition) { d.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true} },
		"hints":       func(d *registry.Definition) { d.RawAnnotations = json.RawMessage(`{"sideEffectsHint":false}`) },
		"origin":      func(d *registry.Definition) { d.Origin.Tool = "delete_all" },
	} {
		mustReplace(t, w.Registry, "files", tool)
		asked := w.asks(t, ctx, "files__delete", `{}`)
		other, err := registry.With(tool, edit)
		assert.OK(t, err)
		mustReplace(t, w.Registry, "files", other)
		_, err = w.Approve(ctx, asked.ID, &registry.ApproveOptions{ForSession: true})
		if stale := wantError[*approval.StaleError](t, err); stale.Tool != "files__delete" {
			t.Errorf("%s: %+v", name, stale)
		}
		_, err = w.Await(ctx, asked.ID)
		wantError[*approval.StaleError](t, err)

		// Asked anew, nothing is left of before.
		again := w.asks(t, ctx, "files__delete", `{}`)
		if again.ID == asked.ID {
			t.Errorf("%s: the same request", name)
		}
		// And a call that waits is replaced by what the tool is now.
		mustReplace(t, w.Registry, "files", tool)
		if third := w.asks(t, ctx, "files__delete", `{}`); third.ID == again.ID {
			t.Errorf("%s: the request for another tool", name)
		} else if err := w.Deny(ctx, third.ID, ""); err != nil {
			t.Error(err)
		}
		_, err = w.Approve(ctx, again.ID, nil)
		wantError[*approval.UnknownError](t, err)
	}
	w.at(t)
}

// So is one of another server that the configuration calls by the same name.
func TestApprovalOfAnotherServer(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := t.Context()
	tools := w.Snapshot().Tools()
	from := func(fingerprint string) {
		t.Helper()
		assert.Value(w.Replace(registry.Server{Name: "files", Fingerprint: fingerprint}, tools))(t)
	}
	from("one")
	w.allowForSession(t, ctx, "files__delete")
	asked := w.asks(t, ctx, "files__move", `{}`)
	from("two")
	_, err := w.Approve(ctx, asked.ID, nil)
	wantError[*approval.StaleError](t, err)
	if w.free(t, ctx, "files__delete") {
		t.Error("the grant holds for another server")
	}
	w.at(t, `{"for":"session"}`)
}

// A tool that was quarantined since then is not called, and the approval holds
// for when it is what it was again.
func TestApprovalOfAQuarantinedTool(t *testing.T) {
	r := registry.New(&registry.Options{Ledger: ledger.New(nil), Approver: registry.ApproverFunc(askAll)})
	ctx := t.Context()
	mustReplace(t, r, "files", serverTool("files", "delete", ""))
	_, err := r.Call(ctx, "files__delete", nil)
	asked := wantError[*registry.ApprovalRequiredError](t, err).Request
	mustReplace(t, r, "files", serverTool("files", "delete", " everything"))
	_, err = r.Approve(ctx, asked.ID, nil)
	if held := wantError[*registry.QuarantinedError](t, err); held.Name != "files__delete" {
		t.Errorf("%+v", held)
	}
	mustReplace(t, r, "files", serverTool("files", "delete", ""))
	if res, err := r.Approve(ctx, asked.ID, nil); err != nil || textOf(t, res) != "files__delete" {
		t.Errorf("%v, %v", res, err)
	}
}

// What was not sent goes on waiting; what was sent is over.
func TestApprovalOutcomes(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := t.Context()
	asked := w.asks(t, ctx, "files__delete", `{}`)
	waits := func() {
		t.Helper()
		if list := w.Approvals(ctx); len(list) != 1 || list[0].ID != asked.ID {
			t.Fatalf("%d calls wait", len(list))
		}
	}

	// The server is away.
	assert.OK(t, w.client.Close())
	if _, err := w.Approve(ctx, asked.ID, nil); !errors.Is(err, mcp.ErrClosed) || mcp.OutcomeOf(err) != mcp.NotSent {
		t.Fatal(err)
	}
	waits()
	// So are its tools.
	mustReplace(t, w.Registry, "files")
	_, err := w.Approve(ctx, asked.ID, nil)
	wantError[*registry.UnknownToolError](t, err)
	waits()
	// Another one that the name could be taken for is none of them.
	mustReplace(t, w.Registry, "files", serverTool("files", "Delete", ""))
	_, err = w.Approve(ctx, asked.ID, nil)
	wantError[*registry.UnknownToolError](t, err)
	waits()
	w.connect(t)
	// The context has ended.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := w.Approve(ended, asked.ID, nil); !errors.Is(err, context.Canceled) || mcp.OutcomeOf(err) != mcp.NotSent {
		t.Fatal(err)
	}
	waits()
	// Nobody knows whether it is allowed.
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Allow}, errors.New("the office is closed")
	})
	_, err = w.Approve(ctx, asked.ID, nil)
	wantError[*approval.PolicyError](t, err)
	waits()
	w.decides(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) { panic("oh") })
	if v := panicOf(func() { _, _ = w.Approve(ctx, asked.ID, nil) }); v != "oh" {
		t.Errorf("panic %v", v)
	}
	waits()
	w.at(t)

	// Sent, but the caller goes before there is an answer.
	w.says(approval.Ask)
	w.arrived = make(chan struct{})
	leaving, cancel := context.WithCancel(ctx)
	resumed := make(chan error)
	go func() {
		_, err := w.Approve(leaving, asked.ID, nil)
		resumed <- err
	}()
	<-w.arrived
	cancel()
	if err := <-resumed; !errors.Is(err, context.Canceled) || mcp.OutcomeOf(err) != mcp.Unknown {
		t.Errorf("%v, outcome %v", err, mcp.OutcomeOf(err))
	}
	_, err = w.Approve(ctx, asked.ID, nil)
	wantError[*approval.UnknownError](t, err)
	if _, err := w.Await(ctx, asked.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("Await: %v", err)
	}
	w.at(t, `{}`)
}

// A context that has ended calls nothing, whatever the tool thinks of contexts,
// and allows nothing for the session.
func TestApprovalUnderAnEndedContext(t *testing.T) {
	w := newWard(t, approval.Options{})
	calls := 0
	mustAdd(t, w.Registry, &callingTool{native("heedless"), func(context.Context) (*mcp.CallToolResult, error) {
		calls++
		return textResult("done"), nil
	}})
	asked := w.asks(t, t.Context(), "heedless", `{}`)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Approve(ended, asked.ID, &registry.ApproveOptions{ForSession: true})
	if !errors.Is(err, context.Canceled) || mcp.OutcomeOf(err) != mcp.NotSent || calls != 0 {
		t.Errorf("%v after %d calls", err, calls)
	}
	if w.free(t, t.Context(), "heedless") {
		t.Error("allowed for the session")
	}
}

// A policy that was tightened meanwhile wins over the approval.
func TestApprovalDeniedByNow(t *testing.T) {
	for _, v := range []approval.Verdict{approval.Deny, 9} {
		w := newWard(t, approval.Options{})
		asked := w.asks(t, t.Context(), "files__delete", `{}`)
		w.says(v)
		_, err := w.Approve(t.Context(), asked.ID, &registry.ApproveOptions{ForSession: true})
		wantError[*approval.DeniedError](t, err)
		_, err = w.Await(t.Context(), asked.ID)
		wantError[*approval.DeniedError](t, err)
		_, err = w.Approve(t.Context(), asked.ID, nil)
		wantError[*approval.UnknownError](t, err)
		w.says(approval.Ask)
		w.asks(t, t.Context(), "files__delete", `{}`) // nothing was granted
		w.at(t)
	}
}

// The approver can tell that it is asked again about a call that was approved.
func TestApprovalAskedAgain(t *testing.T) {
	w := newWard(t, approval.Options{})
	asked := w.asks(t, t.Context(), "files__delete", `{}`)
	var seen *registry.ApprovalRequest
	w.decides(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		seen = req
		return approval.Decision{Verdict: approval.AllowForSession}, nil
	})
	assert.Value(w.Approve(t.Context(), asked.ID, nil))(t)
	if seen.ID != asked.ID || !seen.Approved || asked.Approved || seen.Reason != "because" || seen.Asked != asked.Asked || seen.Expires != asked.Expires {
		t.Errorf("%+v", seen)
	}
	w.says(approval.Ask) // what the approver allowed for the session holds
	if _, err := w.Call(t.Context(), "files__delete", nil); err != nil {
		t.Error(err)
	}
}

// A tool that panics, or finds fault with its arguments, does not get the same
// call a second time, and who awaits it is told.
func TestApprovalOfAFaultyTool(t *testing.T) {
	w := newWard(t, approval.Options{})
	ctx := t.Context()
	calls := 0
	mustAdd(t, w.Registry,
		&callingTool{native("panics"), func(context.Context) (*mcp.CallToolResult, error) { calls++; panic("oh") }},
		&callingTool{native("nests"), func(ctx context.Context) (*mcp.CallToolResult, error) {
			return w.Call(ctx, "files__delete", nil)
		}},
		registry.MustFunc("strict", "", func(_ context.Context, in struct{ N int }) (int, error) { calls++; return in.N, nil }),
	)

	asked := w.asks(t, ctx, "panics", `{}`)
	if v := panicOf(func() { _, _ = w.Approve(ctx, asked.ID, nil) }); v != "oh" {
		t.Errorf("panic %v", v)
	}
	_, err := w.Await(ctx, asked.ID)
	if err == nil || mcp.OutcomeOf(err) != mcp.Unknown {
		t.Errorf("%v", err)
	}
	_, err = w.Approve(ctx, asked.ID, nil)
	wantError[*approval.UnknownError](t, err)

	asked = w.asks(t, ctx, "strict", `{"N":"one"}`)
	_, err = w.Approve(ctx, asked.ID, nil)
	wantError[*registry.ArgumentsError](t, err)
	_, err = w.Await(ctx, asked.ID)
	wantError[*registry.ArgumentsError](t, err)

	asked = w.asks(t, ctx, "nests", `{}`)
	_, err = w.Approve(ctx, asked.ID, nil)
	inner := wantError[*registry.ApprovalRequiredError](t, err)
	if _, err := w.Await(ctx, asked.ID); !errors.Is(err, inner) {
		t.Errorf("%v", err)
	}
	assert.Equal(t, calls, 1, "calls")
	w.at(t)
}

// A callingTool is a Tool that does what it is told.
type callingTool struct {
	*plainTool
	call func(context.Context) (*mcp.CallToolResult, error)
}

func (t *callingTool) Call(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
	return t.call(ctx)
}
