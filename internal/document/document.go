// Package document keeps a value as a whole, as one record of a storage.Store or in a
// file of its own. Several processes may change it: none overwrites what it has not seen.
package document

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A Keeper is what keeps a document: a storage.Store, or a [File]. If it is a
// storage.Locker, it is locked while the document is changed.
type Keeper interface {
	Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error)
	Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error)
}

const (
	// pollStore and pollFile are how often what is watched may have changed, where
	// the keeper cannot tell.
	pollStore = 3 * time.Second
	pollFile  = time.Second
)

// Watch yields the names of the records that have changed, as storage.Watcher says. If the
// keeper is none, all may have changed every 3 seconds, and a file each second.
func Watch(ctx context.Context, k Keeper, prefix string) iter.Seq2[string, error] {
	if w, ok := k.(storage.Watcher); ok {
		return w.Watch(ctx, prefix)
	}
	every := pollStore
	if _, ok := k.(*File); ok {
		every = pollFile
	}
	return func(yield func(string, error) bool) {
		err := ctx.Err()
		for err == nil && yield("", nil) {
			err = feed.Sleep(ctx, every)
		}
		if err != nil {
			yield("", err)
		}
	}
}

// maxTries bounds how often another process may have been faster. That many conflicts
// in a row are the fault of a keeper that breaks its contract.
const maxTries = 1000

var errNoKeeper = errors.New("there is no store")

// A Value is a document. Make one with [New]. It is safe for concurrent use; the values
// that it gives away are shared and must not be changed.
type Value[T any] struct {
	keeper Keeper
	name   string
	decode func([]byte) (T, error)
	encode func(T) ([]byte, error)

	mu    sync.Mutex       // guards what follows; nothing slow happens under it
	at    storage.Revision // of known; empty: nothing is kept
	known T
}

// New returns the document that is kept under a name. If nothing is, it is the zero T.
func New[T any](k Keeper, name string, decode func([]byte) (T, error), encode func(T) ([]byte, error)) *Value[T] {
	if nils.Is(k) {
		k = nil
	}
	return &Value[T]{keeper: k, name: name, decode: decode, encode: encode}
}

// Load returns what is kept now. It is decoded only if it has changed.
func (v *Value[T]) Load(ctx context.Context) (T, error) {
	value, _, err := v.load(ctx)
	return value, err
}

func (v *Value[T]) load(ctx context.Context) (T, storage.Revision, error) {
	v.mu.Lock()
	known, at := v.known, v.at
	v.mu.Unlock()
	var zero T
	if v.keeper == nil {
		return zero, "", errNoKeeper
	}
	r, err := v.keeper.Load(ctx, v.name, at)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		v.become(zero, "")
		return zero, "", nil
	case err != nil:
		return zero, "", err
	case r.Revision == at:
		return known, at, nil
	}
	value, err := v.decode(r.Data)
	if err != nil {
		return zero, "", err
	}
	v.become(value, r.Revision)
	return value, r.Revision, nil
}

// Watch yields what is kept now, and what is after each change, until ctx ends or the store is
// closed. An error of the keeper is yielded once, and it goes on.
func (v *Value[T]) Watch(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if v.keeper == nil {
			yield(*new(T), errNoKeeper)
			return
		}
		var last *storage.Revision // of what was yielded; nil: none was, or an error
		failed := false
		for _, err := range Watch(ctx, v.keeper, v.name) {
			if err != nil {
				return
			}
			value, at, err := v.load(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil && failed, err == nil && last != nil && at == *last:
				continue
			}
			last, failed = &at, err != nil
			if failed {
				last = nil
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

func (v *Value[T]) become(value T, at storage.Revision) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known, v.at = value, at
}

// Change replaces the document by what edit makes of it, and returns when that is kept. It
// calls edit again if another process was faster. If edit returns an error or false, nothing is
// kept.
func (v *Value[T]) Change(ctx context.Context, edit func(now T) (next T, changed bool, err error)) error {
	if l, ok := v.keeper.(storage.Locker); ok {
		unlock, err := l.Lock(ctx, v.name)
		if err != nil {
			return err
		}
		defer unlock()
	}
	for try := 1; ; try++ {
		now, at, err := v.load(ctx)
		if err != nil {
			return err
		}
		next, changed, err := edit(now)
		if err != nil || !changed {
			return err
		}
		data, err := v.encode(next)
		if err != nil {
			return err
		}
		at, err = v.keeper.Save(ctx, v.name, data, at)
		if err == nil {
			v.become(next, at)
			return nil
		}
		if !errors.Is(err, storage.ErrConflict) || try == maxTries {
			return err
		}
	}
}
