package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// Two processes add to one catalogue at the same time, and find what the other has added.
func TestServers(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		var wg sync.WaitGroup
		for i, d := range []*sqlstore.Database{w.one, w.two, w.one, w.two} {
			s := record.NewStore(d.Store("host"), "servers")
			wg.Go(func() {
				for n := range 5 {
					if _, err := record.Add(t.Context(), s, &record.Record{Name: fmt.Sprint("s", i, n), Command: "run"}); err != nil {
						t.Error(err)
					}
				}
				if _, err := s.Save(t.Context(), "", &record.Record{Name: "taken", Command: "run"}, ""); err != nil && !errors.Is(err, &record.Error{Code: record.CodeNameTaken}) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, d := range []*sqlstore.Database{w.one, w.two} {
			all, err := record.NewStore(d.Store("host"), "servers").Records(t.Context())
			if err != nil || len(all) != 21 {
				t.Errorf("got %d records, %v, want 21", len(all), err)
			}
		}
	})
}

// Two processes keep the status of servers in one database.
func TestStatuses(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		save := func(d *sqlstore.Database, ctx context.Context, name, text string) error {
			return record.NewStatuses(d.Store("host"), "statuses").SaveStatuses(ctx, map[string]record.LastStatus{name: {Status: record.StatusError, Error: text}})
		}
		assert.OK(t, save(w.one, t.Context(), "a", "NUL \x00"))
		assert.OK(t, save(w.two, t.Context(), "b", "it is gone"))
		if err := save(w.two, ended(), "a", "late"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v after the end, want %v", err, context.Canceled)
		}
		all, err := record.NewStatuses(w.one.Store("host"), "statuses").Statuses(t.Context())
		if err != nil || all["a"].Error != "NUL \x00" || all["b"].Error != "it is gone" {
			t.Errorf("got %v, %v, want what both have saved", all, err)
		}
	})
}

// The records of servers are sealed in the database like sessions, and another process that
// has the key learns of their changes.
func TestSealedServers(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		const secret = "canary-7Qx"
		w := p.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		open := func(d *sqlstore.Database) record.Store {
			t.Helper()
			sealed := assert.Value(seal.NewStore(ctx, d.Store("servers"), seal.StaticKey(auth.Secret(make([]byte, seal.KeySize)))))(t)
			return record.NewStore(sealed, "servers")
		}
		here, there := open(w.one), open(w.two)
		assert.Value(record.Add(ctx, here, &record.Record{Name: "a", Command: "run", Env: map[string]config.Secret{"TOKEN": secret}}))(t)
		for name, err := range w.one.Store("servers").Names(ctx, "") {
			assert.OK(t, err)
			r, err := w.one.Store("servers").Load(ctx, name, "")
			if err != nil || bytes.Contains(r.Data, []byte(secret)) || bytes.Contains(r.Data, []byte("TOKEN")) {
				t.Errorf("got the record %q with the secret, %v, want it sealed", name, err)
			}
		}
		words := 0
		for range record.Changes(there)(ctx) {
			all := assert.Value(there.Records(ctx))(t)
			if words++; words > 1 {
				if len(all) != 2 || all[0].Record.Env["TOKEN"].Reveal() != secret {
					t.Errorf("got %v, want both records with the secret", all)
				}
				break
			}
			assert.Value(record.Add(ctx, here, &record.Record{Name: "b", Command: "run"}))(t)
		}
	})
}
