package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/atomicfile"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// ErrConflict is returned by [Store.Save] if what is kept was changed
// by somebody else.
var ErrConflict = errors.New("the ledger was changed by somebody else")

// ErrReadOnly is wrapped by the error of [Store.Save] if nothing can be
// written there. The ledger goes on in memory then.
var ErrReadOnly = errors.New("the ledger cannot be written")

// A Store is a place that keeps a [Ledger]: a row of a database, for
// instance. [Open] has one for files. It is safe for concurrent use, also by
// several processes, and returns soon after ctx ends.
type Store interface {
	// Load returns what is kept, and its revision: a text that is not empty, and
	// another one each time that something else is kept. If the revision is still
	// known, data is not looked at and may be nil. Nothing kept: the revision is
	// empty. The caller may keep data.
	Load(ctx context.Context, known string) (data []byte, revision string, err error)
	// Save replaces what is kept if its revision is still old, which is empty if
	// nothing is kept, and returns the new one; otherwise it changes nothing and
	// returns an error that wraps [ErrConflict]. When it returns, data would
	// survive a loss of power. It does not keep data.
	Save(ctx context.Context, data []byte, old string) (revision string, err error)
}

const (
	maxLedgerFile = 512 << 20 // bytes
	newLedgerMode = 0o644     // of a new file, which is meant to be committed
	newFolderMode = 0o755
)

// racy is how long after a change the time of a file is not trusted: a second
// change might have the same time. Some file systems count in whole seconds, or
// every other one.
func racy(changed time.Time) time.Duration {
	if changed.Nanosecond() != 0 {
		return 100 * time.Millisecond
	}
	return 2 * time.Second
}

// A ledgerFile keeps the ledger in a file, which is meant to be committed. The
// revision is a hash of the content.
type ledgerFile struct {
	path     string
	patience time.Duration // how long to wait for the lock

	mu       sync.Mutex // guards what follows
	seen     fs.FileInfo
	at       string    // revision of seen; empty: none that can be trusted
	unlocked time.Time // when the lock was given back last
}

// Load reads the file, unless it looks the same as when it was read last.
func (f *ledgerFile) Load(ctx context.Context, known string) ([]byte, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	path, err := f.resolve()
	if err != nil {
		return nil, "", err
	}
	if known != "" && f.same(path, known) {
		return nil, known, nil
	}
	return f.read(path)
}

// resolve returns the path of the file itself. A link that leads out of its folder is
// followed to a ledger that is there, and not to make a file: where this program writes is
// not for whoever made the link, such as the author of a project, to say.
func (f *ledgerFile) resolve() (string, error) {
	path, err := atomicfile.Resolve(f.path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if link, err := os.Lstat(f.path); err != nil || link.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	dir, err := filepath.Abs(filepath.Dir(f.path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", err
	}
	if inside, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(inside) {
		return path, nil
	}
	return "", fmt.Errorf("it is a symbolic link that leads out of its folder, to %s, where there is no file: remove the link, or open the ledger by that path if that is where it belongs", plain.Quote(path))
}

// read reads the file, and remembers what it looked like.
func (f *ledgerFile) read(path string) ([]byte, string, error) {
	data, info, err := atomicfile.Read(path, maxLedgerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	at := revisionOf(data)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.at = info, at
	if time.Since(info.ModTime()) < racy(info.ModTime()) {
		f.at = ""
	}
	return data, at, nil
}

// Same reports whether the file is the one that was read with that revision.
func (f *ledgerFile) same(path, known string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at == known && f.seen != nil && os.SameFile(f.seen, info) &&
		f.seen.Size() == info.Size() && f.seen.ModTime().Equal(info.ModTime())
}

func revisionOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

const (
	// lockPatience is how long the ledger waits for the lock of its file. Others
	// hold it for one write; who holds it longer was stopped, or does not want us
	// to go on.
	lockPatience = 10 * time.Second
	// lockCourtesy is how long the lock is left to others after a write. They look
	// each millisecond whether it is free, and would starve beside somebody who
	// takes it back at once.
	lockCourtesy = 3 * time.Millisecond
)

var errLockHeld = errors.New("another process holds the lock of its folder for too long: end that process, or keep the ledger elsewhere")

// lock keeps others from writing, from reading what is there to having replaced it.
// Otherwise who is slow would find again and again that others were faster.
func (f *ledgerFile) lock(ctx context.Context) (unlock func(), err error) {
	path, err := f.resolve()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), newFolderMode)
	}
	if err != nil {
		return nil, readOnly(err)
	}
	if err := f.yield(ctx); err != nil {
		return nil, err
	}
	patient, stop := context.WithTimeout(ctx, f.patience)
	defer stop()
	giveBack, err := atomicfile.Lock(patient, path)
	switch {
	case err == nil:
		return func() { giveBack(); f.gaveBack() }, nil
	case patient.Err() != nil && ctx.Err() == nil:
		return nil, errLockHeld
	}
	return nil, readOnly(err)
}

// yield waits until others have had time to take the lock.
func (f *ledgerFile) yield(ctx context.Context) error {
	f.mu.Lock()
	wait := lockCourtesy - time.Since(f.unlocked)
	f.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *ledgerFile) gaveBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unlocked = time.Now()
}

// Save implements Store, while the caller holds the lock.
func (f *ledgerFile) Save(ctx context.Context, data []byte, old string) (string, error) {
	path, err := f.resolve()
	if err != nil {
		return "", err
	}
	_, now, err := f.read(path)
	if err != nil {
		return "", err
	}
	if now != old {
		return "", ErrConflict
	}
	if err := atomicfile.Replace(ctx, path, data, newLedgerMode); err != nil {
		return "", readOnly(err)
	}
	return revisionOf(data), nil
}

// readOnly tells errors that say that nothing can be written.
func readOnly(err error) error {
	if err != nil && atomicfile.Unwritable(err) {
		return &readOnlyError{err}
	}
	return err
}

// clean removes what a killed process has left beside the file. If that cannot be
// soon, the next Save does it.
func (f *ledgerFile) clean(ctx context.Context) {
	path, err := f.resolve()
	if err != nil || !atomicfile.Dirty(path) {
		return
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if unlock, err := atomicfile.Lock(ctx, path); err == nil {
		_ = atomicfile.Clean(path)
		unlock()
	}
}

// A readOnlyError is ErrReadOnly with its cause.
type readOnlyError struct{ err error }

func (e *readOnlyError) Error() string { return ErrReadOnly.Error() + ": " + e.err.Error() }

func (e *readOnlyError) Unwrap() []error { return []error{ErrReadOnly, e.err} }
