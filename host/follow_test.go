package host_test

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
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
	done := func(r host.Report, err error) { f.done <- followed{r, err} }
	go func() { f.ended <- f.host.Follow(ctx, f.changes, load, done) }()
	t.Cleanup(func() { assert.OK(t, f.host.Close()) })
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
	assert.OK(t, err)
	assert.Equal(t, strings.Join(report.Started, " "), "a b")
	assert.Equal(t, f.running(), "a b")
	report, err = f.change(servers("b", "c"))
	assert.OK(t, err)
	assert.Equal(t, fmt.Sprint(report.Stopped, report.Kept), "[a] [b]", "stopped and kept")
	assert.Equal(t, f.running(), "b c")
}

// A file that is half-written, empty, wrong or gone leaves all as it is.
func TestFollowABadFile(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	whole := servers("a", "b")
	assert.Value(f.change(whole))(t)
	for i := range len(whole) {
		assert.Equal(t, assert.As[*config.Error](t, assert.Err(f.change(whole[:i])), "%q", whole[:i]).File, f.path, "%q", whole[:i])
		assert.Equal(t, f.running(), "a b", "after %q there runs", whole[:i])
	}
	assert.OK(t, os.Remove(f.path))
	assert.Is(t, assert.Err(f.again()), fs.ErrNotExist, "of no file")
	assert.Equal(t, f.running(), "a b", "of no file")
	assert.Value(f.change(servers("b")))(t)
	assert.Equal(t, f.running(), "b")
}

// An entry with an error is told of, and the others are applied.
func TestFollowABadEntry(t *testing.T) {
	f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
	assert.Value(f.change(servers("a")))(t)
	assert.Fails(t, assert.Value(f.change(`{"mcpServers": {"a": {"command": 5}, "b": {"command": "x"}}}`))(t).Failed["a"])
	assert.Equal(t, f.running(), "a b")
}

func TestFollowEnds(t *testing.T) {
	t.Run("with ctx", func(t *testing.T) {
		ctx, cancel := context.WithCancel(watchdog(t))
		f := newFollowing(t, ctx, filepath.Join(t.TempDir(), "mcp.json"))
		cancel()
		assert.Is(t, <-f.ended, context.Canceled)
	})
	t.Run("with the host", func(t *testing.T) {
		f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
		assert.Value(f.change(servers("a")))(t)
		assert.OK(t, f.host.Close())
		assert.Is(t, <-f.ended, host.ErrClosed)
	})
	t.Run("with the changes", func(t *testing.T) {
		f := newFollowing(t, watchdog(t), filepath.Join(t.TempDir(), "mcp.json"))
		close(f.changed)
		assert.OK(t, <-f.ended)
	})
	t.Run("without configuration", func(t *testing.T) {
		h := host.New(nil)
		defer func() { _ = h.Close() }()
		once := func(context.Context) iter.Seq[[]string] {
			return func(yield func([]string) bool) { yield(nil) }
		}
		none := func(context.Context) (*config.Config, error) { return nil, nil }
		var told error
		err := h.Follow(t.Context(), once, none, func(_ host.Report, err error) { told = err })
		assert.OK(t, err)
		assert.Fails(t, told)
	})
}

// A host of the records of a store follows it: what another process adds and removes there
// starts and ends here.
func TestOpenStoreFollows(t *testing.T) {
	kept := storage.NewMemory()
	there := record.NewStore(kept, "servers")
	opts := exampleOptions()
	opts.Follow = true
	h := assert.Value(openStore(t.Context(), record.NewStore(kept, "servers"), opts))(t)
	defer func() { assert.Is(t, h.Close(), nil) }()
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
	assert.Value(record.Add(t.Context(), there, &config.Server{Name: "notes", Command: "x"}))(t)
	await(1)
	assert.Value(record.Remove(t.Context(), there, "notes"))(t)
	await(0)
}

// Open follows its file if it is told to, and only as long as it is sound.
func TestOpenFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	for name, follow := range map[string]bool{"followed": true, "not followed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				put := func(text string) {
					t.Helper()
					// Beside it and over it, as editors do: a file in which a time is the same is
					// another one all the same.
					assert.OK(t, os.WriteFile(path+".new", []byte(text), 0o600))
					assert.OK(t, os.Rename(path+".new", path))
					time.Sleep(time.Minute)
				}
				var log lockedBuffer
				put(servers("a", "b"))
				opts := fakes(&host.Options{Follow: follow})
				opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
				h := open(t, path, opts)
				want := func(what string, names ...string) {
					t.Helper()
					if !follow {
						names = []string{"a", "b"}
					}
					var got []string
					for _, s := range h.Servers() {
						if s.Stage == host.StageReady {
							got = append(got, s.Name)
						}
					}
					assert.Equal(t, fmt.Sprint(got), fmt.Sprint(names), "%s", what)
				}
				want("at first", "a", "b")
				put(servers("b", "c"))
				want("after a change", "b", "c")
				log.take()
				put(`{"mcpServers": {"b": {`)
				want("half-written", "b", "c")
				if got := strings.Count(log.take(), "has an error"); got != 1 && follow {
					t.Errorf("the error was logged %d times, want once", got)
				}
				assert.OK(t, os.Remove(path))
				time.Sleep(time.Minute)
				want("without a file", "b", "c")
				put(servers("c"))
				want("with a file again", "c")
				assert.OK(t, h.Close())
			})
		})
	}
}

// A file that is being written is read when it is whole.
func TestFollowWaitsForTheEndOfTheFile(t *testing.T) {
	path := write(t, "a", `{"command": "x"}`)
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		opts := fakes(&host.Options{Follow: true})
		opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := open(t, path, opts)
		text := servers("b", "c", "d")
		for i := range len(text) {
			assert.OK(t, os.WriteFile(path, []byte(text[:i+1]), 0o600))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		assert.Equal(t, names(h), "b__echo c__echo d__echo", "tools")
		assert.Lacks(t, log.take(), "error", "log")
		assert.OK(t, h.Close())
	})
}
