package hosttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Watchdog bounds a test that hangs.
func Watchdog(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Patient returns options with which opening waits for all servers, and with which servers
// may take minutes to connect and to answer, however slow the machine is.
func Patient(opts *host.Options) *host.Options {
	o := host.Options{}
	if opts != nil {
		o = *opts
	}
	o.OpenWait = cmp.Or(o.OpenWait, -1)
	o.Client.ConnectTimeout = cmp.Or(o.Client.ConnectTimeout, 10*time.Minute)
	o.Client.IdleTimeout = cmp.Or(o.Client.IdleTimeout, 10*time.Minute)
	o.Client.HealthInterval = cmp.Or(o.Client.HealthInterval, -1)
	return &o
}

// Open opens a host that is closed at the end of the test.
func Open(t *testing.T, path string, opts *host.Options) *host.Host {
	t.Helper()
	h, err := host.Open(Watchdog(t), path, Patient(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: got %v, want no error", err)
		}
	})
	return h
}

// Pinned returns a registry with the ledger in the file at path; nil for an empty path.
func Pinned(t *testing.T, path string) *registry.Registry {
	t.Helper()
	if path == "" {
		return nil
	}
	accepted, err := ledger.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return registry.New(&registry.Options{Ledger: accepted})
}

// Status returns the status of a server.
func Status(t *testing.T, h *host.Host, name string) host.Status {
	t.Helper()
	for _, s := range h.Servers() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("got no server %q, want one", name)
	return host.Status{}
}

// Until waits until the status of a server is as wanted.
func Until(t *testing.T, h *host.Host, name, what string, wanted func(host.Status) bool) {
	t.Helper()
	for range h.Watch(Watchdog(t)) {
		if wanted(Status(t, h, name)) {
			return
		}
	}
	t.Fatalf("got the server %q as %+v, want it %s", name, Status(t, h, name), what)
}

// Eventually waits until something is so of which no event tells.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx := Watchdog(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("got no end of the wait, want %s", what)
		}
	}
}

// WantStage compares the stage of the only server, and returns its status.
func WantStage(t testing.TB, h *host.Host, want host.Stage) host.Status {
	t.Helper()
	status := h.Servers()[0]
	if status.Stage != want {
		t.Errorf("got the stage %q (%v), want %q", status.Stage, status.Err, want)
	}
	return status
}

// Call calls a tool and returns its text.
func Call(t *testing.T, h *host.Host, tool, args string) (string, error) {
	t.Helper()
	res, err := h.Registry().Call(Watchdog(t), tool, json.RawMessage(args))
	if err != nil {
		return "", err
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s: got the answer %+v, want one block", tool, res)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok || res.IsError {
		t.Fatalf("%s: got the answer %+v, want a text", tool, res.Content[0])
	}
	return text.Text, nil
}

// Names returns the names of all tools, joined by blanks.
func Names(h *host.Host) string {
	var all []string
	for _, t := range h.Registry().Snapshot().Tools() {
		all = append(all, t.Definition().Name)
	}
	return strings.Join(all, " ")
}

// InProcess returns options with which s is every server of the config.
func InProcess(s *sdk.Server) *host.Options {
	return &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: s.Run}, nil
	}}
}

// Secret is the value of KEY in entries.
const Secret = "sk-0123456789abcd"

// Fakes puts servers in this process into options, of which one fails whose command is
// "broken", and has the host keep nothing.
func Fakes(o *host.Options) *host.Options {
	o.Transport = func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		if e.Command == "broken" {
			return nil, errors.New("it is broken by " + e.Env["KEY"].Reveal())
		}
		return &transport.Pipe{Serve: NewServer(e.Name + e.Description).Run}, nil
	}
	o.StateDir = host.NoState
	return o
}

// Patch reads a patch.
func Patch(t *testing.T, text string) *record.Patch {
	t.Helper()
	var p record.Patch
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// Statuses is a store of statuses in memory.
type Statuses struct {
	record.StatusStore
	Saves  atomic.Int32                                // how often something was to be saved
	OnSave atomic.Pointer[func(context.Context) error] // is called before: nothing is saved if it fails
}

// NewStatuses returns a store that has those statuses.
func NewStatuses(all map[string]record.LastStatus) *Statuses {
	s := &Statuses{StatusStore: record.NewStatuses(storage.NewMemory(), "statuses")}
	_ = s.StatusStore.SaveStatuses(context.Background(), all) // memory does not fail
	return s
}

// SaveStatuses implements [record.StatusStore].
func (s *Statuses) SaveStatuses(ctx context.Context, changes map[string]record.LastStatus) error {
	s.Saves.Add(1)
	if save := s.OnSave.Load(); save != nil {
		if err := (*save)(ctx); err != nil {
			return err
		}
	}
	return s.StatusStore.SaveStatuses(ctx, changes)
}

// At returns the status of a server.
func (s *Statuses) At(name string) record.LastStatus {
	all, _ := s.Statuses(context.Background())
	return all[name]
}

// ErrorOf returns the error of a call that returns a value as well.
func ErrorOf[T any](_ T, err error) error { return err }

// KillSoon makes the transports of the named local servers, which are killed if they do not
// end at once. Those of other servers are the host's.
func KillSoon(names ...string) func(session.Key, *config.Server) (mcp.Transport, error) {
	return func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		if !slices.Contains(names, e.Name) {
			return nil, nil
		}
		c := &transport.Command{Path: e.Command, Args: e.Args, CloseTimeout: 10 * time.Millisecond}
		for name, value := range e.Env {
			c.Env = append(c.Env, name+"="+value.Reveal())
		}
		return c, nil
	}
}

// Sleep sleeps in a bubble of testing/synctest, until all others in it rest.
func Sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
