package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// asking returns a registry with a tool that has to be asked for, and a function
// that has a call of it waiting.
func asking(t *testing.T, opts approval.Options, answer string) (*Registry, func(ctx context.Context, n int) string) {
	r := New(&Options{Approvals: opts, Approver: ApproverFunc(func(context.Context, *ApprovalRequest) (approval.Decision, error) {
		return approval.Decision{Verdict: approval.Ask}, nil
	})})
	assert.OK(t, r.Add(MustFunc("tool", "", func(context.Context, map[string]int) (string, error) { return answer, nil })))
	return r, func(ctx context.Context, n int) string {
		t.Helper()
		_, err := r.Call(ctx, "tool", json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)))
		var required *ApprovalRequiredError
		if !errors.As(err, &required) {
			t.Fatal(err)
		}
		return required.Request.ID
	}
}

// idle checks that nothing is left.
func (a *approvals) idle(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.expire(time.Now())
	if n := len(a.byID) + len(a.byCall) + a.waiting.Len() + a.ended.Len(); n != 0 {
		t.Errorf("left: %d by id, %d by call, %d waiting, %d ended", len(a.byID), len(a.byCall), a.waiting.Len(), a.ended.Len())
	}
	if a.held.Total() != (share.Amount{}) || a.kept.Total() != (share.Amount{}) {
		t.Errorf("got %+v held and %+v kept, want nothing", a.held.Total(), a.kept.Total())
	}
}

// However calls end, nothing of them is kept for good.
func TestApprovalsForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ask := asking(t, approval.Options{TTL: time.Minute}, "answer")
		ctx := WithConversation(onbehalf.With(t.Context(), "ann"), "c")
		assert.Value(r.Approve(ctx, ask(ctx, 1), nil))(t)
		assert.OK(t, r.Deny(ctx, ask(ctx, 2), ""))
		ask(ctx, 3)
		r.EndConversation(ctx)
		ask(ctx, 4)
		ask(t.Context(), 5)
		time.Sleep(time.Minute)
		r.Approvals(ctx)
		time.Sleep(time.Minute)
		r.approvals.idle(t)
	})
}

// Outcomes that nobody fetches do not pile up: neither many nor large ones.
func TestApprovalOutcomesAreBounded(t *testing.T) {
	for _, c := range []struct {
		answer   string
		max, end int
	}{
		{"small", 7, 7},
		{strings.Repeat("x", 9<<20), 200, 7}, // 63 MiB
	} {
		r, ask := asking(t, approval.Options{MaxPending: c.max}, c.answer)
		var ids []string
		for n := range 20 {
			ids = append(ids, ask(t.Context(), n))
			assert.Value(r.Approve(t.Context(), ids[n], nil))(t)
		}
		kept := 0
		for i, id := range ids {
			switch _, err := r.Await(t.Context(), id); {
			case err == nil && i >= len(ids)-c.end:
				kept++
			case !errors.As(err, new(*approval.UnknownError)):
				t.Errorf("%d: %v", i, err)
			}
		}
		if kept != c.end || len(r.approvals.byID) != c.end || r.approvals.ended.Len() != c.end {
			t.Errorf("%d outcomes kept, %d known, want %d", kept, len(r.approvals.byID), c.end)
		}
	}
}

// An approval is for one surface and one server, also where the definitions are
// the same.
func TestSubject(t *testing.T) {
	yes := true
	def := &Definition{
		Name: "tool", Alias: "a", Title: "t", Description: "d", InputSchema: []byte("{}"), OutputSchema: []byte("{}"),
		RawAnnotations: []byte("{}"), Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}, Origin: Origin{"s", "x"},
	}
	e := entry{def: def, surface: &ledger.Surface{Hash: "sha256:1"}, server: &Server{Fingerprint: "1"}}
	was := subjectOf(placed(e))
	with := func(edit func(*Definition)) func(*entry) {
		return func(e *entry) {
			e.def = e.def.clone()
			edit(e.def)
		}
	}
	for name, edit := range map[string]func(*entry){
		"fingerprint": func(e *entry) { e.server = &Server{Fingerprint: "2"} },
		"surface":     func(e *entry) { e.surface = &ledger.Surface{Hash: "sha256:2"} },
		"native":      func(e *entry) { e.surface, e.server = nil, nil },
		"trust":       func(e *entry) { e.server = &Server{Fingerprint: "1", Trusted: true} },
		"name":        with(func(d *Definition) { d.Name = "tools" }),
		"alias":       with(func(d *Definition) { d.Alias = "" }),
		"title":       with(func(d *Definition) { d.Title = "" }),
		"description": with(func(d *Definition) { d.Description = "" }),
		"border":      with(func(d *Definition) { d.Title, d.Description = "", "td" }),
		"input":       with(func(d *Definition) { d.InputSchema = []byte("{ }") }),
		"output":      with(func(d *Definition) { d.OutputSchema = nil }),
		"raw hints":   with(func(d *Definition) { d.RawAnnotations = nil }),
		"hint":        with(func(d *Definition) { *d.Annotations.DestructiveHint = false }),
		"no hints":    with(func(d *Definition) { d.Annotations = nil }),
		"result":      with(func(d *Definition) { d.ReturnDirect = true }),
		"origin":      with(func(d *Definition) { d.Origin = Origin{"", "sx"} }),
	} {
		now := e
		edit(&now)
		if subjectOf(placed(now)) == was {
			t.Errorf("another %s is the same", name)
		}
	}
	again := e
	again.def, again.tool = e.def.clone(), nil
	assert.Equal(t, subjectOf(placed(again)), was, "the subject of a copy")
}

// The subject is the same in other programs, also of later releases.
func TestSubjectStays(t *testing.T) {
	got := subjectOf(placed(entry{def: &Definition{Name: "tool", InputSchema: []byte("{}")}}))
	assert.Equal(t, got, "f4a49642d1974301e79d6dd0176bce16643bcd171e4d4100b464477ac6b6bf38")
}

// placed returns an entry as the catalogue has it.
func placed(e entry) *entry { return (&offer{entry: e}).place(nil) }

// Calls that wait are bounded by their size as well as by their number.
func TestApprovalArgumentsAreBounded(t *testing.T) {
	r, _ := asking(t, approval.Options{}, "answer")
	var ids []string
	e := r.Snapshot().find("tool")
	args := make(json.RawMessage, 9<<20)
	call := func(n int) error {
		args[0] = byte(n)
		err := r.approvals.hold(t.Context(), e, args, "")
		var required *ApprovalRequiredError
		if errors.As(err, &required) {
			ids = append(ids, required.Request.ID)
		}
		return err
	}
	for n := range 8 {
		if err := call(n); n == 7 != errors.As(err, new(*approval.DeniedError)) {
			t.Errorf("%d: %v", n, err)
		}
	}
	assert.OK(t, r.Deny(t.Context(), ids[3], ""))
	if err := call(9); !errors.As(err, new(*ApprovalRequiredError)) {
		t.Error(err)
	}
}
