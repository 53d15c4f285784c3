package registry_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// The zero Registry, and none, say how one is made: by an error where there is one,
// else by a panic.
func TestZeroRegistry(t *testing.T) {
	const want = "registry: there is no Registry, or it is the zero one: make it with New"
	var r registry.Registry
	ctx := t.Context()
	_, callErr := r.Call(ctx, "x", nil)
	_, resumeErr := r.Approve(ctx, "x", nil)
	_, awaitErr := r.Await(ctx, "x")
	_, replaceErr := r.Replace(registry.Server{Name: "s"}, nil)
	_, previewErr := r.Preview(registry.Server{Name: "s"}, nil)
	_, findErr := r.Find(ctx, "x")
	_, nilErr := (*registry.Registry)(nil).Call(ctx, "x", nil)
	for name, err := range map[string]error{
		"Add": r.Add(nil), "Call": callErr, "Resume": resumeErr, "Refuse": r.Deny(ctx, "x", ""), "Await": awaitErr,
		"Replace": replaceErr, "Preview": previewErr, "Find": findErr, "AddHidden": r.AddHidden(nil), "Call of nil": nilErr,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	assert.Equal(t, mcp.OutcomeOf(callErr), mcp.NotSent, "Call: the outcome")
	for name, call := range map[string]func(){
		"Use":             func() { r.Use() },
		"Remove":          func() { r.Remove("x") },
		"Snapshot":        func() { r.Snapshot() },
		"Callable":        func() { r.Callable(ctx) },
		"IsCallable":      func() { r.IsCallable(ctx, "x") },
		"Resolve":         func() { r.Resolve("x") },
		"Approvals":       func() { r.Approvals(ctx) },
		"EndConversation": func() { r.EndConversation(ctx) },
		"RevokeGrants":    func() { r.RevokeGrants(ctx) },
		"Watch": func() {
			for range r.Watch(ctx) {
				return
			}
		},
		"WatchApprovals": func() {
			for range r.WatchApprovals(ctx) {
				return
			}
		},
	} {
		if got := panicOf(call); got != want {
			t.Errorf("%s: got the panic %q, want %q", name, got, want)
		}
	}
}

// No ledger, as of a registry without one, and the zero one remember nothing.
func TestNoLedger(t *testing.T) {
	for name, l := range map[string]*ledger.Ledger{"nil": registry.New(nil).Ledger(), "zero": {}} {
		if got := l.Pending(); len(got) > 0 {
			t.Errorf("%s: got %d changes that wait, want none", name, len(got))
		}
		if got := l.Entries("s"); len(got) > 0 {
			t.Errorf("%s: got %d entries, want none", name, len(got))
		}
		if got := registry.Verify(l, registry.Server{Name: "s"}, nil); len(got) > 0 {
			t.Errorf("%s: got %d differences, want none", name, len(got))
		}
		for what, err := range map[string]error{
			"Accept": l.Accept(t.Context(), "me", ledger.Change{Server: "s"}),
			"Reject": l.Reject(t.Context(), "me", ledger.Change{Server: "s"}),
			"Forget": l.Forget(t.Context(), "s"),
		} {
			if err == nil || !strings.Contains(err.Error(), "ledger: there is none") {
				t.Errorf("%s: %s: got %v, want an error", name, what, err)
			}
		}
	}
}
