package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/sqlstore"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/storage/storagetest"
)

// A storeOf is a store that knows its twin.
type storeOf struct {
	fullStore
	twin twin
}

// A fullStore is all that a store of this package is.
type fullStore interface {
	storage.Store
	storage.Watcher
	storage.Leaser
}

// storeIn returns the store of a namespace.
func storeIn(namespace string, w twin) storeOf {
	return storeOf{w.one.Store(namespace).(fullStore), w}
}

// Every promise of a store, between two connections to one database.
func TestStore(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		storagetest.Run(t, func(t testing.TB) storage.Store {
			return storeIn("sessions", p.open(t))
		}, &storagetest.Options{Reopen: func(_ testing.TB, s storage.Store) storage.Store {
			return s.(storeOf).twin.two.Store("sessions")
		}})
	})
}

// count counts up the record "n" a number of times.
func count(ctx context.Context, s storage.Store, times int) error {
	for done := 0; done < times; {
		r, err := s.Load(ctx, "n", "")
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		n, _ := strconv.Atoi(string(r.Data))
		_, err = s.Save(ctx, "n", []byte(strconv.Itoa(n+1)), r.Revision)
		if errors.Is(err, storage.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		done++
	}
	return nil
}

// Several processes make the tables at once and save to one record. Nothing is lost,
// although their connections do not wait for each other.
func TestProcesses(t *testing.T) {
	program := assert.Value(os.Executable())(t)
	path := filepath.Join(t.TempDir(), "agent.db")
	var wg sync.WaitGroup
	const processes = 4
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(program)
			cmd.Env = append(os.Environ(), childPath+"="+path)
			out, err := cmd.CombinedOutput()
			assert.OK(t, err, "%s", out)
		})
	}
	wg.Wait()
	wantRecord(t, mustNew(t, openSQLite(t, path), sqlstore.SQLite, nil).Store("sessions"), "n", strconv.Itoa(processes*childRuns))
}

// More names than one query returns are all listed, once.
func TestManyNames(t *testing.T) {
	s := sqlitePlace().open(t).one.Store("sessions")
	const many = 1001
	for i := range many {
		assert.Value(s.Save(t.Context(), "n"+strconv.Itoa(i), nil, ""))(t)
	}
	seen := map[string]bool{}
	for name, err := range s.Names(t.Context(), "n") {
		assert.OK(t, err)
		assert.False(t, seen[name], "%s: listed before", name)
		seen[name] = true
	}
	assert.Equal(t, len(seen), many, "names")
}

// A session manager's store works on top, and the database sees no secret.
func TestSealedSessions(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		w := p.open(t)
		key := make([]byte, seal.KeySize)
		assert.OK(t, assert.Value(seal.NewStore(t.Context(), w.one.Store("sessions"), seal.StaticKey(auth.Secret(key))))(t).Close())
		_, err := seal.NewStore(t.Context(), w.two.Store("sessions"), seal.StaticKey(auth.Secret(append(key[1:], 1))))
		assert.Fails(t, err, "another key")
	})
}
