// Tests of store_kept.go and changes.go: stores that are damaged, shared or change.

package record_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// What is not sound is an error, never an empty catalogue, and is not replaced. The error
// shows no secret.
func TestDamagedStore(t *testing.T) {
	for _, damaged := range []string{
		"", "{", "[]", "{}", `{"version": 2, "servers": []}`,
		`{"version": 1, "servers": [{"id": "~1", "revision": "r", "record": {"name": "a", "env": "` + longSecret + `"}}]}`,
	} {
		kept := storage.NewMemory()
		assert.Value(kept.Save(t.Context(), "servers", []byte(damaged), ""))(t)
		s := record.NewStore(kept, "servers")
		_, err := s.Records(t.Context())
		assert.Fails(t, err, "%s", damaged)
		assert.Lacks(t, fmt.Sprint(err), longSecret, "%s", damaged)
		assert.Fails(t, assert.Err(s.Save(t.Context(), "", &config.Server{Name: "a", Command: "x"}, "")), "%s: got no error of Save", damaged)
		assert.Equal(t, string(assert.Value(kept.Load(t.Context(), "servers", ""))(t).Data), damaged)
	}
}

// Of what was deleted the last 100 are kept, and no ID is given twice.
func TestDeletedAreBounded(t *testing.T) {
	s := record.NewMemoryStore()
	ids := map[string]bool{}
	for range 110 {
		added := assert.Value(record.Add(t.Context(), s, &config.Server{Name: "a", Command: "x"}))(t)
		assert.False(t, ids[added.ID], "the ID %q twice", added.ID)
		ids[added.ID] = true
		assert.Value(record.Remove(t.Context(), s, added.ID))(t)
	}
	assert.Equal(t, len(assert.Value(s.Deleted(t.Context()))(t)), 100)
}

// Of two who take one name at once, one gets it, and the other learns why not.
func TestRenameAtOnce(t *testing.T) {
	kept := storage.NewMemory()
	for range 5 {
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, name := range []string{"a", "b"} {
			s := record.NewStore(kept, "servers")
			revision := assert.Value(s.Save(t.Context(), "", &config.Server{Name: name, Command: "run"}, ""))(t)
			wg.Go(func() { _, errs[i] = s.Save(t.Context(), name, &config.Server{Name: "c", Command: "run"}, revision) })
		}
		wg.Wait()
		taken := &record.Error{Code: record.CodeNameTaken}
		assert.False(t, errors.Is(errs[0], taken) == errors.Is(errs[1], taken), "%v and %v", errs[0], errs[1])
		s := record.NewStore(kept, "servers")
		all, err := s.Records(t.Context())
		assert.OK(t, err)
		assert.Equal(t, len(all), 2, "records")
		for _, r := range all {
			assert.OK(t, s.Delete(t.Context(), r.Record.Name, r.Revision))
		}
	}
}

// No secret of a record is in an error of its store.
func TestStoreErrorsShowNoSecret(t *testing.T) {
	kept := storage.NewMemory()
	s := record.NewStore(kept, "servers")
	assert.OK(t, kept.Close())
	r := &config.Server{Name: "a", Command: "run", Env: map[string]config.Secret{"TOKEN": longSecret}}
	_, err := s.Save(t.Context(), "", r, "")
	assert.Is(t, err, storage.ErrClosed)
	assert.Lacks(t, fmt.Sprint(err), longSecret)
	assert.Fails(t, assert.Err(record.NewStore(nil, "servers").Records(t.Context())), "no error of no store, want one")
}

// Many save the statuses of their own servers, and none is lost.
func TestStatusesAtOnce(t *testing.T) {
	kept := storage.NewMemory()
	var wg sync.WaitGroup
	for i := range 4 {
		s := record.NewStatuses(kept, "statuses")
		wg.Go(func() {
			for n := range 5 {
				name := fmt.Sprint(i, "-", n)
				assert.Is(t, s.SaveStatuses(t.Context(), map[string]record.LastStatus{name: {Status: record.StatusConnected}}), nil)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, len(assert.Value(record.NewStatuses(kept, "statuses").Statuses(t.Context()))(t)), 20)
}

// ofFile hides all of a store but that its records are in a file.
type ofFile struct {
	record.Store
	path string
}

func (f ofFile) Path() string { return f.path }

// Each change is told, and nothing when nothing has changed: of a store that tells, of one that
// does not, and of a file.
func TestChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	for name, open := range map[string]func(storage.Store) record.Store{
		"told":   func(m storage.Store) record.Store { return record.NewStore(m, "servers") },
		"polled": func(m storage.Store) record.Store { return record.NewStore(struct{ storage.Store }{m}, "servers") },
		"file":   func(m storage.Store) record.Store { return ofFile{record.NewStore(m, "servers"), path} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				memory := storage.NewMemory()
				told := make(chan []string, 100)
				done := make(chan struct{})
				go func() {
					defer close(done)
					for names := range record.Changes(open(memory))(ctx) {
						told <- names
					}
				}()
				time.Sleep(time.Minute)
				assert.Equal(t, len(told), 1, "words at first")
				elsewhere := record.NewStore(memory, "servers")
				for i, change := range []func() error{
					func() error {
						_, err := record.Add(ctx, elsewhere, &config.Server{Name: "a", Command: "x"})
						return err
					},
					func() error { _, err := record.Remove(ctx, elsewhere, "a"); return err },
				} {
					assert.OK(t, change())
					if name == "file" {
						assert.OK(t, os.WriteFile(path, make([]byte, i), 0o600))
					}
					time.Sleep(time.Minute)
					assert.Equal(t, len(told), i+2, "words after %d changes", i+1)
				}
				cancel()
				<-done
			})
		})
	}
	for range record.Changes(nil)(canceled()) {
		t.Error("got word of no store")
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
