package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Two who see a server for the first time at once do not both pin it.
func TestFirstUseIsOnce(t *testing.T) {
	path := ledgerPath(t)
	one, two := openLedger(t, path, Pin), openLedger(t, path, Pin)
	other := surfaceTool("a", func(d *Tool) { d.Title = "other" })
	mustRecord(t, one, github, surfaceTool("a"))
	mustRecord(t, two, github, other)
	wantKind(t, two, github, ToolChanged, other)
	wantKind(t, two, github, "", surfaceTool("a"))
}

func TestReloadSeesOthers(t *testing.T) {
	path := ledgerPath(t)
	one, two := openLedger(t, path, Pin), openLedger(t, path, Pin)
	mustRecord(t, one, github, surfaceTool("a"))
	changed := surfaceTool("a", func(d *Tool) { d.Title = "other" })
	mustRecord(t, one, github, changed)
	assert.OK(t, two.Reload(t.Context()))
	wantKind(t, two, github, ToolChanged, changed)
	n, wake := one.Generation()
	mustApprove(t, two, two.Pending()...)
	wantKind(t, one, github, ToolChanged, changed)
	assert.OK(t, one.Reload(t.Context()))
	<-wake
	wantKind(t, one, github, "", changed)
	again, _ := one.Generation()
	assert.False(t, again == n, "the generation is as before")
	// What is damaged later changes nothing, and is not written over.
	assert.OK(t, os.WriteFile(path, []byte("<<<<<<< HEAD\n"), 0o644))
	bad := assert.As[*Error](t, one.Reload(t.Context()), "reload of a conflict")
	assert.Equal(t, bad.line, 1, "reload of a conflict: line")
	assert.Equal(t, bad.file, path, "reload of a conflict: file")
	assert.As[*Error](t, one.Record(t.Context(), *github, surfacesIn(surfaceTool("b"))), "record over a conflict")
	wantKind(t, one, github, "", changed)
	assert.Equal(t, ledgerText(t, path), "<<<<<<< HEAD\n", "the file was written over")
}

// A file that goes away takes nothing with it that this process knows.
func TestFileGoesAway(t *testing.T) {
	path := ledgerPath(t)
	l := openLedger(t, path, Pin)
	mustRecord(t, l, github, surfaceTool("a"))
	before := ledgerText(t, path)
	assert.OK(t, os.Remove(path))
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, github, "", surfaceTool("a"))
	mustRecord(t, l, github, surfaceTool("a"), surfaceTool("b"))
	wantKind(t, l, github, ToolNew, surfaceTool("b"))
	after := ledgerText(t, path)
	assert.Contains(t, after, `"pending"`, "lines that were lost")
	assert.Equal(t, len(missingLines(before, after)), 0, "lines that were lost")
}

// TestChangingServer: a github that changes with each list makes the file neither
// long nor written all the time, and what it does last gets there.
func TestChangingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newCountingStore()
		l := loadLedger(t, store)
		server := &Server{Name: "github"}
		mustRecord(t, l, server, surfaceTool("a"))
		length := 0
		const seconds = 120
		for i := range seconds {
			def := surfaceTool("a", func(d *Tool) { d.Title = fmt.Sprint("title ", i%7, i) })
			mustRecord(t, l, server, def, surfaceTool(fmt.Sprint("new", i)))
			wantKind(t, l, server, ToolChanged, def)
			assert.Equal(t, len(l.Pending()), 2, "pending after %d seconds", i)
			if i == 2 {
				length = len(store.data)
			}
			time.Sleep(time.Second)
		}
		assert.Between(t, store.saves, 0, 1+1+seconds/60+1, "writes")
		assert.Between(t, len(store.data), 0, length+50, "bytes of the file")
		mustRecord(t, l, server, surfaceTool("a"))
		n, _ := l.Generation()
		assert.OK(t, l.Reload(t.Context()))
		now, _ := l.Generation()
		assert.Equal(t, now, n, "reading what is as before is a change")
		time.Sleep(2 * time.Minute)
		saves := store.saves
		mustRecord(t, l, server, surfaceTool("a")) // nothing new, yet there is something to write
		mustRecord(t, l, server, surfaceTool("a"))
		assert.Between(t, store.saves, 0, saves+1, "writes of what is the same")
		assert.Lacks(t, string(store.data), "pending", "more writes")
		// An approval takes along what has not been written.
		for i := range 3 {
			mustRecord(t, l, server, surfaceTool("a", func(d *Tool) { d.Title = fmt.Sprint(i) }))
		}
		mustApprove(t, l, l.Pending()...)
		other := loadLedger(t, store)
		got := assert.Only(t, other.Entries())
		assert.Equal(t, got.By, "alice", "entries: by")
		assert.Equal(t, got.Hash, l.Entries()[0].Hash, "entries: hash")
	})
}

