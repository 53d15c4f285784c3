package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// A user whose calls wait takes a quarter of the memory at most, and is told so.
func TestHeldBytesAreShared(t *testing.T) {
	r, ask := asking(t, approval.Options{}, "answer")
	eve := onbehalf.With(t.Context(), "eve")
	e := r.Snapshot().find("tool")
	args := make(json.RawMessage, 5<<20)
	var err error
	for n := 0; n < 20 && (n == 0 || errors.As(err, new(*ApprovalRequiredError))); n++ {
		args[0] = byte(n)
		err = r.approvals.hold(eve, e, args, "")
	}
	if !errors.As(err, new(*approval.DeniedError)) || mcp.OutcomeOf(err) != mcp.NotSent {
		t.Errorf("the call of a user without room: got %v, want an approval.DeniedError that was not sent", err)
	}
	assert.Equal(t, len(r.Approvals(eve)), 3, "calls of 5 MiB that wait for one user")
	ask(onbehalf.With(t.Context(), "ann"), 1)
	args[0] = 'a'
	if err := r.approvals.hold(onbehalf.With(t.Context(), "ann"), e, args, ""); !errors.As(err, new(*ApprovalRequiredError)) {
		t.Errorf("a large call of another user: got %v, want an ApprovalRequiredError", err)
	}
}

// The error says whose share is full, the bound, and the cure.
func TestPendingLimitError(t *testing.T) {
	r, ask := asking(t, approval.Options{MaxPending: 8}, "answer")
	call := func(ctx context.Context) (limit *approval.LimitError) {
		t.Helper()
		_, err := r.Call(ctx, "tool", json.RawMessage(`{"n":100}`))
		if !errors.As(err, &limit) {
			t.Fatalf("got %v, want an approval.LimitError", err)
		}
		if said := result.Text(ErrorResult(err)); said != err.Error() {
			t.Errorf("a model is told %q, want %q", said, err)
		}
		return limit
	}
	eve := onbehalf.With(t.Context(), "eve")
	ask(eve, 1)
	ask(eve, 2)
	got := call(eve)
	assert.Equal(t, *got, (approval.LimitError{Tool: "tool", User: "eve", MaxCalls: 2, MaxBytes: 16 << 20}))
	want := `calling tool "tool" is not allowed: the calls of this user that wait for approval leave no room for this one (at most 2 calls and 16 MiB); approve or refuse some of them first, or give it smaller arguments`
	if got.Error() != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for n := range 6 {
		ask(t.Context(), n)
	}
	if got, want := call(onbehalf.With(t.Context(), "ann")), (approval.LimitError{Tool: "tool", MaxCalls: 8, MaxBytes: 64 << 20}); *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}

// What a call keeps alive while it waits counts: the definition of its tool, too,
// which its server may have replaced by then.
func TestHeldCallsCountTheirDefinitions(t *testing.T) {
	r, _ := asking(t, approval.Options{}, "answer")
	var err error
	for n := range 8 {
		e := placed(entry{def: &Definition{Name: "tool", Description: strings.Repeat("x", 9<<20+n)}})
		err = r.approvals.hold(t.Context(), e, json.RawMessage(fmt.Sprint(n)), "")
	}
	if !errors.As(err, new(*approval.DeniedError)) {
		t.Errorf("the eighth call with a definition of 9 MiB: got %v, want an approval.DeniedError", err)
	}
}

// One user, or one server, who fills the outcomes that are kept pushes out none of
// another.
func TestOutcomesAreShared(t *testing.T) {
	for name, test := range map[string]struct {
		flood, other func(context.Context) (context.Context, string) // with the server of the tool
		answer       string
	}{
		"a user, by number": {
			flood: func(ctx context.Context) (context.Context, string) { return onbehalf.With(ctx, "eve"), "a" },
			other: func(ctx context.Context) (context.Context, string) { return onbehalf.With(ctx, "ann"), "a" },
		},
		"a user, by size": {
			flood:  func(ctx context.Context) (context.Context, string) { return onbehalf.With(ctx, "eve"), "a" },
			other:  func(ctx context.Context) (context.Context, string) { return onbehalf.With(ctx, "ann"), "a" },
			answer: strings.Repeat("x", 12<<20),
		},
		"a server, by number": {
			flood: func(ctx context.Context) (context.Context, string) { return ctx, "a" },
			other: func(ctx context.Context) (context.Context, string) { return ctx, "b" },
		},
		"a server, for one user": {
			flood: func(ctx context.Context) (context.Context, string) { return onbehalf.With(ctx, "ann"), "a" },
			other: func(ctx context.Context) (context.Context, string) { return onbehalf.With(ctx, "ann"), "b" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApprovals(ApproverFunc(nil), approval.Options{MaxPending: 20})
			over := func(ctx context.Context, server string, n int, answer string) string {
				t.Helper()
				e := placed(entry{def: &Definition{Name: server + "__tool", Origin: Origin{server, "tool"}}})
				err := a.hold(ctx, e, json.RawMessage(fmt.Sprint(n)), "")
				var required *ApprovalRequiredError
				if !errors.As(err, &required) {
					t.Fatal(err)
				}
				p, _, err := a.claim(ctx, required.Request.ID)
				assert.OK(t, err)
				a.finish(p, done, resultOf(textBlock(answer)), nil)
				return required.Request.ID
			}
			ctx, server := test.other(t.Context())
			id := over(ctx, server, 0, "small")
			last := ""
			for n := range 50 {
				ctx, server := test.flood(t.Context())
				last = over(ctx, server, n, test.answer)
			}
			if _, known := a.byID[id]; !known {
				t.Error("the outcome of another was pushed out")
			}
			if _, known := a.byID[last]; !known {
				t.Error("the last outcome is not kept, though older ones can make room")
			}
			if got := a.ended.Len(); got > 20 {
				t.Errorf("got %d outcomes, want at most 20", got)
			}
		})
	}
}

// A user takes back none of what others have allowed for their sessions, however much
// they allow.
func TestGrantsAreShared(t *testing.T) {
	a := newApprovals(ApproverFunc(nil), approval.Options{MaxGrants: 20})
	const s = "subject"
	ann := grantKey{"ann", "c", "tool"}
	a.grant(ann, s, 0)
	last := grantKey{}
	for n := range 100 {
		last = grantKey{"eve", fmt.Sprint(n), "tool"}
		a.grant(last, s, 0)
	}
	if ok, _ := a.granted(ann, s); !ok {
		t.Error("the grant of another user is gone")
	}
	if ok, _ := a.granted(last, s); !ok {
		t.Error("the last grant is not there")
	}
	assert.Equal(t, len(a.grants.byKey), 6, "grants")
	for n := range 100 {
		a.grant(grantKey{"", fmt.Sprint(n), "tool"}, s, 0)
	}
	assert.Equal(t, len(a.grants.byKey), 20, "grants of nobody and others")
}

// A negative limit means that there is none.
func TestNegativeApprovalLimitsAreNone(t *testing.T) {
	a := newApprovals(ApproverFunc(nil), approval.Options{TTL: -1, MaxPending: -1, MaxGrants: -1})
	if a.opts.TTL < 100*365*24*time.Hour || a.opts.MaxPending != math.MaxInt || a.opts.MaxGrants != math.MaxInt {
		t.Errorf("got %+v, want no limit", a.opts)
	}
}
