package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A following is a host that follows a config file, of which the test says when it
// has changed.
type following struct {
	t       *testing.T
	host    *host.Host
	path    string
	changed chan struct{}
	done    chan followed
	ended   chan error
}

type followed struct {
	report host.Report
	err    error
}

// newFollowing follows the file at path, beginning with what is in it.
func newFollowing(t *testing.T, ctx context.Context, path string) *following {
	t.Helper()
	f := &following{
		t: t, host: host.New(exampleOptions()), path: path,
		changed: make(chan struct{}), done: make(chan followed), ended: make(chan error, 1),
	}
	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
	opts := &host.FollowOptions{Done: func(r host.Report, err error) { f.done <- followed{r, err} }}
	go func() { f.ended <- f.host.Follow(ctx, f.changes, load, opts) }()
	t.Cleanup(func() {
		if err := f.host.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *following) changes(ctx context.Context) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for {
			select {
			case _, ok := <-f.changed:
				if !ok || !yield([]string{f.path}) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// change puts text into the file and returns what came of it.
func (f *following) change(text string) (host.Report, error) {
	f.t.Helper()
	assert.OK(f.t, os.WriteFile(f.path, []byte(text), 0o600))
	return f.again()
}

func (f *following) again() (host.Report, error) {
	f.t.Helper()
	f.changed <- struct{}{}
	done := <-f.done
	return done.report, done.err
}

// running returns the names of the servers that are ready.
func (f *following) running() string {
	var names []string
	for _, s := range f.host.Servers() {
		if s.State.Server != nil {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, " ")
}

func servers(names ...string) string {
	var members []string
	for _, name := range names {
		members = append(members, fmt.Sprintf("%q: {\"command\": \"x\"}", name))
	}
	return `{"mcpServers": {` + strings.Join(members, ", ") + `}}`
}

func TestFollow(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	report, err := f.change(servers("a", "b"))
	if err != nil || !slices.Equal(report.Started, []string{"a", "b"}) || f.running() != "a b" {
		t.Fatalf("%+v, %v, %q", report, err, f.running())
	}
	report, err = f.change(servers("b", "c"))
	if err != nil || !slices.Equal(report.Stopped, []string{"a"}) || !slices.Equal(report.Kept, []string{"b"}) || f.running() != "b c" {
		t.Fatalf("%+v, %v, %q", report, err, f.running())
	}
}

// A file that is half-written, empty, wrong or gone leaves all as it is.
func TestFollowABadFile(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	whole := servers("a", "b")
	assert.Value(f.change(whole))(t)
	for i := range len(whole) {
		var fault *config.Error
		if _, err := f.change(whole[:i]); !errors.As(err, &fault) || fault.File != f.path {
			t.Fatalf("%q: %v", whole[:i], err)
		}
		if f.running() != "a b" {
			t.Fatalf("after %q there runs %q", whole[:i], f.running())
		}
	}
	assert.OK(t, os.Remove(f.path))
	if _, err := f.again(); !errors.Is(err, fs.ErrNotExist) || f.running() != "a b" {
		t.Fatalf("of no file: %v, %q", err, f.running())
	}
	if _, err := f.change(servers("b")); err != nil || f.running() != "b" {
		t.Fatalf("%v, %q", err, f.running())
	}
}

// An entry with an error is told of, and the others are applied.
func TestFollowABadEntry(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	assert.Value(f.change(servers("a")))(t)
	report, err := f.change(`{"mcpServers": {"a": {"command": 5}, "b": {"command": "x"}}}`)
	if err != nil || report.Failed["a"] == nil || f.running() != "a b" {
		t.Fatalf("%+v, %v, %q", report, err, f.running())
	}
}

func TestFollowEnds(t *testing.T) {
	t.Run("with ctx", func(t *testing.T) {
		ctx, cancel := context.WithCancel(watchdog(t))
		f := newFollowing(t, ctx, filepath.Join(t.TempDir(), "mcp.json"))
		cancel()
		if err := <-f.ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("with the host", func(t *testing.T) {
		f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
		assert.Value(f.change(servers("a")))(t)
		assert.OK(t, f.host.Close())
		if err := <-f.ended; !errors.Is(err, host.ErrClosed) {
			t.Error(err)
		}
	})
	t.Run("with the changes", func(t *testing.T) {
		f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
		close(f.changed)
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
	})
	t.Run("without configuration", func(t *testing.T) {
		h := host.New(nil)
		defer func() { _ = h.Close() }()
		once := func(context.Context) iter.Seq[[]string] {
			return func(yield func([]string) bool) { yield(nil) }
		}
		none := func(context.Context) (*config.Config, error) { return nil, nil }
		var told error
		err := h.Follow(t.Context(), once, none, &host.FollowOptions{Done: func(_ host.Report, err error) { told = err }})
		if err != nil || told == nil {
			t.Errorf("%v, %v", err, told)
		}
	})
}

// A host of the records of a store follows it: what another process adds and removes there
// starts and ends here.
func TestOpenStoreFollows(t *testing.T) {
	kept := storage.NewMemory()
	there := record.NewStore(kept, "servers")
	opts := exampleOptions()
	opts.Follow = true
	h := assert.Value(host.OpenStore(t.Context(), record.NewStore(kept, "servers"), opts))(t)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	await := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for servers := range h.Watch(ctx) {
			if len(servers) == want {
				return
			}
		}
		t.Fatalf("got %d servers, want %d", len(h.Servers()), want)
	}
	assert.Value(record.Add(t.Context(), there, &record.Record{Name: "notes", Command: "x"}))(t)
	await(1)
	assert.Value(record.Remove(t.Context(), there, "notes"))(t)
	await(0)
}