// A first list that cannot be kept is not approved.
func TestFirstUseNeedsStore(t *testing.T) {
	full := errors.New("no room")
	store := newCountingStore()
	store.before = func() error { return full }
	l := loadLedger(t, store)
	assert.Is(t, l.Record(t.Context(), *github, surfacesIn(surfaceTool("a"))), full, "record")
	wantKind(t, l, github, ToolNew, surfaceTool("a"))
	store.before = func() error { return storage.ErrConflict } // a store that does not keep its word
	assert.Is(t, l.Record(t.Context(), *github, surfacesIn(surfaceTool("a"))), storage.ErrConflict, "record")
	store.before = nil
	mustRecord(t, l, github, surfaceTool("a"))
	wantKind(t, l, github, "", surfaceTool("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, l.Accept(ctx, "alice", Change{}), context.Canceled, "approve")
}

// TestReadOnly: where nothing can be written all goes on in memory, says so, and
// what another person writes there is seen.
func TestReadOnly(t *testing.T) {
	store := newCountingStore()
	writer := loadLedger(t, store)
	one, two := &Server{Name: "one"}, &Server{Name: "two"}
	a, changed := surfaceTool("a"), surfaceTool("a", func(d *Tool) { d.Title = "other" })
	mustRecord(t, writer, one, a)

	readOnly := &readOnlyStore{countingStore: store}
	l := loadLedger(t, readOnly)
	assert.True(t, l.Persistent() == nil, "persistent")
	mustRecord(t, l, two, a)
	assert.Is(t, l.Persistent(), storage.ErrReadOnly, "persistent")
	mustRecord(t, l, two, changed)
	mustRecord(t, l, one, changed)
	wantKind(t, l, two, ToolChanged, changed)
	mustApprove(t, l, l.Pending("two")...)
	mustRecord(t, l, two, changed, surfaceTool("b"))
	wantKind(t, l, two, "", changed)
	wantKind(t, l, two, ToolNew, surfaceTool("b"))

	mustRecord(t, writer, one, changed) // another person can write, and approves
	mustApprove(t, writer, writer.Pending()...)
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, one, "", changed)
	wantKind(t, l, two, "", changed)
	wantKind(t, l, two, ToolChanged, a)

	// A rejection is not forgotten for what another process writes, unless it approves
	// the same later.
	c := Change{Server: "one", Tool: "a", Hash: NewSurface(changed).Hash}
	assert.OK(t, l.Reject(t.Context(), "bob", c))
	mustRecord(t, writer, &Server{Name: "three"}, a)
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, one, ToolRejected, changed)
	assert.OK(t, l.Accept(t.Context(), "bob", c))
	there := Server{Name: "there", Fingerprint: "f"}
	mustRecord(t, writer, &there, a)
	assert.OK(t, l.Reload(t.Context()))
	assert.OK(t, l.Reject(t.Context(), "bob", Change{Server: "there", Hash: fingerprintHash("f")}))
	mustRecord(t, writer, &Server{Name: "four"}, a)
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, &there, ToolRejected, a)

	readOnly.writable = true
	mustApprove(t, l, l.Pending("two")...)
	assert.OK(t, l.Persistent())
	again := loadLedger(t, store)
	wantKind(t, again, two, "", surfaceTool("b"))
	wantKind(t, again, one, "", changed)
}

type readOnlyStore struct {
	*countingStore
	writable bool
}

func (s *readOnlyStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if s.writable {
		return s.countingStore.Save(ctx, name, data, old)
	}
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
	assert.False(t, assert.Value(os.Lstat(link))(t).Mode()&fs.ModeSymlink == 0, "link")
	if info := assert.Value(os.Stat(target))(t); runtime.GOOS != "windows" {
		assert.Equal(t, info.Mode().Perm(), 0o640, "the mode")
	}
	assert.Equal(t, len(openLedger(t, link, Pin).Pending()), 1, "are pending")
	assert.Equal(t, len(assert.Value(os.ReadDir(filepath.Dir(target)))(t)), 1, "files")
}

// What cannot be a ledger at all is an error, not an empty ledger.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	assert.Equal(t, assert.As[*Error](t, assert.Err(Open(dir, nil)), "a folder").file, dir, "a folder: file")
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err == nil {
		assert.As[*Error](t, assert.Err(Open(loop, nil)), "a link to itself")
	}
	assert.Contains(t, fmt.Sprint(assert.Err(Open(ledgerPath(t), &Options{Mode: "lax"}))), "trust, pin or review", "an unknown mode")
	below := filepath.Join(dir, "file", "mcp.lock.json")
	assert.OK(t, os.WriteFile(filepath.Dir(below), nil, 0o600))
	if l, err := Open(below, nil); err == nil {
		err := l.Record(t.Context(), Server{Name: "s"}, nil)
		assert.As[*Error](t, err, "a file for a folder")
		assert.False(t, errors.Is(err, fs.ErrNotExist), "a file for a folder: does not exist")
	}
}

