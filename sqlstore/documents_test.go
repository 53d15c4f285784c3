package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/consent/consenttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

type consentsOf struct {
	consent.Store
	twin twin
}

func TestConsents(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		consenttest.Run(t, func(t testing.TB) consent.Store {
			w := p.open(t)
			return consentsOf{w.one.Consents("agent"), w}
		}, func(_ testing.TB, s consent.Store) consent.Store {
			return s.(consentsOf).twin.two.Consents("agent")
		})
	})
}

// ledgerAsConsents is a ledger's store with the error of the other: the two promise
// the same.
type ledgerAsConsents struct {
	ledger.Store
	twin twin
}

func (l ledgerAsConsents) Save(ctx context.Context, data []byte, old string) (string, error) {
	revision, err := l.Store.Save(ctx, data, old)
	if errors.Is(err, ledger.ErrConflict) {
		err = errors.Join(err, consent.ErrConflict)
	}
	return revision, err
}

func TestLedgerStore(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		consenttest.Run(t, func(t testing.TB) consent.Store {
			w := p.open(t)
			return ledgerAsConsents{w.one.Ledger("agent"), w}
		}, func(_ testing.TB, s consent.Store) consent.Store {
			w := s.(ledgerAsConsents).twin
			return ledgerAsConsents{w.two.Ledger("agent"), w}
		})
	})
}

// Ledgers and consents of other names, and of the same, do not mix.
func TestNamesOfDocuments(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		ctx := t.Context()
		names := []string{"", "a", "A", "a'; DROP TABLE x; --", "ä", "%"}
		for _, name := range names {
			if _, err := w.one.Ledger(name).Save(ctx, []byte("ledger "+name), ""); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			if _, err := w.one.Consents(name).Save(ctx, []byte("consents "+name), ""); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		for _, name := range names {
			accepted, _, err := w.two.Ledger(name).Load(ctx, "")
			consents, _, err2 := w.two.Consents(name).Load(ctx, "")
			if string(accepted) != "ledger "+name || string(consents) != "consents "+name || errors.Join(err, err2) != nil {
				t.Errorf("%q: %s, %s, %v, %v", name, accepted, consents, err, err2)
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
		list := func(store ledger.Store, description string) (quarantined int, accepted *ledger.Ledger) {
			accepted, err := ledger.Load(t.Context(), store, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := registry.New(&registry.Options{Ledger: accepted})
			tool := nothing{&registry.Definition{Name: "s__a", Description: description, InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "s", Tool: "a"}}}
			if _, err := r.Replace("s", []registry.Tool{tool}); err != nil {
				t.Fatal(err)
			}
			return len(r.Snapshot().Quarantined()), accepted
		}
		if n, _ := list(w.one.Ledger("x"), "first"); n != 0 {
			t.Errorf("%d are held back at first", n)
		}
		if n, _ := list(w.two.Ledger("x"), "first"); n != 0 {
			t.Errorf("%d are held back though nothing has changed", n)
		}
		if n, _ := list(w.two.Ledger("x"), "second"); n != 1 {
			t.Errorf("%d are held back after a change", n)
		}
	})
}

// Of many who save over one revision one wins.
func TestOneWins(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		old := ""
		for range 5 {
			var mu sync.Mutex
			var won []string
			var wg sync.WaitGroup
			for i := range 8 {
				store := w.one.Ledger("x")
				if i%2 == 1 {
					store = w.two.Ledger("x")
				}
				wg.Go(func() {
					revision, err := store.Save(t.Context(), []byte{byte(i)}, old)
					if err != nil && !errors.Is(err, ledger.ErrConflict) {
						t.Error(err)
					}
					if err == nil {
						mu.Lock()
						won = append(won, revision)
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if len(won) != 1 {
				t.Fatalf("%d have won", len(won))
			}
			old = won[0]
		}
	})
}
