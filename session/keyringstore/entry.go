package keyringstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/zalando/go-keyring"

	"github.com/mcpbelt/mcpbelt/session/seal"
)

// defaultService is the name of the service if none is given.
const defaultService = "mcpbelt"

// patience is how long a call waits at most for the keyring, which may wait for
// its user.
const patience = time.Minute

// A ring is a keyring. Its calls may take as long as they like.
type ring interface {
	Get(service, account string) (string, error)
	Set(service, account, text string) error
	Delete(service, account string) error
}

// system is the keyring of the operating system.
type system struct{}

func (system) Get(service, account string) (string, error) { return keyring.Get(service, account) }
func (system) Set(service, account, text string) error     { return keyring.Set(service, account, text) }
func (system) Delete(service, account string) error        { return keyring.Delete(service, account) }

// An asker asks the keyring for entries of one service, one question at a time. It owns at most one
// goroutine, which ends when the keyring answers.
type asker struct {
	service string
	ring    ring
	wait    time.Duration
	busy    chan struct{} // capacity 1: holds a token while the keyring is asked
}

func newAsker(service string) *asker {
	return &asker{cmp.Or(service, defaultService), system{}, patience, make(chan struct{}, 1)}
}

// ask calls do in a goroutine, when no other call is under way, and waits for it. Fail makes the error of
// what is wrong with the keyring; errors of do that are a *seal.KeyError are returned as they are.
func ask[T any](ctx context.Context, a *asker, fail func(problem string, err error) error, do func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var got answer
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	silent := func() (T, error) {
		return got.value, fail("the keyring did not answer; it may wait for you to unlock it", ctx.Err())
	}
	if ctx.Err() != nil {
		return silent()
	}
	select {
	case a.busy <- struct{}{}:
	case <-ctx.Done():
		return silent()
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := do()
		<-a.busy
		answered <- answer{value, err}
	}()
	select {
	case got = <-answered:
	case <-ctx.Done():
		return silent()
	}
	switch {
	case got.err == nil, errors.As(got.err, new(*seal.KeyError)):
		return got.value, got.err
	case errors.Is(got.err, keyring.ErrSetDataTooBig):
		return got.value, fail("it is too long for this keyring: take a shorter secret, or take old keys away", got.err)
	}
	return got.value, fail("the keyring of the operating system cannot be used; is it there, and unlocked? Where there is none, take keys from a file or the environment", got.err)
}

// lock locks the entry of the keys for the programs of this user. The lock file stays.
func (a *asker) lock() (unlock func(), err error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "mcpbelt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(a.service))
	l := flock.New(filepath.Join(dir, "keyring-"+hex.EncodeToString(sum[:8])+".lock"))
	ctx, cancel := context.WithTimeout(context.Background(), a.wait)
	defer cancel()
	if _, err := l.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil
}
