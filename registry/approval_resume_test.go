package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	w := newApprovalServer(t, approval.Options{})
	ctx := t.Context()
	args := []byte(spelled)
	asked := wantError[*registry.ApprovalRequiredError](t, assert.Err(w.Call(ctx, "files__delete", args))).Request
	assert.Equal(t, string(asked.Args), spelled, "asked for")
	spoil := func(b []byte) {
		for i := range b {
			b[i] = 'x'
		}
	}
	spoil(args)
	spoil(asked.Args)
	spoil(w.Approvals(ctx)[0].Args)
	w.setApprover(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		assert.Equal(t, string(req.Args), spelled, "asked again for")
		spoil(req.Args)
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	// Not sent the first time: what middleware did to the arguments does not count.
	away := true
	w.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		if away {
			spoil(call.Args)
			return nil, mcp.WithOutcome(errors.New("away"), mcp.NotSent)
		}
		return next(ctx, call)
	}))
	assert.Equal(t, fmt.Sprint(assert.Err(w.Approve(ctx, asked.ID, nil))), "away")
	away = false
	assert.Equal(t, textOf(t, assert.Value(w.Approve(ctx, asked.ID, nil))(t)), "delete done")
	w.wantReached(t, spelled)
}

// The call is made as the one who asked for it, whoever answers.
func TestApprovalResumesAsTheUser(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	var user, conversation string
	w.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		user, _ = onbehalf.User(ctx)
		return next(ctx, call)
	}))
	w.setApprover(func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		conversation = req.Conversation
		u, _ := onbehalf.User(ctx)
		assert.Equal(t, u, req.User, "context")
		return approval.Decision{Verdict: approval.Ask}, nil
	})
	asked := w.mustAsk(t, inConversation(t.Context(), "ann", "c1"), "files__delete", `{}`)
	conversation = ""
	assert.Value(w.Approve(registry.WithConversation(t.Context(), "other"), asked.ID, nil))(t)
	assert.Equal(t, user+" in "+conversation, "ann in c1", "the call is made as")
}

// Nobody sees, answers or awaits the calls of another person.
func TestApprovalOfAnotherUser(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	asked := w.mustAsk(t, inConversation(t.Context(), "ann", "c"), "files__delete", `{}`)
	bob := onbehalf.With(t.Context(), "bob")
	assert.Equal(t, len(w.Approvals(bob)), 0, "calls that bob sees")
	unknown := wantError[*approval.UnknownError](t, assert.Err(w.Approve(bob, asked.ID, nil)))
	assert.Equal(t, fmt.Sprint(assert.Err(w.Approve(bob, "made up", nil))), unknown.Error(), "what bob is told of a call")
	wantError[*approval.UnknownError](t, w.Deny(bob, asked.ID, ""))
	wantError[*approval.UnknownError](t, assert.Err(w.Await(bob, asked.ID)))
	w.EndConversation(inConversation(t.Context(), "bob", "c"))
	w.EndConversation(inConversation(t.Context(), "ann", "d"))
	w.wantReached(t)
	for _, ctx := range []context.Context{onbehalf.With(t.Context(), "ann"), t.Context(), onbehalf.With(t.Context(), "")} {
		assert.Equal(t, assert.Only(t, w.Approvals(ctx)).ID, asked.ID, "id")
	}
	assert.Value(w.Approve(onbehalf.With(t.Context(), "ann"), asked.ID, nil))(t)
	w.wantReached(t, `{}`)
}

// Of a hundred who approve at once, one makes the call, and all who await it get
// the result.
func TestApprovalRunsOnce(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	for _, args := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		asked := w.mustAsk(t, t.Context(), "files__delete", args)
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
				assert.True(t, errors.As(err, &unknown) && unknown.Reason != "" && unknown.ID == asked.ID, "an UnknownError with a reason")
				assert.Lacks(t, err.Error(), asked.ID)
			})
			group.Go(func() {
				<-start
				res, err := w.Await(t.Context(), asked.ID)
				assert.True(t, err == nil && len(res.Content) == 1, "what is awaited has a block")
			})
		}
		close(start)
		group.Wait()
		assert.Equal(t, made.Load(), 1, "made the call")
		assert.Equal(t, textOf(t, assert.Value(w.Await(t.Context(), asked.ID))(t)), "delete done", "afterwards")
	}
	w.wantReached(t, `{"n":1}`, `{"n":2}`, `{"n":3}`)
}

// Approving and refusing at once: one of them wins, and the server knows which.
func TestApprovalResumeAgainstRefuse(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	var want []string
	for range 50 {
		asked := w.mustAsk(t, t.Context(), "files__delete", `{}`)
		var group sync.WaitGroup
		var resumed, refused error
		group.Go(func() { _, resumed = w.Approve(t.Context(), asked.ID, nil) })
		group.Go(func() { refused = w.Deny(t.Context(), asked.ID, "") })
		group.Wait()
		assert.True(t, (resumed == nil) != (refused == nil), "one of them wins")
		if resumed == nil {
			want = append(want, `{}`)
		}
	}
	w.wantReached(t, want...)
}

