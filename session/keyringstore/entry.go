package keyringstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/zalando/go-keyring"

	"github.com/mcpbelt/mcpbelt/session/seal"
)

// patience is how long a call waits at most for the keyring, which may wait for
// its user.
const patience = time.Minute

// A ring is a keyring. Its calls may take as long as they like.
type ring interface {
	Get(service, account string) (string, error)
	Set(service, account, text string) error
}

// system is the keyring of the operating system.
type system struct{}

func (system) Get(service, account string) (string, error) { return keyring.Get(service, account) }
func (system) Set(service, account, text string) error     { return keyring.Set(service, account, text) }

// An entry is one entry of the keyring. It owns at most one goroutine, which ends
// when the keyring answers.
type entry struct {
	service string
	ring    ring
	wait    time.Duration

	mu      sync.Mutex
	running *question // nil if no call is under way
}

// A question is put to the keyring for all who ask meanwhile.
type question struct {
	done chan struct{} // closed when keys and err are set
	keys *seal.Keys
	err  error
}

func newEntry(service string) *entry {
	return &entry{service: service, ring: system{}, wait: patience}
}

// ask calls do in a goroutine, unless one is waiting for the keyring already, and
// waits for its result. (Of one entry, all calls have the same do.)
func (e *entry) ask(ctx context.Context, do func() (*seal.Keys, error)) (*seal.Keys, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q := e.question(do)
	limit := time.NewTimer(e.wait)
	defer limit.Stop()
	select {
	case <-q.done:
		return q.keys, q.err
	case <-ctx.Done():
		return nil, &seal.KeyError{Source: e.source(), Problem: "the keyring did not answer; it may wait for you to unlock it", Err: ctx.Err()}
	case <-limit.C:
		return nil, &seal.KeyError{Source: e.source(), Problem: "the keyring did not answer in " + e.wait.String() + "; it may wait for you to unlock it", Err: context.DeadlineExceeded}
	}
}

func (e *entry) question(do func() (*seal.Keys, error)) *question {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running != nil {
		return e.running
	}
	q := &question{done: make(chan struct{})}
	e.running = q
	go func() {
		q.keys, q.err = do()
		e.mu.Lock()
		e.running = nil
		e.mu.Unlock()
		close(q.done)
	}()
	return q
}

// lock locks the entry for the programs of this user. The lock file stays.
func (e *entry) lock() (unlock func(), err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "mcpbelt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(e.service))
	l := flock.New(filepath.Join(dir, "keyring-"+hex.EncodeToString(sum[:8])+".lock"))
	ctx, cancel := context.WithTimeout(context.Background(), e.wait)
	defer cancel()
	if _, err := l.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil
}
