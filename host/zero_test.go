package host_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	regnames "github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/transport"
)

// The zero Host says how one is made, and has nothing to close.
func TestZeroHost(t *testing.T) {
	const want = "host: the zero Host is not usable: make it with New, Open or OpenStore"
	var h host.Host
	ctx := watchdog(t)
	_, applyErr := h.Apply(ctx, &config.Config{})
	tryErr := h.Try(ctx, &config.Server{Name: "s"}, nil, nil)
	_, clientErr := h.Client(ctx, session.Key{Server: "s"})
	_, inspectErr := h.Inspect("s")
	_, loginErr := h.Login(ctx, session.Key{Server: "s"})
	for name, err := range map[string]error{
		"Apply": applyErr, "Try": tryErr, "Client": clientErr, "Inspect": inspectErr, "Login": loginErr,
		"Enable": h.Enable(ctx, "s"), "Refresh": h.Refresh(ctx), "Discover": h.Discover(ctx, session.Key{Server: "s"}),
		"Follow": h.Follow(ctx, nil, nil, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	for name, err := range map[string]error{"Close": h.Close(), "Shutdown": h.Shutdown(ctx)} {
		if err != nil {
			t.Errorf("%s: got %v, want none", name, err)
		}
	}
	defer func() {
		assert.Equal(t, fmt.Sprint(recover()), want, "Servers: the panic")
	}()
	h.Servers()
}

// What the host cannot work with is refused when it is given, not when it is used.
func TestNilRefused(t *testing.T) {
	ctx := watchdog(t)
	h := host.New(&host.Options{StateDir: host.NoState})
	defer func() { _ = h.Close() }()
	_, loginsErr := login.New(nil, nil)
	_, zeroErr := login.New(&seal.Store{}, nil)
	_, storeErr := host.OpenStore(ctx, nil, &host.Options{StateDir: host.NoState})
	_, addErr := manage.New(h, record.NewMemoryStore(), nil).Add(ctx, nil)
	_, noStoreErr := manage.New(h, nil, nil).Servers(ctx)
	_, zeroManagerErr := new(manage.Manager).Remove(ctx, "s")
	_, zeroHostErr := manage.New(new(host.Host), record.NewMemoryStore(), nil).Servers(ctx)
	_, noLoadErr := h.ApplyServers(ctx, "add", []string{"s"}, nil)
	load := func(context.Context) (*config.Config, error) { return nil, errors.New("no config") }
	none := func(context.Context) iter.Seq[[]string] { return nil }
	for want, err := range map[string]error{
		"session: NewManager: the store is nil":                                                   loginsErr,
		"session: NewManager: seal: the zero Store is not usable: make it with NewStore":          zeroErr,
		"record: the store is nil":                                                                storeErr,
		"manage: Add: the record is nil":                                                          addErr,
		"manage: the store is nil":                                                                noStoreErr,
		"manage: the zero Manager is not usable: make it with New, Open or OpenStore":             zeroManagerErr,
		"manage: the zero Host is not usable: make it with host.New, host.Open or host.OpenStore": zeroHostErr,
		"host: ApplyServers: there are no names, or load is nil":                                  noLoadErr,
		"host: Follow: changes and load must not be nil":                                          h.Follow(ctx, none, nil, nil),
		"host: Follow: changes returns nil":                                                       h.Follow(ctx, none, load, nil),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := new(login.Logins).Close(); err != nil {
		t.Errorf("Close of the zero Logins: got %v, want none", err)
	}
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
			{Name: "s", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1", Enabled: true},
		}})
		if err != nil {
			t.Errorf("%s: got %v, want no error", want, err)
		}
		if err := report.Failed["s"]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A function of the registry's options that panics harms no more than the server whose
// tools it was to name.
func TestNamesOfTheProgramPanic(t *testing.T) {
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{
		"tools/list": mcptest.Result(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`)})
	h := host.New(&host.Options{
		StateDir:  host.NoState,
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) { return server, nil },
		Registry:  registry.New(&registry.Options{Names: regnames.Names{Custom: func(string, string) string { panic("out of order") }}}),
	})
	_, err := h.Apply(watchdog(t), &config.Config{Servers: []*config.Server{
		{Name: "s", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1", Enabled: true},
	}})
	if err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if err, want := h.Servers()[0].Err, "a function of the registry's options panics: out of order"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A context that is nil is missed on the goroutine of the caller.
func TestNilContext(t *testing.T) {
	server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), mcptest.Script{"tools/list": mcptest.Result(`{"tools":[]}`)})
	h := host.New(&host.Options{
		StateDir:  host.NoState,
		Transport: func(session.Key, *config.Server) (mcp.Transport, error) { return server, nil },
	})
	defer func() { _ = h.Close() }()
	entry := &config.Server{Name: "s", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1", Enabled: true}
	servers := &config.Config{Servers: []*config.Server{entry}}
	var none context.Context
	assert.Value(h.Apply(watchdog(t), servers))(t)
	for name, call := range map[string]func(context.Context){
		"Apply": func(ctx context.Context) {
			_, _ = h.Apply(ctx, &config.Config{Servers: []*config.Server{{Name: "other"}}})
		},
		"ApplyServers": func(ctx context.Context) {
			_, _ = h.ApplyServers(ctx, "add", []string{"s"}, func(context.Context) (map[string]*config.Server, error) { return nil, nil })
		},
		"Enable":   func(ctx context.Context) { _ = h.Enable(ctx, "s") },
		"Disable":  func(ctx context.Context) { _ = h.Disable(ctx, "s") },
		"Restart":  func(ctx context.Context) { _ = h.Restart(ctx, "s") },
		"Refresh":  func(ctx context.Context) { _ = h.Refresh(ctx) },
		"Try":      func(ctx context.Context) { _ = h.Try(ctx, entry, nil, nil) },
		"Approve":  func(ctx context.Context) { _ = h.AllowLaunch(ctx, "me", "x") },
		"Reject":   func(ctx context.Context) { _ = h.DenyLaunch(ctx, "me", "x") },
		"Shutdown": func(ctx context.Context) { _ = h.Shutdown(ctx) },
	} {
		func() {
			defer func() {
				assert.Equal(t, fmt.Sprint(recover()), "host: the context is nil", "%s: the panic", name)
			}()
			call(none)
		}()
	}
	if _, err := h.Apply(watchdog(t), servers); err != nil {
		t.Errorf("afterwards: got %v, want none", err)
	}
}
