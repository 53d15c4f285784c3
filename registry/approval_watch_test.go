// Tests of approval_resume.go and approval_pending.go: calls that wait, and for how long.

package registry_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// The end of a conversation ends what waits in it, and does not disturb what
// runs.
func TestEndConversation(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := inConversation(t.Context(), "ann", "c1")
	asked := w.mustAsk(t, ctx, "files__delete", `{}`)
	other := w.mustAsk(t, inConversation(t.Context(), "ann", "c2"), "files__delete", `{}`)
	w.EndConversation(ctx)
	wantError[*approval.DeniedError](t, assert.Err(w.Await(ctx, asked.ID)))
	wantError[*approval.UnknownError](t, assert.Err(w.Approve(ctx, asked.ID, nil)))
	assert.Equal(t, assert.Only(t, w.Approvals(ctx)).ID, other.ID, "calls wait")
	w.wantReached(t)

	// A call that ran when the conversation ended does not wait again.
	asked = w.mustAsk(t, ctx, "files__delete", `{}`)
	away, isAway := errors.New("away"), false
	w.Use(around(func(_ context.Context, _ *registry.Call, _ registry.Handler) (*mcp.CallToolResult, error) {
		w.EndConversation(ctx)
		if isAway = !isAway; isAway {
			return nil, mcp.WithOutcome(away, mcp.NotSent)
		}
		return textResult("done"), nil
	}))
	assert.Is(t, assert.Err(w.Approve(ctx, asked.ID, nil)), away)
	wantError[*approval.DeniedError](t, assert.Err(w.Await(ctx, asked.ID)))
	asked = w.mustAsk(t, ctx, "files__delete", `{}`)
	assert.Equal(t, textOf(t, assert.Value(w.Approve(ctx, asked.ID, nil))(t)), "done")
	w.wantReached(t)
}

// Models repeat themselves. The user is asked once.
func TestApprovalOfTheSameCall(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx := inConversation(t.Context(), "ann", "c1")
	asked := w.mustAsk(t, ctx, "files__delete", `{"a":1}`)
	assert.Equal(t, w.mustAsk(t, ctx, "files__delete", `{"a":1}`).ID, asked.ID, "asked twice")
	ids := []string{asked.ID}
	for _, other := range []*registry.ApprovalRequest{
		w.mustAsk(t, ctx, "files__delete", `{"a":2}`),
		w.mustAsk(t, ctx, "files__move", `{"a":1}`),
		w.mustAsk(t, inConversation(t.Context(), "bob", "c1"), "files__delete", `{"a":1}`),
		w.mustAsk(t, inConversation(t.Context(), "ann", "c2"), "files__delete", `{"a":1}`),
	} {
		assert.False(t, slices.Contains(ids, other.ID), "%s is taken for another call", other.Args)
		assert.Between(t, len(other.ID), 22, math.MaxInt, "bytes of the id")
		assert.Equal(t, strings.Trim(other.ID, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), "", "id")
		ids = append(ids, other.ID)
	}
	var listed []string
	for _, req := range w.Approvals(t.Context()) {
		listed = append(listed, req.ID)
	}
	assert.List(t, listed, ids)

	// While it is being made it is still the same call; afterwards it is a new one.
	w.Use(around(func(c context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
		assert.Equal(t, w.mustAsk(t, ctx, "files__delete", `{"a":1}`).ID, asked.ID, "asked twice")
		assert.Equal(t, len(w.Approvals(t.Context())), len(ids)-1, "a call that runs is listed as one that waits")
		return next(c, call)
	}))
	assert.Value(w.Approve(ctx, asked.ID, nil))(t)
	assert.False(t, w.mustAsk(t, ctx, "files__delete", `{"a":1}`).ID == asked.ID, "one approval for two calls")
}

