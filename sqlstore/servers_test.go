package sqlstore_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
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
			return serversOf{w.one.Servers("host"), w}
		}, &recordtest.Options{Reopen: func(_ testing.TB, s record.Store) record.Store {
			return s.(serversOf).twin.two.Servers("host")
		}})
	})
}

// Catalogues have nothing in common.
func TestCatalogues(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		for _, catalogue := range []string{"", "a", "A", "a' OR 1=1 --"} {
			store := w.one.Servers(catalogue)
			revision, err := store.Save(t.Context(), "", &record.Record{Name: "s", Command: "run", Description: catalogue}, "")
			if err != nil {
				t.Fatalf("%q: %v", catalogue, err)
			}
			if _, err := store.Save(t.Context(), "s", &record.Record{Name: "t", Command: "run", Description: catalogue}, revision); err != nil {
				t.Errorf("%q: %v", catalogue, err)
			}
			all, err := w.two.Servers(catalogue).Records(t.Context())
			if err != nil || len(all) != 1 || all[0].Record.Description != catalogue {
				t.Errorf("%q: %v, %v", catalogue, all, err)
			}
			if err := w.two.Statuses(catalogue).SaveStatuses(t.Context(), map[string]record.LastStatus{"s": {Status: catalogue + "!"}}); err != nil {
				t.Error(err)
			}
			if got, err := w.one.Statuses(catalogue).Statuses(t.Context()); err != nil || len(got) != 1 || got["s"].Status != catalogue+"!" {
				t.Errorf("%q: %v, %v", catalogue, got, err)
			}
		}
	})
}

// Of two who take one name at once, one gets it, and the other learns why not.
func TestRenameAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		for range 5 {
			var wg sync.WaitGroup
			var mu sync.Mutex
			won := 0
			for i, name := range []string{"a", "b"} {
				store := w.one.Servers("host")
				if i == 1 {
					store = w.two.Servers("host")
				}
				revision, err := store.Save(t.Context(), "", &record.Record{Name: name, Command: "run"}, "")
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					_, err := store.Save(t.Context(), name, &record.Record{Name: "c", Command: "run"}, revision)
					if err != nil && !errors.Is(err, &record.Error{Code: record.CodeNameTaken}) {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					}
				})
			}
			wg.Wait()
			if won != 1 {
				t.Fatalf("%d have the name", won)
			}
			all, err := w.one.Servers("host").Records(t.Context())
			if err != nil || len(all) != 2 {
				t.Fatalf("%v, %v", all, err)
			}
			for _, s := range all {
				if err := w.one.Servers("host").Delete(t.Context(), s.Record.Name, s.Revision); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// No secret of a record is in an error.
func TestErrorsShowNoSecret(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, _ := p.fresh(t)
		d := mustNew(t, db, p.dialect, &sqlstore.Options{Prefix: prefix})
		r := &record.Record{Name: "a", Command: "run", Env: map[string]config.Secret{"TOKEN": "hidden-canary"}}
		for _, ctx := range []context.Context{t.Context(), ended()} { // there are no tables
			for _, name := range []string{"", "a"} {
				_, err := d.Servers("").Save(ctx, name, r, record.Revision(name))
				if err == nil || strings.Contains(err.Error(), "hidden-canary") {
					t.Errorf("Save: %v", err)
				}
			}
		}
	})
}

func TestStatuses(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		one, two := w.one.Statuses("host"), w.two.Statuses("host")
		if all, err := one.Statuses(t.Context()); err != nil || len(all) != 0 || all == nil {
			t.Errorf("before anything was saved: %v, %v", all, err)
		}
		now := time.Now().UTC().Round(0)
		want := map[string]record.LastStatus{
			"a": {Status: record.StatusConnected, Connected: now, Tools: 3},
			"b": {Status: record.StatusError, Error: "it is gone"},
			"c": {Status: record.StatusDisconnected},
		}
		expect := func() {
			t.Helper()
			for _, s := range []record.StatusStore{one, two} {
				if got, err := s.Statuses(t.Context()); err != nil || !maps.Equal(got, want) {
					t.Errorf("kept %v, %v, want %v", got, err, want)
				}
			}
		}
		save := func(s record.StatusStore, changes map[string]record.LastStatus) {
			t.Helper()
			if err := s.SaveStatuses(t.Context(), changes); err != nil {
				t.Fatal(err)
			}
		}
		save(one, want)
		expect()
		save(two, map[string]record.LastStatus{"a": {}, "b": {Status: record.StatusError, Error: "NUL \x00"}, "none": {}})
		delete(want, "a")
		want["b"] = record.LastStatus{Status: record.StatusError, Error: "NUL \uFFFD"}
		expect()
		if err := one.SaveStatuses(ended(), want); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
		var wg sync.WaitGroup
		for _, s := range []record.StatusStore{one, two, one, two} {
			wg.Go(func() {
				for range 5 {
					if err := s.SaveStatuses(t.Context(), map[string]record.LastStatus{"c": {Status: "x"}, "b": {Status: "x"}, "z": {Status: "x"}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}
