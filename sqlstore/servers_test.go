package sqlstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/host/record/recordtest"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

type serversOf struct {
	record.Store
	twin twin
}

// Every promise of a store of records, between two connections to one database.
func TestServers(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		recordtest.Run(t, func(t testing.TB) record.Store {
			w := p.open(t)
			return serversOf{record.NewStore(w.one.Store("host"), "servers"), w}
		}, &recordtest.Options{Reopen: func(_ testing.TB, s record.Store) record.Store {
			return record.NewStore(s.(serversOf).twin.two.Store("host"), "servers")
		}})
	})
}

// Two processes keep the status of servers in one database.
func TestStatuses(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		save := func(d *sqlstore.Database, ctx context.Context, name, text string) error {
			return record.NewStatuses(d.Store("host"), "statuses").SaveStatuses(ctx, map[string]record.LastStatus{name: {Status: record.StatusError, Error: text}})
		}
		if err := save(w.one, t.Context(), "a", "NUL \x00"); err != nil {
			t.Fatal(err)
		}
		if err := save(w.two, t.Context(), "b", "it is gone"); err != nil {
			t.Fatal(err)
		}
		if err := save(w.two, ended(), "a", "late"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v after the end, want %v", err, context.Canceled)
		}
		all, err := record.NewStatuses(w.one.Store("host"), "statuses").Statuses(t.Context())
		if err != nil || all["a"].Error != "NUL \x00" || all["b"].Error != "it is gone" {
			t.Errorf("got %v, %v, want what both have saved", all, err)
		}
	})
}
