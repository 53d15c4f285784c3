package sqlstore_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
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
			books = append(books, assert.Value(consent.Load(t.Context(), d.Store("agent"), "consents"))(t))
		}
		l := &consent.Launch{Server: "s", Project: "/p", Transport: "stdio", Path: "/bin/s"}
		for i, verdict := range []consent.Verdict{consent.Approved, consent.Rejected} {
			assert.OK(t, books[i].Decide(t.Context(), "ann", l, verdict))
			for _, b := range books {
				assert.Equal(t, assert.Value(b.Verdict(t.Context(), l))(t), verdict, "verdict")
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
				assert.Value(w.one.Store(namespace).Save(ctx, name, []byte(name+" of "+namespace), ""))(t)
			}
		}
		for _, namespace := range namespaces {
			found := 0
			for name, err := range w.two.Store(namespace).Names(ctx, "") {
				assert.OK(t, err)
				found++
				wantRecord(t, w.two.Store(namespace), name, name+" of "+namespace)
			}
			assert.Equal(t, found, len(names), "%q: names", namespace)
		}
	})
}

type nothing struct{ def *registry.Definition }

func (n nothing) Definition() *registry.Definition { return n.def }

func (n nothing) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// listTool returns a registry that accepts a tool by a ledger in a database, and the ledger.
func listTool(t *testing.T, d *sqlstore.Database, description string) (*registry.Registry, *ledger.Ledger) {
	t.Helper()
	accepted := assert.Value(ledger.Load(t.Context(), d.Store("x"), "ledger", nil))(t)
	r := registry.New(&registry.Options{Ledger: accepted})
	tool := nothing{&registry.Definition{Name: "s__a", Description: description, InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "s", Tool: "a"}}}
	assert.Value(r.Replace(registry.Server{Name: "s"}, []registry.Tool{tool}))(t)
	return r, accepted
}

// A ledger in a database holds back for one process what has changed for another.
func TestLedger(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		for _, test := range []struct {
			d           *sqlstore.Database
			description string
			quarantined int
		}{{w.one, "first", 0}, {w.two, "first", 0}, {w.two, "second", 1}} {
			r, _ := listTool(t, test.d, test.description)
			assert.Equal(t, len(r.Snapshot().Quarantined()), test.quarantined, "%s: tools that are held back", test.description)
		}
	})
}

// A tool that one process rejects is called by no other a moment later, though its server lists
// nothing new.
func TestRejectedElsewhere(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		r, accepted := listTool(t, w.one, "")
		following := make(chan error, 1)
		go func() { following <- accepted.Follow(ctx) }()
		elsewhere := assert.Value(ledger.Load(ctx, w.two.Store("x"), "ledger", nil))(t)
		_, changed := accepted.Generation()
		e := elsewhere.Entries("s")[0]
		assert.OK(t, elsewhere.Reject(ctx, "ann", ledger.Change{Server: e.Server, Tool: e.Tool, Hash: e.Hash}))
		<-changed
		assert.Equal(t, len(r.Snapshot().Quarantined()), 1, "tools that are held back")
		cancel()
		assert.Is(t, <-following, context.Canceled, "Follow")
	})
}