// No user keeps the others out, and all together are bounded.
func TestMaxPending(t *testing.T) {
	w := newApprovalServer(t, approval.Options{MaxPending: 8})
	full := func(ctx context.Context) {
		t.Helper()
		wantError[*approval.DeniedError](t, assert.Err(w.Call(ctx, "files__delete", []byte(`{"one":"too many"}`))))
	}
	var first *registry.ApprovalRequest
	for _, user := range []string{"ann", "bob"} {
		ctx := inConversation(t.Context(), user, "c")
		first = w.mustAsk(t, ctx, "files__delete", `{"n":1}`)
		w.mustAsk(t, inConversation(t.Context(), user, "d"), "files__delete", `{"n":2}`)
		full(ctx)
		w.mustAsk(t, ctx, "files__delete", `{"n":1}`) // the same as before takes no room
	}
	for n := range 4 {
		w.mustAsk(t, t.Context(), "files__delete", fmt.Sprintf(`{"n":%d}`, n))
	}
	full(t.Context())
	full(inConversation(t.Context(), "eve", "c"))
	assert.OK(t, w.Deny(t.Context(), first.ID, ""))
	w.mustAsk(t, inConversation(t.Context(), "eve", "c"), "files__delete", `{}`)
	full(t.Context())
	assert.Equal(t, len(w.Approvals(t.Context())), 8, "calls wait")
	w.wantReached(t)
}

// A call that nobody approves in time is never made.
func TestApprovalExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newApprovalServer(t, approval.Options{TTL: time.Minute})
		ctx := t.Context()
		begun := time.Now()
		asked := w.mustAsk(t, ctx, "files__delete", `{}`)
		assert.True(t, asked.Asked.Equal(begun) && asked.Expires.Equal(begun.Add(time.Minute)), "the times of the request")
		var awaited sync.WaitGroup
		for range 3 {
			awaited.Go(func() {
				wantError[*approval.DeniedError](t, assert.Err(w.Await(ctx, asked.ID)))
				assert.Equal(t, time.Since(begun), time.Minute, "the wait")
			})
		}
		time.Sleep(time.Minute - time.Nanosecond)
		assert.Equal(t, len(w.Approvals(ctx)), 1, "calls wait")
		time.Sleep(time.Nanosecond)
		assert.Equal(t, len(w.Approvals(ctx)), 0, "calls wait after their time")
		assert.False(t, wantError[*approval.UnknownError](t, assert.Err(w.Approve(ctx, asked.ID, nil))).Reason == "", "reason")
		wantError[*approval.UnknownError](t, w.Deny(ctx, asked.ID, ""))
		awaited.Wait()
		wantError[*approval.DeniedError](t, assert.Err(w.Await(ctx, asked.ID))) // late, and still told
		time.Sleep(time.Minute)
		wantError[*approval.UnknownError](t, assert.Err(w.Await(ctx, asked.ID)))
		assert.False(t, w.mustAsk(t, ctx, "files__delete", `{}`).ID == asked.ID, "the same request")
		w.wantReached(t)
	})
}

// A call that runs when its time is over runs to its end, and is awaited.
func TestApprovalExpiresWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newApprovalServer(t, approval.Options{TTL: time.Minute})
		ctx := t.Context()
		sent := true
		w.Use(around(func(ctx context.Context, call *registry.Call, next registry.Handler) (*mcp.CallToolResult, error) {
			time.Sleep(time.Hour)
			if !sent {
				return nil, mcp.WithOutcome(errors.New("away"), mcp.NotSent)
			}
			return next(ctx, call)
		}))
		asked := w.mustAsk(t, ctx, "files__delete", `{}`)
		other := w.mustAsk(t, ctx, "files__delete", `{"expires":"behind it"}`)
		var group sync.WaitGroup
		group.Go(func() {
			res, err := w.Await(ctx, asked.ID)
			assert.Equal(t, fmt.Sprintln(result.Text(res), err), "delete done <nil>\n", "what is awaited")
		})
		group.Go(func() { wantError[*approval.DeniedError](t, assert.Err(w.Await(ctx, other.ID))) })
		assert.Value(w.Approve(ctx, asked.ID, nil))(t)
		group.Wait()
		w.wantReached(t, `{}`)

		// It was not sent, and now it is too late to try again.
		sent = false
		asked = w.mustAsk(t, ctx, "files__delete", `{}`)
		group.Go(func() { wantError[*approval.DeniedError](t, assert.Err(w.Await(ctx, asked.ID))) })
		assert.Equal(t, mcp.OutcomeOf(assert.Err(w.Approve(ctx, asked.ID, nil))), mcp.NotSent, "outcome")
		group.Wait()
		wantError[*approval.UnknownError](t, assert.Err(w.Approve(ctx, asked.ID, nil)))
		w.wantReached(t, `{}`)
	})
}