func TestApprovalRefuse(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	for reason, want := range map[string]string{
		"":              `calling tool "files__delete" is not allowed: the user refused it`,
		"use the trash": `calling tool "files__delete" is not allowed: the user refused it: use the trash`,
	} {
		asked := w.mustAsk(t, t.Context(), "files__delete", `{}`)
		assert.OK(t, w.Deny(t.Context(), asked.ID, reason))
		assert.Equal(t, wantError[*approval.DeniedError](t, assert.Err(w.Await(t.Context(), asked.ID))).Error(), want)
		wantError[*approval.UnknownError](t, assert.Err(w.Approve(t.Context(), asked.ID, nil)))
		wantError[*approval.UnknownError](t, w.Deny(t.Context(), asked.ID, ""))
	}
	w.wantReached(t)
}

// An approval is for the tool that was shown, and no other.
func TestApprovalOfAToolThatChanged(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
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
		asked := w.mustAsk(t, ctx, "files__delete", `{}`)
		mustReplace(t, w.Registry, "files", assert.Value(registry.With(tool, edit))(t))
		assert.Equal(t, wantError[*approval.StaleError](t, assert.Err(w.Approve(ctx, asked.ID, &registry.ApproveOptions{ForConversation: true}))).Tool, "files__delete", "%s", name)
		wantError[*approval.StaleError](t, assert.Err(w.Await(ctx, asked.ID)))

		// Asked anew, nothing is left of before.
		again := w.mustAsk(t, ctx, "files__delete", `{}`)
		assert.False(t, again.ID == asked.ID, "%s", name)
		// And a call that waits is replaced by what the tool is now.
		mustReplace(t, w.Registry, "files", tool)
		third := w.mustAsk(t, ctx, "files__delete", `{}`)
		assert.False(t, third.ID == again.ID, "%s: the request for another tool", name)
		assert.OK(t, w.Deny(ctx, third.ID, ""))
		wantError[*approval.UnknownError](t, assert.Err(w.Approve(ctx, again.ID, nil)))
	}
	w.wantReached(t)
}

// So is one of another server that the configuration calls by the same name.
func TestApprovalOfAnotherServer(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := t.Context()
	tools := w.Snapshot().Tools()
	assert.Value(w.Replace(registry.Server{Name: "files", Fingerprint: "one"}, tools))(t)
	w.allowForConversation(t, ctx, "files__delete")
	asked := w.mustAsk(t, ctx, "files__move", `{}`)
	assert.Value(w.Replace(registry.Server{Name: "files", Fingerprint: "two"}, tools))(t)
	wantError[*approval.StaleError](t, assert.Err(w.Approve(ctx, asked.ID, nil)))
	assert.False(t, w.isAllowed(t, ctx, "files__delete"), "the grant holds for another server")
	w.wantReached(t, `{"for":"conversation"}`)
}

// A tool that was quarantined since then is not called, and the approval holds
// for when it is what it was again.
func TestApprovalOfAQuarantinedTool(t *testing.T) {
	r := registry.New(&registry.Options{Ledger: ledger.New(nil), Approver: registry.ApproverFunc(askAll)})
	ctx := t.Context()
	mustReplace(t, r, "files", serverTool("files", "delete", ""))
	asked := wantError[*registry.ApprovalRequiredError](t, assert.Err(r.Call(ctx, "files__delete", nil))).Request
	mustReplace(t, r, "files", serverTool("files", "delete", " everything"))
	assert.Equal(t, wantError[*registry.QuarantinedError](t, assert.Err(r.Approve(ctx, asked.ID, nil))).Name, "files__delete", "name")
	mustReplace(t, r, "files", serverTool("files", "delete", ""))
	assert.Equal(t, textOf(t, assert.Value(r.Approve(ctx, asked.ID, nil))(t)), "files__delete")
}

// What was not sent goes on waiting; what was sent is over.
func TestApprovalOutcomes(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := t.Context()
	asked := w.mustAsk(t, ctx, "files__delete", `{}`)
	// still approves in vain, and checks that the call goes on waiting.
	still := func(ctx context.Context) error {
		t.Helper()
		_, err := w.Approve(ctx, asked.ID, nil)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
		assert.Equal(t, assert.Only(t, w.Approvals(t.Context())).ID, asked.ID, "the call that waits")
		return err
	}
	// The server is away.
	assert.OK(t, w.client.Close())
	assert.Is(t, still(ctx), mcp.ErrClosed)
	// So are its tools.
	mustReplace(t, w.Registry, "files")
	assert.As[*registry.UnknownToolError](t, still(ctx))
	// Another one that the name could be taken for is none of them.
	mustReplace(t, w.Registry, "files", serverTool("files", "Delete", ""))
	assert.As[*registry.UnknownToolError](t, still(ctx))
	w.connect(t)
	// The context has ended.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	assert.Is(t, still(ended), context.Canceled)
	// Whether it is allowed is not known.
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Allow}, errors.New("the policy cannot be read")
	})
	assert.As[*approval.PolicyError](t, still(ctx))
	w.setApprover(func(context.Context, *registry.ApprovalRequest) (approval.Decision, error) { panic("oh") })
	assert.Equal(t, panicOf(func() { _, _ = w.Approve(ctx, asked.ID, nil) }), "oh", "the panic")
	assert.Equal(t, assert.Only(t, w.Approvals(ctx)).ID, asked.ID, "the call that waits")
	w.wantReached(t)

	// Sent, but the caller goes before there is an answer.
	w.setVerdict(approval.Ask)
	w.arrived = make(chan struct{})
	leaving, cancel := context.WithCancel(ctx)
	resumed := make(chan error)
	go func() {
		_, err := w.Approve(leaving, asked.ID, nil)
		resumed <- err
	}()
	<-w.arrived
	cancel()
	err := <-resumed
	assert.Is(t, err, context.Canceled)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown, "the outcome")
	wantError[*approval.UnknownError](t, assert.Err(w.Approve(ctx, asked.ID, nil)))
	assert.Is(t, assert.Err(w.Await(ctx, asked.ID)), context.Canceled, "Await")
	w.wantReached(t, `{}`)
}

