package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

var errUnsound = errors.New("it is not sound")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newValue returns a document of bytes; "?" is not sound.
func newValue(k Keeper) *Value[string] {
	return New(k, "a", func(data []byte) (string, error) {
		if string(data) == "?" {
			return "", errUnsound
		}
		return string(data), nil
	}, func(text string) ([]byte, error) { return []byte(text), nil })
}

func set(text string) func(string) (string, bool, error) {
	return func(string) (string, bool, error) { return text, true, nil }
}

// Many add a byte each, and none is lost.
func TestChangesAtOnce(t *testing.T) {
	const writers, each = 4, 10
	file := newFile(t)
	memory := storage.NewMemory()
	for name, two := range map[string][2]Keeper{
		"file":     {file, &File{Path: file.Path, Most: file.Most, Patience: file.Patience}},
		"store":    {memory, memory},
		"unlocked": {unlocked{memory}, unlocked{memory}},
	} {
		t.Run(name, func(t *testing.T) {
			values := [2]*Value[string]{newValue(two[0]), newValue(two[1])}
			assert.OK(t, values[0].Change(t.Context(), set("")))
			var wg sync.WaitGroup
			for i := range writers {
				wg.Go(func() {
					for range each {
						if err := values[i%2].Change(t.Context(), func(now string) (string, bool, error) { return now + string(rune('a'+i)), true, nil }); err != nil {
							t.Errorf("writer %d: %v", i, err)
							return
						}
					}
				})
			}
			wg.Wait()
			for _, v := range values {
				text := assert.Value(v.Load(t.Context()))(t)
				for i := range writers {
					assert.Equal(t, bytes.Count([]byte(text), []byte{byte('a' + i)}), each, "changes of writer %d", i)
				}
			}
		})
	}
}

// An unlocked keeper is no Locker.
type unlocked struct{ k Keeper }

func (u unlocked) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	return u.k.Load(ctx, name, known)
}

func (u unlocked) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	return u.k.Save(ctx, name, data, old)
}

func TestNoKeeper(t *testing.T) {
	for _, k := range []Keeper{nil, (*unlocked)(nil)} {
		v := newValue(k)
		assert.Is(t, assert.Err(v.Load(t.Context())), errNoKeeper)
		assert.Is(t, v.Change(t.Context(), set("one")), errNoKeeper)
	}
}

func TestChange(t *testing.T) {
	store := storage.NewMemory()
	v := newValue(store)
	expect := func(want string) {
		t.Helper()
		assert.Equal(t, assert.Value(v.Load(t.Context()))(t), want)
	}
	expect("")
	assert.OK(t, v.Change(t.Context(), set("one")))
	expect("one")
	assert.OK(t, v.Change(t.Context(), func(string) (string, bool, error) { return "two", false, nil }))
	assert.Is(t, v.Change(t.Context(), func(string) (string, bool, error) { return "two", true, errUnsound }), errUnsound)
	expect("one")
	r := assert.Value(store.Load(t.Context(), "a", ""))(t)
	at := assert.Value(store.Save(t.Context(), "a", []byte("theirs"), r.Revision))(t)
	expect("theirs")
	assert.OK(t, store.Delete(t.Context(), "a", at))
	expect("")
}

// What is not sound is an error, and is not replaced.
func TestUnsound(t *testing.T) {
	store := storage.NewMemory()
	assert.Value(store.Save(t.Context(), "a", []byte("?"), ""))(t)
	v := newValue(store)
	assert.Is(t, assert.Err(v.Load(t.Context())), errUnsound)
	assert.Is(t, v.Change(t.Context(), set("one")), errUnsound)
	assert.Equal(t, string(assert.Value(store.Load(t.Context(), "a", ""))(t).Data), "?")
}

// A Watch yields each state that it sees, and an error once, whether or not the keeper tells of
// changes.
func TestWatch(t *testing.T) {
	for name, hide := range map[string]func(storage.Store) Keeper{
		"told":   func(m storage.Store) Keeper { return m },
		"polled": func(m storage.Store) Keeper { return struct{ storage.Store }{m} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				memory := storage.NewMemory()
				v, other := newValue(hide(memory)), newValue(memory)
				var got []string
				done := make(chan struct{})
				go func() {
					defer close(done)
					for value, err := range v.Watch(ctx) {
						got = append(got, fmt.Sprintf("%s, %v", value, err))
					}
				}()
				for _, text := range []string{"", "a", "?", "?", "b"} {
					if text != "" {
						assert.Value(save(ctx, memory, text))(t)
					}
					time.Sleep(10 * time.Second) // of the bubble
				}
				assert.OK(t, other.Change(ctx, set("c")))
				time.Sleep(10 * time.Second)
				cancel()
				<-done
				want := []string{", <nil>", "a, <nil>", ", it is not sound", "b, <nil>", "c, <nil>"}
				assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
			})
		})
	}
}

// save replaces the document of a store, whatever it was.
func save(ctx context.Context, s storage.Store, text string) (storage.Revision, error) {
	r, err := s.Load(ctx, "a", "")
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return "", err
	}
	return s.Save(ctx, "a", []byte(text), r.Revision)
}
