// Tests of options.go and errors.go: functions of the program that fail, nil, and warnings of the configuration.

package host_test

import (
	"bytes"
	"context"
	"errors"
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
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/transport"
)

// The zero Host says how one is made, and has nothing to close.
func TestZeroHost(t *testing.T) {
	const want = "host: the zero Host is not usable: make it with New or Open"
	var h host.Host
	for name, method := range hostMethods {
		assert.Contains(t, fmt.Sprint(method(watchdog(t), &h, "s")), want, "%s", name)
	}
	assert.Contains(t, fmt.Sprint(assert.Err(h.Inspect("s"))), want, "Inspect")
	assert.OK(t, h.Close(), "Close")
	assert.OK(t, h.Shutdown(watchdog(t)), "Shutdown")
	defer func() { assert.Equal(t, fmt.Sprint(recover()), want, "Servers: the panic") }()
	h.Servers()
}

// What the host cannot work with is refused when it is given, not when it is used.
func TestNilRefused(t *testing.T) {
	ctx := watchdog(t)
	h := host.New(&host.Options{StateDir: host.NoState})
	defer func() { _ = h.Close() }()
	_, loginsErr := login.New(nil, nil)
	_, zeroErr := login.New(&seal.Store{}, nil)
	_, storeErr := openStore(ctx, nil, &host.Options{StateDir: host.NoState})
	_, addErr := manage.New(h, record.NewMemoryStore(), nil).Add(ctx, nil)
	_, noStoreErr := manage.New(h, nil, nil).Servers(ctx)
	_, zeroManagerErr := new(manage.Manager).Remove(ctx, "s")
	_, zeroHostErr := manage.New(new(host.Host), record.NewMemoryStore(), nil).Servers(ctx)
	_, noLoadErr := h.ApplyServers(ctx, "add", "s", nil)
	load := func(context.Context) (*config.Config, error) { return nil, errors.New("no config") }
	none := func(context.Context) iter.Seq[[]string] { return nil }
	for want, err := range map[string]error{
		"session: NewManager: the store is nil": loginsErr,
		"session: NewManager: the store is not made with seal.NewStore, or its driver is neither a storage.Locker nor a storage.Leaser: two processes would use up one refresh token": zeroErr,
		"record: the store is nil":       storeErr,
		"manage: Add: the record is nil": addErr,
		"manage: the store is nil":       noStoreErr,
		"manage: the zero Manager is not usable: make it with New, Open or OpenStore": zeroManagerErr,
		"manage: the zero Host is not usable: make it with host.New or host.Open":     zeroHostErr,
		"host: ApplyServers: load is nil":                                             noLoadErr,
		"host: Follow: changes and load must not be nil":                              h.Follow(ctx, none, nil, nil),
		"host: Follow: changes returns nil":                                           h.Follow(ctx, none, load, nil),
	} {
		assert.Fails(t, err)
		assert.Equal(t, err.Error(), want)
	}
	assert.OK(t, new(login.Logins).Close(), "Close of the zero Logins")
}

// A program's function that makes no transport, or panics, fails its server and no
// other.
func TestTransportOfTheProgramFails(t *testing.T) {
	for want, own := range map[string]func() (mcp.Transport, error){
		"Options.Transport returns a nil *transport.HTTP": func() (mcp.Transport, error) { return (*transport.HTTP)(nil), nil },
		"Options.Transport panics: out of order":          func() (mcp.Transport, error) { panic("out of order") },
	} {
		h := host.New(&host.Options{
			StateDir:  host.NoState,
			Transport: func(session.Key, *config.Server) (mcp.Transport, error) { return own() },
		})
		report, err := h.Apply(watchdog(t), &config.Config{Servers: []*config.Server{
			{Name: "s", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1"},
		}})
		assert.OK(t, err, "%s", want)
		assert.Contains(t, fmt.Sprint(report.Failed["s"]), want)
		assert.OK(t, h.Close())
	}
}

// A context that is nil is missed on the goroutine of the caller.
func TestNilContext(t *testing.T) {
	h := open(t, write(t, "s", `{"command": "x"}`), fakes(&host.Options{}))
	var none context.Context
	for _, name := range []string{"Apply", "ApplyServers", "Enable", "Disable", "Restart", "Refresh", "Try", "AllowLaunch", "DenyLaunch"} {
		func() {
			defer func() { assert.Equal(t, fmt.Sprint(recover()), "host: the context is nil", "%s: the panic", name) }()
			_ = hostMethods[name](none, h, "s")
		}()
	}
	defer func() { assert.Equal(t, fmt.Sprint(recover()), "host: the context is nil", "Shutdown: the panic") }()
	_ = h.Shutdown(none)
}

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
			h := assert.Value(openStore(watchdog(t), stored(t), patient(options())))(t)
			t.Cleanup(func() { _ = h.Close() })
			return h
		},
		"Follow, which is Apply": func(t *testing.T) *host.Host {
			h := host.New(options())
			assert.OK(t, h.Follow(watchdog(t), once, load, nil))
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
			assert.Equal(t, len(warnings), 2, "odd: warnings")
			d := assert.Value(doctor.Diagnose(watchdog(t), h, "odd"))(t)
			for i, key := range []string{"evn", "disabledd"} {
				got := warnings[i].Error()
				assert.Contains(t, got, key, "warning")
				assert.True(t, strings.HasPrefix(got, path+":4:"), "warning")
				assert.Equal(t, strings.Count(logged, "mcpServers.odd."+key), 1, "%s was logged", key)
				assert.Contains(t, fmt.Sprint(d.Hints), key, "hints")
			}
			assert.Equal(t, d.Hints[0].Code, "invalid_entry", "code")
			assert.Contains(t, logged, "odd", "log")
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
	assert.Equal(t, len(status(t, h, "a").Warnings), 1)
	read(`{"command": "x"}`)
	assert.Equal(t, len(status(t, h, "a").Warnings), 0)
}

// A record can have warnings, too.
func TestWarningsOfRecordsAreTold(t *testing.T) {
	var log lockedBuffer
	opts := fakes(&host.Options{})
	opts.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h := open(t, write(t, "a", `{"command": "x"}`), opts)
	assert.Value(manage.New(h, record.NewMemoryStore(), nil).Add(watchdog(t), &config.Server{Name: "b", Command: "x y"}))(t)
	assert.Equal(t, len(status(t, h, "b").Warnings), 1, "warnings")
	assert.Equal(t, strings.Count(log.take(), "has spaces"), 1, "the warning was logged times")
}