// A context that has ended calls nothing, whatever the tool thinks of contexts,
// and allows nothing for the conversation.
func TestApprovalUnderAnEndedContext(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	calls := 0
	mustAdd(t, w.Registry, &recordedTool{native("heedless").def, func(_ context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
		calls++
		return textResult("done"), nil
	}})
	asked := w.mustAsk(t, t.Context(), "heedless", `{}`)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Approve(ended, asked.ID, &registry.ApproveOptions{ForConversation: true})
	assert.Is(t, err, context.Canceled)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "outcome")
	assert.Equal(t, calls, 0)
	assert.False(t, w.isAllowed(t, t.Context(), "heedless"), "allowed for the conversation")
}

// A policy that was tightened meanwhile wins over the approval.
func TestApprovalDeniedByNow(t *testing.T) {
	for _, v := range []approval.Verdict{approval.Deny, 9} {
		w := newApprovalServer(t, approval.Options{})
		asked := w.mustAsk(t, t.Context(), "files__delete", `{}`)
		w.setVerdict(v)
		wantError[*approval.DeniedError](t, assert.Err(w.Approve(t.Context(), asked.ID, &registry.ApproveOptions{ForConversation: true})))
		wantError[*approval.DeniedError](t, assert.Err(w.Await(t.Context(), asked.ID)))
		wantError[*approval.UnknownError](t, assert.Err(w.Approve(t.Context(), asked.ID, nil)))
		w.setVerdict(approval.Ask)
		w.mustAsk(t, t.Context(), "files__delete", `{}`) // nothing was granted
		w.wantReached(t)
	}
}

// The approver can tell that it is asked again about a call that was approved.
func TestApprovalAskedAgain(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	asked := w.mustAsk(t, t.Context(), "files__delete", `{}`)
	var seen *registry.ApprovalRequest
	w.setApprover(func(_ context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		seen = req
		return approval.Decision{Verdict: approval.AllowForConversation}, nil
	})
	assert.Value(w.Approve(t.Context(), asked.ID, nil))(t)
	assert.Equal(t, fmt.Sprint(seen.ID, seen.Approved, seen.Reason, seen.Asked, seen.Expires), fmt.Sprint(asked.ID, true, "because", asked.Asked, asked.Expires), "the request")
	assert.False(t, asked.Approved, "the former request is approved")
	w.setVerdict(approval.Ask) // what the approver allowed for the conversation holds
	assert.Value(w.Call(t.Context(), "files__delete", nil))(t)
}

// A tool that panics, or finds fault with its arguments, does not get the same
// call a second time, and who awaits it is told.
func TestApprovalOfAFaultyTool(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := t.Context()
	calls := 0
	mustAdd(t, w.Registry,
		&recordedTool{native("panics").def, func(_ context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) { calls++; panic("oh") }},
		&recordedTool{native("nests").def, func(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
			return w.Call(ctx, "files__delete", nil)
		}},
		registry.MustFunc("strict", "", func(_ context.Context, in struct{ N int }) (int, error) { calls++; return in.N, nil }),
	)

	asked := w.mustAsk(t, ctx, "panics", `{}`)
	assert.Equal(t, panicOf(func() { _, _ = w.Approve(ctx, asked.ID, nil) }), "oh", "the panic")
	_, err := w.Await(ctx, asked.ID)
	assert.Fails(t, err)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown, "outcome")
	wantError[*approval.UnknownError](t, assert.Err(w.Approve(ctx, asked.ID, nil)))

	asked = w.mustAsk(t, ctx, "strict", `{"N":"one"}`)
	wantError[*registry.ArgumentsError](t, assert.Err(w.Approve(ctx, asked.ID, nil)))
	wantError[*registry.ArgumentsError](t, assert.Err(w.Await(ctx, asked.ID)))

	asked = w.mustAsk(t, ctx, "nests", `{}`)
	_, err = w.Approve(ctx, asked.ID, nil)
	assert.Is(t, assert.Err(w.Await(ctx, asked.ID)), wantError[*registry.ApprovalRequiredError](t, err))
	assert.Equal(t, calls, 1, "calls")
	w.wantReached(t)
}
