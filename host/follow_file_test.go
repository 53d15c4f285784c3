package host_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
					if !slices.Equal(got, names) {
						t.Errorf("%s: got %q, want %q", what, got, names)
					}
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
				if err := h.Close(); err != nil {
					t.Error(err)
				}
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
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}
