package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// Two processes decide about launches in one database.
func TestConsents(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		var books []*consent.Book
		for _, d := range []*sqlstore.Database{w.one, w.two} {
			b, err := consent.Load(t.Context(), d.Store("agent"), "consents", nil)
			if err != nil {
				t.Fatal(err)
			}
			books = append(books, b)
		}
		l := &consent.Launch{Server: "s", Project: "/p", Transport: "stdio", Path: "/bin/s"}
		for i, verdict := range []consent.Verdict{consent.Approved, consent.Rejected} {
			if err := books[i].Decide(t.Context(), "ann", l, verdict); err != nil {
				t.Fatal(err)
			}
			for _, b := range books {
				if got, err := b.Verdict(t.Context(), l); err != nil || got != verdict {
					t.Errorf("got the verdict %q, %v, want %q", got, err, verdict)
				}
			}
		}
	})
}

// Records of other namespaces, and of other names, do not mix.
func TestNamespaces(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		ctx := t.Context()
		namespaces, names := []string{"", "a", "A", "a'; DROP TABLE x; --", "ä", "%"}, []string{"ledger", "consents"}
		for _, namespace := range namespaces {
			for _, name := range names {
				if _, err := w.one.Store(namespace).Save(ctx, name, []byte(name+" of "+namespace), ""); err != nil {
					t.Errorf("%q: %v", namespace, err)
				}
			}
		}
		for _, namespace := range namespaces {
			found := 0
			for name, err := range w.two.Store(namespace).Names(ctx, "") {
				if err != nil {
					t.Fatal(err)
				}
				found++
				r, err := w.two.Store(namespace).Load(ctx, name, "")
				if want := name + " of " + namespace; err != nil || string(r.Data) != want {
					t.Errorf("%q: got %s, %v, want %s", namespace, r.Data, err, want)
				}
			}
			if found != len(names) {
				t.Errorf("%q: got %d names, want %d", namespace, found, len(names))
			}
		}
	})
}

type nothing struct{ def *registry.Definition }

func (n nothing) Definition() *registry.Definition { return n.def }

func (n nothing) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// A ledger in a database holds back for one process what has changed for another.
func TestLedger(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		list := func(d *sqlstore.Database, description string) (quarantined int, accepted *ledger.Ledger) {
			accepted, err := ledger.Load(t.Context(), d.Store("x"), "ledger", nil)
			if err != nil {
				t.Fatal(err)
			}
			r := registry.New(&registry.Options{Ledger: accepted})
			tool := nothing{&registry.Definition{Name: "s__a", Description: description, InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "s", Tool: "a"}}}
			if _, err := r.Replace(registry.Server{Name: "s"}, []registry.Tool{tool}); err != nil {
				t.Fatal(err)
			}
			return len(r.Snapshot().Quarantined()), accepted
		}
		if n, _ := list(w.one, "first"); n != 0 {
			t.Errorf("%d are held back at first", n)
		}
		if n, _ := list(w.two, "first"); n != 0 {
			t.Errorf("%d are held back though nothing has changed", n)
		}
		if n, _ := list(w.two, "second"); n != 1 {
			t.Errorf("%d are held back after a change", n)
		}
	})
}

// A tool that one process rejects is called by no other a moment later, though its server lists
// nothing new.
func TestRejectedElsewhere(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		accepted, err := ledger.Load(ctx, w.one.Store("x"), "ledger", nil)
		if err != nil {
			t.Fatal(err)
		}
		r := registry.New(&registry.Options{Ledger: accepted})
		tool := nothing{&registry.Definition{Name: "s__a", InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "s", Tool: "a"}}}
		if _, err := r.Replace(registry.Server{Name: "s"}, []registry.Tool{tool}); err != nil {
			t.Fatal(err)
		}
		following := make(chan error, 1)
		go func() { following <- accepted.Follow(ctx) }()
		elsewhere, err := ledger.Load(ctx, w.two.Store("x"), "ledger", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, changed := accepted.Generation()
		e := elsewhere.Entries("s")[0]
		if err := elsewhere.Reject(ctx, "ann", ledger.Change{Server: e.Server, Tool: e.Tool, Hash: e.Hash}); err != nil {
			t.Fatal(err)
		}
		<-changed
		if n := len(r.Snapshot().Quarantined()); n != 1 {
			t.Errorf("got %d tools that are held back, want 1", n)
		}
		cancel()
		if err := <-following; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v from Follow, want %v", err, context.Canceled)
		}
	})
}