// linked returns the path of a ledger in a project that is a link to a target, beside
// another folder called other.
func linked(t *testing.T, target string) (path, other string) {
	t.Helper()
	top := t.TempDir()
	project, other := filepath.Join(top, "project"), filepath.Join(top, "other")
	for _, dir := range []string{project, filepath.Join(project, "sub"), other} {
		assert.OK(t, os.Mkdir(dir, 0o755))
	}
	path = filepath.Join(project, "mcp.lock.json")
	for link, to := range map[string]string{path: target, filepath.Join(project, "chain"): filepath.Join("..", "other", "file"), filepath.Join(project, "door"): other} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	return path, other
}

// TestLedgerLinkLeadsToNoFileElsewhere: what a link says makes no file out of its folder.
func TestLedgerLinkLeadsToNoFileElsewhere(t *testing.T) {
	for _, target := range []string{"../other/file", "chain", "door/file", "sub/../../other/file", "../other/missing/file", filepath.Join(t.TempDir(), "file")} {
		path, other := linked(t, target)
		assert.Equal(t, assert.As[*Error](t, assert.Err(Open(path, nil)), "%s", target).file, path, "%s: file", target)
		// A link that takes the place of the file of a ledger that is open is not followed either.
		assert.OK(t, os.Rename(path, path+".link"))
		l := openLedger(t, path, Pin)
		assert.OK(t, os.Rename(path+".link", path))
		assert.As[*Error](t, l.Record(t.Context(), *github, surfacesIn(surfaceTool("a"))), "%s, later", target)
		assert.Equal(t, len(assert.Value(os.ReadDir(other))(t)), 0, "%s: files", target)
		if filepath.IsAbs(target) {
			assert.Is(t, assert.Err(os.Lstat(target)), fs.ErrNotExist, "%s", target)
		}
	}
}

// TestLedgerLinkIsFollowed: to a new file in its folder, and to a ledger anywhere.
func TestLedgerLinkIsFollowed(t *testing.T) {
	path, _ := linked(t, "sub/file")
	mustRecord(t, openLedger(t, path, Pin), github, surfaceTool("a"))
	assert.Value(os.Lstat(filepath.Join(filepath.Dir(path), "sub", "file")))(t)
	path, other := linked(t, "../other/file")
	mustRecord(t, openLedger(t, filepath.Join(other, "file"), Pin), github, surfaceTool("a"))
	assert.Equal(t, len(openLedger(t, path, Pin).Entries()), 1, "entries of the ledger that is there")
}

// A process that holds the lock of the ledger's folder, for however long, does not keep
// others from reading, and from writing only until it can be told.
func TestLockHeld(t *testing.T) {
	path := ledgerPath(t)
	mustRecord(t, openLedger(t, path, Pin), github, surfaceTool("a"))
	resolved := assert.Value(atomicfile.Resolve(path))(t)
	unlock := assert.Value(atomicfile.Lock(t.Context(), resolved))(t)
	l := openLedger(t, path, Pin)
	wantKind(t, l, github, "", surfaceTool("a"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	assert.Is(t, l.Forget(ctx, "github"), context.DeadlineExceeded, "waiting with a deadline")
	l.store.(*document.File).Patience = time.Millisecond
	assert.Is(t, l.Record(t.Context(), Server{Name: "other"}, surfacesIn(surfaceTool("a"))), document.ErrLocked, "waiting without one")
	unlock()
	assert.OK(t, l.Forget(t.Context(), "github"))
}

// A list that was to be noted later does not become the first one of its github
// because the file is another one by then.
func TestNoteIsNoFirstUse(t *testing.T) {
	path, other := ledgerPath(t), ledgerPath(t)
	mustRecord(t, openLedger(t, other, Pin), &Server{Name: "other"}, surfaceTool("a"))
	l := openLedger(t, path, Pin)
	mustRecord(t, l, github, surfaceTool("a"))
	var changed *Tool
	for i := range 2 {
		changed = surfaceTool("a", func(d *Tool) { d.Title = fmt.Sprint("title ", i) })
		mustRecord(t, l, github, changed)
	}
	assert.Equal(t, len(l.journal), 1, "notes that wait")
	assert.OK(t, os.WriteFile(path, []byte(ledgerText(t, other)), 0o600))
	assert.OK(t, l.Reload(t.Context()))
	wantKind(t, l, github, ToolNew, changed)
}
