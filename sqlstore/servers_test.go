package sqlstore_test

import (
	"context"
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
					assert.Value(record.Add(t.Context(), s, &config.Server{Name: fmt.Sprint("s", i, n), Command: "run"}))(t)
				}
				if _, err := s.Save(t.Context(), "", &config.Server{Name: "taken", Command: "run"}, ""); err != nil {
					assert.Is(t, err, &record.Error{Code: record.CodeNameTaken})
				}
			})
		}
		wg.Wait()
		for _, d := range []*sqlstore.Database{w.one, w.two} {
			assert.Equal(t, len(assert.Value(record.NewStore(d.Store("host"), "servers").Records(t.Context()))(t)), 21, "records")
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
		assert.Is(t, save(w.two, ended(), "a", "late"), context.Canceled)
		all := assert.Value(record.NewStatuses(w.one.Store("host"), "statuses").Statuses(t.Context()))(t)
		assert.Equal(t, all["a"].Error+", "+all["b"].Error, "NUL \x00, it is gone", "errors")
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
		assert.Value(record.Add(ctx, here, &config.Server{Name: "a", Command: "run", Env: map[string]config.Secret{"TOKEN": secret}}))(t)
		for name, err := range w.one.Store("servers").Names(ctx, "") {
			assert.OK(t, err)
			r := assert.Value(w.one.Store("servers").Load(ctx, name, ""))(t)
			assert.Lacks(t, string(r.Data), secret, "sealed record")
			assert.Lacks(t, string(r.Data), "TOKEN", "sealed record")
		}
		words := 0
		for range record.Changes(there)(ctx) {
			all := assert.Value(there.Records(ctx))(t)
			if words++; words > 1 {
				assert.Equal(t, len(all), 2, "records")
				assert.Equal(t, all[0].Record.Env["TOKEN"].Reveal(), secret, "secret")
				break
			}
			assert.Value(record.Add(ctx, here, &config.Server{Name: "b", Command: "run"}))(t)
		}
	})
}
