package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Several ledgers in one process, and several goroutines of each.
func TestGoroutinesApproveAtOnce(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github", Mode: Review}
	var defs []*Tool
	for i := range 24 {
		defs = append(defs, surfaceTool(fmt.Sprint("t", i)))
	}
	mustRecord(t, openLedger(t, path, Pin), server, defs...)
	errs := make(chan error)
	for i := range 4 {
		l := openLedger(t, path, Pin)
		for j := range 2 {
			go func() {
				for k := 2*i + j; k < len(defs); k += 8 {
					c := l.Judge(*server, surfacesIn(defs[k])[0])
					if err := l.Accept(t.Context(), "alice", *c); err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
		}
	}
	for range 8 {
		assert.OK(t, <-errs)
	}
	assert.Equal(t, len(entriesIn(t, path)), len(defs), "tools are approved")
}

// Two who see a server for the first time at once do not both pin it.
func TestFirstUseIsOnce(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github"}
	one, two := openLedger(t, path, Pin), openLedger(t, path, Pin)
	other := surfaceTool("a", func(d *Tool) { d.Title = "other" })
	mustRecord(t, one, server, surfaceTool("a"))
	mustRecord(t, two, server, other)
	wantKind(t, two, server, other, ToolChanged)
	wantKind(t, two, server, surfaceTool("a"), "")
}

func TestReloadSeesOthers(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github"}
	one, two := openLedger(t, path, Pin), openLedger(t, path, Pin)
	mustRecord(t, one, server, surfaceTool("a"))
	changed := surfaceTool("a", func(d *Tool) { d.Title = "other" })
	mustRecord(t, one, server, changed)
	assert.OK(t, two.Reload(t.Context()))
	wantKind(t, two, server, changed, ToolChanged)
	n, wake := one.Generation()
	mustApprove(t, two, two.Pending()...)
	wantKind(t, one, server, changed, ToolChanged)
	assert.OK(t, one.Reload(t.Context()))
	<-wake
	wantKind(t, one, server, changed, "")
	again, _ := one.Generation()
	assert.Equal(t, again == n, false, "the generation is as before")
	// What is damaged later changes nothing, and is not written over.
	assert.OK(t, os.WriteFile(path, []byte("<<<<<<< HEAD\n"), 0o644))
	bad := assert.As[*Error](t, one.Reload(t.Context()), "reload of a conflict")
	assert.Equal(t, bad.Line, 1, "reload of a conflict: line")
	assert.Equal(t, bad.File, path, "reload of a conflict: file")
	if err := one.Record(t.Context(), *server, surfacesIn(surfaceTool("b"))); !errors.As(err, &bad) {
		t.Errorf("record over a conflict: %v", err)
	}
	wantKind(t, one, server, changed, "")
	data, _ := readLedgerFile(t, path)
	assert.Equal(t, string(data), "<<<<<<< HEAD\n", "the file was written over")
}

// A file that goes away takes nothing with it that this process knows.
func TestFileGoesAway(t *testing.T) {
	path := ledgerPath(t)
	server := &Server{Name: "github"}
	l := openLedger(t, path, Pin)
	mustRecord(t, l, server, surfaceTool("a"))
	before, _ := readLedgerFile(t, path)
	assert.OK(t, os.Remove(path))
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, server, surfaceTool("a"), "")
	mustRecord(t, l, server, surfaceTool("a"), surfaceTool("b"))
	wantKind(t, l, server, surfaceTool("b"), ToolNew)
	after, _ := readLedgerFile(t, path)
	assert.Contains(t, string(after), `"pending"`, "lines that were lost")
	assert.Equal(t, len(missingLines(string(before), string(after))), 0, "lines that were lost")
}

// TestChangingServer: a server that changes with each list makes the file neither
// long nor written all the time, and what it does last gets there.
func TestChangingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newCountingStore()
		l := assert.Value(Load(t.Context(), store, "ledger", nil))(t)
		server := &Server{Name: "github"}
		mustRecord(t, l, server, surfaceTool("a"))
		length := 0
		const seconds = 300
		for i := range seconds {
			def := surfaceTool("a", func(d *Tool) { d.Title = fmt.Sprint("title ", i%7, i) })
			mustRecord(t, l, server, def, surfaceTool(fmt.Sprint("new", i)))
			wantKind(t, l, server, def, ToolChanged)
			if n := len(l.Pending()); n != 2 {
				t.Fatalf("%d are pending", n)
			}
			if i == 2 {
				length = len(store.data)
			}
			time.Sleep(time.Second)
		}
		wantBetween(t, store.saves, 0, 1+noteBurst+seconds/60+1, "writes")
		wantBetween(t, len(store.data), 0, length+50, "bytes of the file")
		mustRecord(t, l, server, surfaceTool("a"))
		n, _ := l.Generation()
		assert.OK(t, l.Reload(t.Context()))
		now, _ := l.Generation()
		assert.Equal(t, now, n, "reading what is as before is a change")
		time.Sleep(2 * time.Minute)
		saves := store.saves
		mustRecord(t, l, server, surfaceTool("a")) // nothing new, yet there is something to write
		mustRecord(t, l, server, surfaceTool("a"))
		wantBetween(t, store.saves, 0, saves+1, "writes of what is the same")
		assert.Lacks(t, string(store.data), "pending", "more writes")
		// An approval takes along what has not been written.
		for i := range noteBurst + 2 {
			mustRecord(t, l, server, surfaceTool("a", func(d *Tool) { d.Title = fmt.Sprint(i) }))
		}
		mustApprove(t, l, l.Pending()...)
		other := assert.Value(Load(t.Context(), store, "ledger", nil))(t)
		got := only(t, other.Entries())
		assert.Equal(t, got.By, "alice", "entries: by")
		assert.Equal(t, got.Hash, l.Entries()[0].Hash, "entries: hash")
	})
}

