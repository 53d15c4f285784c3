package host_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A lockedBuffer collects what is logged.
type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.all.Reset()
	return b.all.String()
}

// mistaken is an entry with two keys that are near to others.
const mistaken = `{"command": "x", "evn": {}, "disabledd": true}`

// What looks like a mistake in an entry is in the status, in the diagnosis and, once for
// each config that comes in, in the log, however that comes in.
func TestWarningsOfTheConfigAreTold(t *testing.T) {
	var log lockedBuffer
	options := func() *host.Options {
		opts := fakes(&host.Options{})
		opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
		return opts
	}
	path := write(t, "good", `{"command": "x"}`, "odd", mistaken)
	stored := func(t *testing.T) record.Store {
		t.Helper()
		return edit.OpenFileStore(path, nil)
	}
	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
	once := func(context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) { yield([]string{path}) }
	}
	for name, start := range map[string]func(t *testing.T) *host.Host{
		"Open": func(t *testing.T) *host.Host { return open(t, path, options()) },
		"OpenStore": func(t *testing.T) *host.Host {
			h := assert.Value(host.OpenStore(watchdog(t), stored(t), patient(options())))(t)
			t.Cleanup(func() { _ = h.Close() })
			return h
		},
		"Apply": func(t *testing.T) *host.Host {
			h := host.New(options())
			c, err := load(t.Context())
			if err == nil {
				_, err = h.Apply(watchdog(t), c)
			}
			if err != nil {
				t.Error(err)
			}
			return h
		},
		"Follow": func(t *testing.T) *host.Host {
			h := host.New(options())
			if err := h.Follow(watchdog(t), once, load, nil); err != nil {
				t.Error(err)
			}
			return h
		},
	} {
		t.Run(name, func(t *testing.T) {
			log.take()
			h := start(t)
			defer func() { _ = h.Close() }()
			logged := log.take()
			assert.Equal(t, len(status(t, h, "good").Warnings), 0, "good: warnings")
			warnings := status(t, h, "odd").Warnings
			if len(warnings) != 2 {
				t.Fatalf("odd: got warnings %v, want 2", warnings)
			}
			d := assert.Value(doctor.Diagnose(watchdog(t), h, "odd"))(t)
			for i, key := range []string{"evn", "disabledd"} {
				if got := warnings[i].Error(); !strings.Contains(got, key) || !strings.HasPrefix(got, path+":4:") {
					t.Errorf("got warning %q, want one of %s in line 4", got, key)
				}
				if got := strings.Count(logged, "mcpServers.odd."+key); got != 1 {
					t.Errorf("%s was logged %d times, want once:\n%s", key, got, logged)
				}
				if !strings.Contains(fmt.Sprint(d.Hints), key) {
					t.Errorf("got hints %v, want one of %s", d.Hints, key)
				}
			}
			assert.Equal(t, d.Hints[0].Code, doctor.HintInvalidEntry, "code")
			assert.Contains(t, logged, "server=odd", "log")
		})
	}
}

// Warnings follow the file also for a server that is not touched.
func TestWarningsFollowTheFile(t *testing.T) {
	h := host.New(fakes(&host.Options{}))
	defer func() { _ = h.Close() }()
	read := func(entry string) {
		t.Helper()
		c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"a": `+entry+`}}`), &config.Options{Scope: config.ScopeUser}))(t)
		assert.Value(h.Apply(watchdog(t), c))(t)
	}
	read(`{"command": "x", "userHeader": "X-User"}`)
	before := len(status(t, h, "a").Warnings)
	read(`{"command": "x"}`)
	after := len(status(t, h, "a").Warnings)
	if before != 1 || after != 0 {
		t.Errorf("got %d and then %d warnings, want 1 and 0", before, after)
	}
}

// A record can have warnings, too.
func TestWarningsOfRecordsAreTold(t *testing.T) {
	var log lockedBuffer
	opts := fakes(&host.Options{})
	opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h := open(t, write(t, "a", `{"command": "x"}`), opts)
	assert.Value(manage.New(h, record.NewMemoryStore(), nil).Add(watchdog(t), &record.Record{Name: "b", Command: "x y"}))(t)
	assert.Equal(t, len(status(t, h, "b").Warnings), 1, "warnings")
	assert.Equal(t, strings.Count(log.take(), "has spaces"), 1, "the warning was logged times")
}
