package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A stored script runs as it was accepted, and no other one does, also after a restart.
func TestStoredScripts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.lock.json")
	open := func() *ledger.Ledger {
		l := assert.Value(ledger.Open(path, nil))(t)
		return l
	}
	r := newRegistry(t, nil, echo("s", "echo"))
	script := func(code string) []codemode.StoredScript {
		return []codemode.StoredScript{{Name: "sum", Description: "Adds.", Code: code}}
	}
	c := newRunner(t, r, &codemode.Options{Ledger: open(), Scripts: script(`return input.a + input.b`)})
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1,"b":2}`)}))(t)
	assert.Equal(t, string(report.Value.JSON), "3", "(%v)", report.Err)

	l := open()
	again := newRunner(t, r, &codemode.Options{Ledger: l, Scripts: script(`return await tools.s.echo(input)`)})
	held := assert.As[*codemode.QuarantinedError](t, errorOf(again.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1}`)})))
	assert.Equal(t, held.Change.Fields[0].Field, "/inputSchema/code", "the change of")
	assert.OK(t, l.Accept(t.Context(), "ann", *held.Change))
	report = assert.Value(again.Run(t.Context(), &codemode.Script{Name: "sum", Input: []byte(`{"a":1}`)}))(t)
	assert.Equal(t, string(report.Value.JSON), `{"a":1}`, "(%v)", report.Err)
	assert.Fails(t, errorOf(c.Run(t.Context(), &codemode.Script{Name: "other"})))
}

// codeEngine is an engine whose scripts return their own code.
type codeEngine struct{}

func (codeEngine) Run(_ context.Context, p *codemode.Program, _ codemode.Bridge) (*codemode.Value, error) {
	return &codemode.Value{JSON: []byte(p.Code)}, nil
}

// A follower is a Runner that has the scripts of a store.
type follower struct {
	*codemode.Runner
	told  chan error // what FollowScripts tells
	ended chan error // and returns
	end   func()
}

func newFollower(t *testing.T, store storage.Store, l *ledger.Ledger) *follower {
	f := &follower{told: make(chan error, 100), ended: make(chan error, 1)}
	f.Runner = newRunner(t, newRegistry(t, nil), &codemode.Options{
		Engine: codeEngine{}, Ledger: l, Limits: codemode.Limits{Code: 100}, Scripts: []codemode.StoredScript{{Name: "own", Code: "0"}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	f.end = cancel
	go func() { f.ended <- f.FollowScripts(ctx, store, "scripts", func(err error) { f.told <- err }) }()
	return f
}

// code returns the code of a script that is run by its name; empty if it is not run.
func (f *follower) code(t *testing.T, name string) string {
	t.Helper()
	report, err := f.Run(t.Context(), &codemode.Script{Name: name})
	if err != nil {
		return ""
	}
	return string(report.Value.JSON)
}

// put keeps a script in a store.
func put(t *testing.T, store storage.Store, s codemode.StoredScript) {
	t.Helper()
	assert.OK(t, codemode.ChangeScripts(t.Context(), store, "scripts", func(now []codemode.StoredScript) ([]codemode.StoredScript, error) {
		for i := range now {
			if now[i].Name == s.Name {
				now[i] = s
				return now, nil
			}
		}
		return append(now, s), nil
	}))
}

// What one process keeps is run by all, as far as the ledger that they share accepts it.
func TestFollowScripts(t *testing.T) {
	// A store that cannot tell of changes is looked at.
	for name, hide := range map[string]func(storage.Store) storage.Store{
		"watched": func(s storage.Store) storage.Store { return s },
		"looked":  func(s storage.Store) storage.Store { return struct{ storage.Store }{s} },
	} {
		synctest.Test(t, func(t *testing.T) {
			store := hide(storage.NewMemory())
			var all [2]*follower
			var ledgers [2]*ledger.Ledger
			for i := range all {
				l := assert.Value(ledger.Load(t.Context(), store, "ledger", nil))(t)
				ledgers[i], all[i] = l, newFollower(t, store, l)
				assert.OK(t, <-all[i].told, "%s", name)
				assert.Equal(t, all[i].code(t, "own"), "", "%s: of a script that is not kept", name)
			}
			put(t, store, codemode.StoredScript{Name: "own", Code: "0"}) // as it was pinned
			put(t, store, codemode.StoredScript{Name: "new", Code: "1"})
			time.Sleep(4 * time.Second)
			for i, f := range all {
				assert.Equal(t, f.code(t, "own"), "0", "%s: %d", name, i)
				assert.Equal(t, f.code(t, "new"), "", "%s: %d: of a script that was not accepted", name, i)
			}
			assert.OK(t, ledgers[0].Accept(t.Context(), "ann", ledgers[0].Pending(codemode.LedgerServer)...))
			for i, f := range all {
				assert.Equal(t, f.code(t, "new"), "1", "%s: %d: of what was accepted", name, i)
			}
			for _, f := range all {
				f.end()
				assert.Is(t, <-f.ended, context.Canceled, "%s", name)
			}
		})
	}
}

// Scripts that cannot be read or set leave those of before, and that is told once.
func TestFollowScriptsThatAreNotSound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		put(t, store, codemode.StoredScript{Name: "a", Code: "1"})
		f := newFollower(t, store, nil)
		assert.OK(t, <-f.told)
		for _, test := range []struct{ data, want string }{
			{`{`, "not sound"},
			{`{}`, "no version"},
			{`{"version":2}`, "later version"},
			{`{"version":1,"scripts":[],"more":1}`, "not sound"},
			{`{"version":1,"scripts":[{"name":"","description":"","code":""}]}`, "1 to 128"},
			{`{"version":1,"scripts":[{"name":"a","code":"1"},{"name":"a","code":"2"}]}`, "two scripts"},
			{fmt.Sprintf(`{"version":1,"scripts":[{"name":"a","code":%q}]}`, strings.Repeat("x", 101)), "at most 100"},
		} {
			r := assert.Value(store.Load(t.Context(), "scripts", ""))(t)
			assert.Value(store.Save(t.Context(), "scripts", []byte(test.data), r.Revision))(t)
			time.Sleep(time.Minute)
			assert.Equal(t, len(f.told), 1, "%s", test.data)
			assert.Contains(t, fmt.Sprint(<-f.told), test.want, "%s", test.data)
			assert.Equal(t, f.code(t, "a"), "1", "%s", test.data)
		}
		r := assert.Value(store.Load(t.Context(), "scripts", ""))(t)
		assert.OK(t, store.Delete(t.Context(), "scripts", r.Revision))
		put(t, store, codemode.StoredScript{Name: "a", Code: "2"})
		time.Sleep(4 * time.Second)
		assert.OK(t, <-f.told)
		assert.Equal(t, f.code(t, "a"), "2")
		assert.OK(t, store.Close())
		assert.Is(t, <-f.ended, storage.ErrClosed)
	})
}