// A countingStore is a store in memory that can fail.
type countingStore struct {
	*storage.Memory
	data   []byte // that were saved last
	saves  int
	before func() error // called by Save
}

func newCountingStore() *countingStore { return &countingStore{Memory: storage.NewMemory()} }

func (s *countingStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return "", err
		}
	}
	at, err := s.Memory.Save(ctx, name, data, old)
	if err == nil {
		s.data, s.saves = slices.Clone(data), s.saves+1
	}
	return at, err
}

// A first list that cannot be kept is not approved.
func TestFirstUseNeedsStore(t *testing.T) {
	full := errors.New("no room")
	store := newCountingStore()
	store.before = func() error { return full }
	l := assert.Value(Load(t.Context(), store, "ledger", nil))(t)
	server := &Server{Name: "github"}
	assert.Is(t, l.Record(t.Context(), *server, surfacesIn(surfaceTool("a"))), full, "record")
	wantKind(t, l, server, surfaceTool("a"), ToolNew)
	store.before = func() error { return storage.ErrConflict } // a store that does not keep its word
	assert.Is(t, l.Record(t.Context(), *server, surfacesIn(surfaceTool("a"))), storage.ErrConflict, "record")
	store.before = nil
	mustRecord(t, l, server, surfaceTool("a"))
	wantKind(t, l, server, surfaceTool("a"), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, l.Accept(ctx, "alice", Change{}), context.Canceled, "approve")
}