// Who does not wait any longer goes, and the call stays.
func TestAwaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newApprovalServer(t, approval.Options{})
		asked := w.mustAsk(t, t.Context(), "files__delete", `{}`)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.Await(ctx, asked.ID)
		assert.Is(t, err, context.DeadlineExceeded)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown, "outcome")
		assert.Value(w.Approve(t.Context(), asked.ID, nil))(t)
		w.wantReached(t, `{}`)
	})
}

// A page that watches sees each change, and is not woken by those of others.
func TestWatchApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newApprovalServer(t, approval.Options{TTL: time.Minute})
		ann, cancel := context.WithCancel(inConversation(t.Context(), "ann", "c"))
		var mu sync.Mutex
		var seen []string
		var watcher sync.WaitGroup
		watcher.Go(func() {
			for list := range w.WatchApprovals(ann) {
				line := ""
				for _, req := range list {
					line += string(req.Args)
				}
				mu.Lock()
				seen = append(seen, line)
				mu.Unlock()
			}
		})
		step := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			assert.List(t, seen, want, "seen")
			seen = nil
		}
		step("")
		one := w.mustAsk(t, ann, "files__delete", `{"n":1}`)
		step(`{"n":1}`)
		w.mustAsk(t, ann, "files__delete", `{"n":1}`)
		w.mustAsk(t, inConversation(t.Context(), "bob", "c"), "files__delete", `{"n":9}`)
		step()
		time.Sleep(time.Second)
		two := w.mustAsk(t, ann, "files__delete", `{"n":2}`)
		step(`{"n":1}{"n":2}`)
		assert.OK(t, w.Deny(ann, two.ID, ""))
		step(`{"n":1}`)
		assert.Value(w.Approve(ann, one.ID, nil))(t)
		step("")
		w.mustAsk(t, ann, "files__delete", `{"n":3}`)
		time.Sleep(time.Second)
		w.mustAsk(t, ann, "files__delete", `{"n":4}`)
		step(`{"n":3}`, `{"n":3}{"n":4}`)
		time.Sleep(time.Hour) // each expires at its time, with nobody at the registry
		step(`{"n":4}`, "")
		cancel()
		watcher.Wait()
		w.mustAsk(t, inConversation(t.Context(), "ann", "c"), "files__delete", `{}`)
		step()
		for range w.WatchApprovals(t.Context()) {
			break
		}
	})
}

// What a watcher does with what it gets is its own affair.
func TestWatchApprovalsYieldsCopies(t *testing.T) {
	w := newApprovalServer(t, approval.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.mustAsk(t, ctx, "files__delete", `{"n":1}`)
	seen := 0
	for list := range w.WatchApprovals(ctx) {
		if seen++; seen == 3 {
			break
		}
		copy(list[len(list)-1].Args, "XXXXXXX")
		clear(list)
		w.mustAsk(t, ctx, "files__delete", fmt.Sprintf(`{"n":%d}`, seen+1))
	}
	for i, req := range w.Approvals(ctx) {
		assert.Equal(t, string(req.Args), fmt.Sprintf(`{"n":%d}`, i+1), "args")
	}
}
