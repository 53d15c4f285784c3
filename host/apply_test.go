package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A commandServers makes servers in this process, by the command of their entry. A
// server's only tool is named after the command, and waits while hold is open.
type commandServers struct {
	mu            sync.Mutex
	started       []string
	hold, entered chan struct{}
}

func (v *commandServers) transport(_ session.Key, e *config.Server) (mcp.Transport, error) {
	v.mu.Lock()
	v.started = append(v.started, e.Name+"="+e.Command)
	v.mu.Unlock()
	if e.Command == "bad" {
		return &transport.Pipe{Serve: func(context.Context, mcp.Transport) error { return fmt.Errorf("bad indeed") }}, nil
	}
	s := sdk.NewServer(&sdk.Implementation{Name: e.Name}, schemas)
	addTool(s, e.Command, func(context.Context) (string, error) {
		if v.hold != nil {
			v.entered <- struct{}{}
			<-v.hold
		}
		return e.Command, nil
	})
	// A tool that is held takes no notice of the end.
	return &transport.Pipe{Serve: s.Run, CloseTimeout: time.Millisecond}, nil
}

func (v *commandServers) open(t *testing.T, entries ...string) *host.Host {
	t.Helper()
	return open(t, write(t, commands(entries)...), &host.Options{Transport: v.transport})
}

// commands turns pairs of names and commands into pairs of names and entries.
func commands(pairs []string) []string {
	entries := slices.Clone(pairs)
	for i := 1; i < len(entries); i += 2 {
		if !strings.HasPrefix(entries[i], "{") {
			entries[i] = fmt.Sprintf(`{"command": %q}`, entries[i])
		}
	}
	return entries
}

func load(t *testing.T, pairs ...string) *config.Config {
	t.Helper()
	return assert.Value(config.Load(t.Context(), write(t, commands(pairs)...), nil))(t)
}

func TestApplyTouchesOnlyWhatChanged(t *testing.T) {
	v := &commandServers{}
	h := v.open(t, "kept", "k", "changed", "old", "gone", "g", "off", "o")
	kept := assert.Value(h.Client(t.Context(), session.Key{Server: "kept"}))(t)
	v.started = nil
	report := assert.Value(h.Apply(watchdog(t), load(t, "new", "n", "changed", "next", "kept", "k", "off", `{"command": "o", "disabled": true}`)))(t)
	assert.Equal(t, fmt.Sprint(report), "{[new] [off gone] [changed] [kept] [] map[]}", "report")
	slices.Sort(v.started)
	assert.Equal(t, strings.Join(v.started, " "), "changed=next new=n", "started")
	assert.Equal(t, names(h), "changed__next kept__k new__n", "tools")
	assert.Equal(t, assert.Value(h.Client(t.Context(), session.Key{Server: "kept"}))(t), kept, "the kept server has another client")
	assert.Equal(t, status(t, h, "kept").Source.Line, 5, "the kept server is said to stand at line")
}

func TestBrokenServerIsReplacedAnyway(t *testing.T) {
	v := &commandServers{}
	h := v.open(t, "s", "bad")
	report, err := h.Apply(watchdog(t), load(t, "s", "works"))
	assert.OK(t, err)
	assert.Equal(t, len(report.Replaced), 1, "replaced")
	assert.Equal(t, assert.Value(call(t, h, "s__works", "{}"))(t), "works")
}

// What goes wrong while servers are loaded changes none, and is an error.
func TestApplyServersFails(t *testing.T) {
	h := host.New(fakes(&host.Options{}))
	defer func() { _ = h.Close() }()
	entry := &config.Server{Name: "a", Command: "x", Transport: config.TransportStdio}
	for want, load := range map[string]func(context.Context) (map[string]*config.Server, error){
		"it is not there": func(context.Context) (map[string]*config.Server, error) { return nil, errors.New("it is not there") },
		`load returned the server "a" as "b"`: func(context.Context) (map[string]*config.Server, error) {
			return map[string]*config.Server{"b": entry}, nil
		},
		"what loads servers panics: out of order": func(context.Context) (map[string]*config.Server, error) { panic("out of order") },
	} {
		assert.Contains(t, fmt.Sprint(assert.Err(h.ApplyServers(watchdog(t), "add", "a", load))), want, "error")
		assert.Equal(t, len(h.Servers()), 0, "%s: servers", want)
	}
}

// ApplyServers leaves the servers alone that load does not return.
func TestApplyServersTouchesNoOther(t *testing.T) {
	h := open(t, write(t, "a", `{"command": "x"}`, "b", `{"command": "x"}`), fakes(&host.Options{}))
	before := assert.Value(h.Client(watchdog(t), session.Key{Server: "b"}))(t)
	report := assert.Value(h.ApplyServers(watchdog(t), "remove", "a", func(context.Context) (map[string]*config.Server, error) {
		return map[string]*config.Server{"a": nil}, nil
	}))(t)
	assert.Equal(t, strings.Join(report.Stopped, " "), "a", "stopped")
	assert.Equal(t, assert.Value(h.Client(watchdog(t), session.Key{Server: "b"}))(t), before, "another client of the other server, want the same")
	assert.Equal(t, names(h), "b__echo", "the tools")
}

// TestApplyOfAConfigMadeByHand: what no file can say is refused as a whole, and changes
// nothing.
func TestApplyOfAConfigMadeByHand(t *testing.T) {
	pipes := &pipeServers{}
	h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x"}`))
	made := func(names ...string) *config.Config {
		c := &config.Config{}
		for _, name := range names {
			c.Servers = append(c.Servers, &config.Server{Name: name, Transport: config.TransportStdio, Command: "y"})
		}
		return c
	}
	withNil := made("s")
	withNil.Servers = append(withNil.Servers, nil)
	for name, test := range map[string]struct {
		c    *config.Config
		want string
	}{
		"nil":       {nil, "no config"},
		"nil entry": {withNil, "nil"},
		"twice":     {made("a", "b", "a"), `"a"`},
		"no name":   {made("a", ""), "name"},
	} {
		report, err := h.Apply(watchdog(t), test.c)
		assert.Fails(t, err, "%s", name)
		assert.Contains(t, fmt.Sprint(err), test.want, "%s", name)
		assert.Equal(t, len(report.Started), 0, "%s", name)
		assert.Equal(t, len(h.Servers()), 1, "%s: servers", name)
		assert.Equal(t, names(h), "s__echo", "%s", name)
	}
	assert.Equal(t, len(assert.Value(h.Apply(watchdog(t), made("a", "b")))(t).Started), 2)
	assert.OK(t, errors.Join(h.Close()))
}