// TestReadOnly: where nothing can be written all goes on in memory, says so, and
// what somebody else writes there is seen.
func TestReadOnly(t *testing.T) {
	store := newCountingStore()
	writer := assert.Value(Load(t.Context(), store, "ledger", nil))(t)
	one, two := &Server{Name: "one"}, &Server{Name: "two"}
	a, changed := surfaceTool("a"), surfaceTool("a", func(d *Tool) { d.Title = "other" })
	mustRecord(t, writer, one, a)

	readOnly := &readOnlyStore{store}
	l := assert.Value(Load(t.Context(), readOnly, "ledger", nil))(t)
	assert.Equal(t, l.Persistent() == nil, true, "persistent")
	mustRecord(t, l, two, a)
	assert.Is(t, l.Persistent(), storage.ErrReadOnly, "persistent")
	mustRecord(t, l, two, changed)
	mustRecord(t, l, one, changed)
	wantKind(t, l, two, changed, ToolChanged)
	mustApprove(t, l, l.Pending("two")...)
	mustRecord(t, l, two, changed, surfaceTool("b"))
	wantKind(t, l, two, changed, "")
	wantKind(t, l, two, surfaceTool("b"), ToolNew)

	mustRecord(t, writer, one, changed) // somebody else can write, and approves
	mustApprove(t, writer, writer.Pending()...)
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, one, changed, "")
	wantKind(t, l, two, changed, "")
	wantKind(t, l, two, a, ToolChanged)

	// A rejection is not forgotten for what another process writes, unless it approves
	// the same later.
	c := Change{Server: "one", Tool: "a", Hash: NewSurface(changed).Hash}
	assert.OK(t, l.Reject(t.Context(), "bob", c))
	mustRecord(t, writer, &Server{Name: "three"}, a)
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, one, changed, ToolRejected)
	assert.OK(t, l.Accept(t.Context(), "bob", c))
	there := Server{Name: "there", Fingerprint: "f"}
	mustRecord(t, writer, &there, a)
	assert.OK(t, l.Reload(t.Context()))
	assert.OK(t, l.Reject(t.Context(), "bob", Change{Server: "there", Hash: fingerprintHash("f")}))
	mustRecord(t, writer, &Server{Name: "four"}, a)
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, &there, a, ToolRejected)

	l.store = store // now it can be written
	mustApprove(t, l, l.Pending("two")...)
	assert.OK(t, l.Persistent())
	again := assert.Value(Load(t.Context(), store, "ledger", nil))(t)
	wantKind(t, again, two, surfaceTool("b"), "")
	wantKind(t, again, one, changed, "")
}

type readOnlyStore struct{ *countingStore }

func (s *readOnlyStore) Save(context.Context, string, []byte, storage.Revision) (storage.Revision, error) {
	return "", storage.ErrReadOnly
}

// A folder into which nothing can be written, as the system sees it.
func TestReadOnlyFolder(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("everything can be written here")
	}
	path := ledgerPath(t)
	assert.OK(t, os.Chmod(filepath.Dir(path), 0o500))
	l := openLedger(t, path, Pin)
	mustRecord(t, l, &Server{Name: "github"}, surfaceTool("a"))
	err := l.Persistent()
	assert.Is(t, err, storage.ErrReadOnly, "persistent")
	assert.Contains(t, err.Error(), path, "persistent")
}

// A symbolic link is followed, the mode is kept, a missing folder is made.
func TestWhereTheFileIs(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real", "deep", "ledger.json"), filepath.Join(dir, "mcp.lock.json")
	if err := os.Symlink(filepath.Join("real", "deep", "ledger.json"), link); err != nil {
		t.Skip(err)
	}
	mustRecord(t, openLedger(t, link, Pin), &Server{Name: "github"}, surfaceTool("a"))
	assert.OK(t, os.Chmod(target, 0o640))
	mustRecord(t, openLedger(t, link, Pin), &Server{Name: "github"}, surfaceTool("b"))
	assert.Equal(t, assert.Value(os.Lstat(link))(t).Mode()&fs.ModeSymlink == 0, false, "link")
	if info, err := os.Stat(target); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %v, %v", info, err)
	}
	assert.Equal(t, len(openLedger(t, link, Pin).Pending()), 1, "are pending")
	assert.Equal(t, len(assert.Value(os.ReadDir(filepath.Dir(target)))(t)), 1, "files")
}

// What cannot be a ledger at all is an error, not an empty ledger.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	bad := assert.As[*Error](t, errorOf(Open(dir, nil)), "a folder")
	assert.Equal(t, bad.File, dir, "a folder: file")
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err == nil {
		if _, err := Open(loop, nil); !errors.As(err, &bad) {
			t.Errorf("a link to itself: %v", err)
		}
	}
	assert.Contains(t, fmt.Sprint(errorOf(Open(ledgerPath(t), &Options{Mode: "lax"}))), "trust, pin or review", "an unknown mode")
	below := filepath.Join(dir, "file", "mcp.lock.json")
	assert.OK(t, os.WriteFile(filepath.Dir(below), nil, 0o600))
	if l, err := Open(below, nil); err == nil {
		if err := l.Record(context.Background(), Server{Name: "s"}, nil); !errors.As(err, &bad) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file for a folder: %v", err)
		}
	}
}