// A ledger that cannot be written holds the scripts up until it can.
func TestFollowScriptsWithoutALedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, away := storage.NewMemory(), &awayStore{Store: storage.NewMemory()}
		l := assert.Value(ledger.Load(t.Context(), away, "ledger", nil))(t)
		f := newFollower(t, store, l)
		assert.OK(t, <-f.told)
		away.set(true)
		put(t, store, codemode.StoredScript{Name: "own", Code: "1"})
		assert.Is(t, <-f.told, errAway)
		away.set(false)
		time.Sleep(4 * time.Second)
		assert.OK(t, <-f.told)
		assert.As[*codemode.QuarantinedError](t, errorOf(f.Run(t.Context(), &codemode.Script{Name: "own"})))
		f.end()
		<-f.ended
	})
}

var errAway = errors.New("the store is away")

// awayStore is a store that can be away.
type awayStore struct {
	storage.Store
	mu   sync.Mutex
	away bool
}

func (s *awayStore) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *awayStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	if away {
		return "", errAway
	}
	return s.Store.Save(ctx, name, data, old)
}

// Writers do not overwrite each other, and nothing is kept that is not sound.
func TestChangeScripts(t *testing.T) {
	store := storage.NewMemory()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() { put(t, store, codemode.StoredScript{Name: fmt.Sprint(n), Code: "1"}) })
	}
	all.Wait()
	refused := errors.New("refused")
	for name, next := range map[string][]codemode.StoredScript{
		"an error":     nil,
		"no name":      {{Code: "1"}},
		"a name twice": {{Name: "a"}, {Name: "a"}},
		"no UTF-8":     {{Name: "a", Code: "\xff"}},
		"a large one":  {{Name: "a", Code: strings.Repeat("x", storage.MaxData)}},
		"nothing new":  nil,
	} {
		err := codemode.ChangeScripts(t.Context(), store, "scripts", func(now []codemode.StoredScript) ([]codemode.StoredScript, error) {
			assert.Equal(t, len(now), 8, "%s: scripts before", name)
			switch name {
			case "an error":
				return nil, refused
			case "nothing new":
				return now, nil
			}
			return next, nil
		})
		assert.Equal(t, (err == nil), name == "nothing new", "%s", name)
	}
	for _, store := range []storage.Store{nil, (*storage.Memory)(nil)} {
		assert.Fails(t, codemode.ChangeScripts(t.Context(), store, "scripts", nil), "got no error of no store, want one")
		assert.Fails(t, newRunner(t, newRegistry(t, nil), &codemode.Options{Engine: codeEngine{}}).FollowScripts(t.Context(), store, "scripts", nil), "got no error of no store to follow, want one")
	}
}
