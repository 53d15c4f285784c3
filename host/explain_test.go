package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

// wantNotReady calls a tool, and returns the error that says why its server is not ready.
func wantNotReady(t *testing.T, ctx context.Context, r *registry.Registry, tool, server, reason string) *registry.NotReadyError {
	t.Helper()
	_, err := r.Call(ctx, tool, json.RawMessage(`{}`))
	var notReady *registry.NotReadyError
	if !errors.As(err, &notReady) {
		t.Errorf("%s: got %v, want a NotReadyError", tool, err)
		return &registry.NotReadyError{}
	}
	assert.Equal(t, notReady.Server, server, "%s: got server", tool)
	assert.Contains(t, notReady.Reason, reason, "%s: got reason", tool)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "%s: got outcome", tool)
	return notReady
}

// A file in which nothing is as it should be: whoever wants a tool learns why it is not
// there.
func TestCallsSayWhyTheirServersAreNotReady(t *testing.T) {
	t.Parallel()
	wall := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(wall.Close)
	as := authtest.NewServer(t, nil)
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: loginCallback}}))(t)
	t.Cleanup(func() { _ = logins.Close() })
	h := open(t, write(t,
		"hung", child(t, "unanswering"),
		"dying", child(t, "exit"),
		"wall", `{"url": "`+wall.URL+`", "headers": {"Authorization": "Bearer stale"}}`,
		"login", `{"url": "`+as.NewMCP(nil).URL+`"}`,
		"off", child(t, "off", `"enabled": false`),
		"unset", `{"command": "x", "env": {"TOKEN": "${HOST_TEST_UNSET}"}}`,
		"good", child(t, "good"),
	), &host.Options{OpenWait: 1, Logins: logins, StateDir: host.NoState})
	r := h.Registry()
	wantNotReady(t, watchdog(t), r, "hung__list", "hung", "is being started")
	until(t, h, "good", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	for name, stage := range map[string]host.Stage{"dying": host.StageWaiting, "wall": host.StageWaiting, "login": host.StageLogin} {
		until(t, h, name, string(stage), func(s host.Status) bool { return s.Stage == stage })
	}

	assert.Value(call(t, h, "good__echo", `{"text": "hi"}`))(t)
	wantNotReady(t, watchdog(t), r, "hung__echo", "hung", "is being started")
	wantNotReady(t, watchdog(t), r, "dying__echo", "dying", "cannot be reached")

	assert.As[*transport.StatusError](t, wantNotReady(t, watchdog(t), r, "wall__echo", "wall", "credentials"), "wall")

	assert.As[*auth.LoginRequiredError](t, wantNotReady(t, watchdog(t), r, "login__whoami", "login", "log in"), "login")
	wantNotReady(t, watchdog(t), r, "off__echo", "off", "is disabled")
	unset := wantNotReady(t, watchdog(t), r, "unset__echo", "unset", "cannot be used")
	assert.Contains(t, unset.Error(), "the variable HOST_TEST_UNSET is not set", "unset")
	assert.Lacks(t, result.Text(registry.ErrorResult(unset)), "HOST_TEST_UNSET", "unset: a model is told")

	for _, name := range []string{"nobody__echo", "good__list", "echo2", "", "__", strings.Repeat("hung__", 1000)} {
		assert.As[*registry.UnknownToolError](t, assert.Err(r.Call(watchdog(t), name, nil)))
	}
	assert.Equal(t, status(t, h, "hung").Stage, host.StageStarting, "hung: got stage")
}

// The name of a server is understood in the spellings that those of tools are.
func TestSpellingsOfServersThatAreNotReady(t *testing.T) {
	stuck := newStuckServer()
	opts := stuck.with("git", "git-hub", "notes")
	opts.OpenWait = 1
	h := open(t, write(t,
		"git", `{"command": "x"}`, "git-hub", `{"command": "x"}`, "good", `{"command": "x"}`,
		"notes", `{"command": "x", "tools": {"rename": {"make_note": "jot"}}}`), opts)
	defer close(stuck.release)
	for name, server := range map[string]string{
		"git__log":         "git",
		"git-hub__log":     "git-hub",
		"GitHub__log":      "git-hub",
		"git_hub_log":      "git-hub", // the longest
		"git.log":          "git",
		"mcp__git__log":    "git",
		"gitLog":           "git",
		"notes__jot":       "notes",
		"git__x_abcdefgh2": "git",
	} {
		wantNotReady(t, watchdog(t), h.Registry(), name, server, "is being started")
	}
}

// A server whose tools have gone, since it was lost too long ago, is not unknown.
func TestToolsOfALostServer(t *testing.T) {
	pipes := &pipeServers{}
	opts := pipes.options()
	opts.Times(0, -1)
	h := newHost(t, opts, parseEntries(t, "lost", `{"command": "x"}`))
	assert.Value(call(t, h, "lost__echo", "{}"))(t)
	pipes.down.Store(true)
	pipes.hangUp()
	until(t, h, "lost", "without tools", func(s host.Status) bool { return s.Tools == 0 && s.Stage == host.StageWaiting })
	wantNotReady(t, watchdog(t), h.Registry(), "lost__echo", "lost", "cannot be reached")
}

// A lazy server of which nobody knows the tools, since it failed when they were to be read,
// is started by a call.
func TestCallsStartALazyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &pipeServers{}
		pipes.down.Store(true)
		h := newHost(t, pipes.options(), parseEntries(t, "s", `{"command": "x", "lazy": true}`))
		time.Sleep(time.Hour)
		assert.Equal(t, status(t, h, "s").Stage, host.StageConfigured, "stage")
		wantNotReady(t, watchdog(t), h.Registry(), "s__echo", "s", "cannot be reached")
		time.Sleep(time.Hour)
		pipes.down.Store(false)
		assert.Value(call(t, h, "s__echo", "{}"))(t)
		_ = h.Close()
	})
}

// The tools of a server with a connection for each user are found out for whoever calls
// one.
func TestCallsDiscoverForTheirUser(t *testing.T) {
	w := newLoginsHost(t, nil)
	as := authtest.NewServer(t, nil)
	w.apply(&config.Server{Name: "s", URL: as.NewMCP(nil).URL, Identity: config.IdentityUser})
	r := w.host.Registry()

	assert.As[*host.NoUserError](t, wantNotReady(t, watchdog(t), r, "s__whoami", "s", "before a user"), "nobody")

	assert.As[*auth.LoginRequiredError](t, wantNotReady(t, session.WithUser(watchdog(t), "bob"), r, "s__whoami", "s", "log in"), "bob")
	w.logIn(as, "alice", "s")
	assert.Equal(t, assert.Value(w.whoami("alice", "s"))(t), "user alice", "alice")

	assert.As[*registry.UnknownToolError](t, assert.Err(r.Call(session.WithUser(watchdog(t), "alice"), "s__none", nil)), "another tool")
}

// The tools of a closed host are not unknown either, in a registry of its own. Another host may
// have them in a registry that is shared.
func TestCallsOfAClosedHost(t *testing.T) {
	path := write(t, "s", `{"command": "x"}`)
	shared := registry.New(nil)
	own, other := open(t, path, fakes(&host.Options{})), open(t, path, fakes(&host.Options{Registry: shared}))
	r := own.Registry()
	assert.OK(t, own.Close())
	assert.OK(t, other.Close())
	assert.Is(t, wantNotReady(t, watchdog(t), r, "s__echo", "s", "closed"), host.ErrClosed)
	assert.As[*registry.UnknownToolError](t, assert.Err(r.Call(watchdog(t), "other__none", nil)), "of no host: got")
	assert.As[*registry.UnknownToolError](t, assert.Err(shared.Call(watchdog(t), "s__echo", nil)))
	assert.Value(call(t, open(t, path, fakes(&host.Options{Registry: shared})), "s__echo", `{"text": "hi"}`))(t)
}

// Hosts with one registry answer each for its own servers.
func TestHostsWithOneRegistryExplainTheirOwn(t *testing.T) {
	stuck := newStuckServer()
	r := registry.New(nil)
	for _, name := range []string{"one", "two"} {
		opts := stuck.with("one")
		opts.OpenWait, opts.Registry = 1, r
		h := open(t, write(t, name, `{"command": "x"}`), opts)
		if name == "two" {
			until(t, h, name, "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
		}
	}
	defer close(stuck.release)
	wantNotReady(t, watchdog(t), r, "one__echo", "one", "is being started")

	assert.As[*registry.UnknownToolError](t, assert.Err(r.Call(watchdog(t), "two__none", nil)))
}

// A heldStore saves nothing before it is released.
type heldStore struct {
	storage.Store
	saving, release chan struct{}
}

func (s heldStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	s.saving <- struct{}{}
	<-s.release
	return s.Store.Save(ctx, name, data, old)
}

// A server is not ready before the registry has its tools.
func TestReadyServersHaveTheirTools(t *testing.T) {
	placing, release := make(chan struct{}, 100), make(chan struct{})
	accepted := assert.Value(ledger.Load(t.Context(), heldStore{storage.NewMemory(), placing, release}, "ledger", nil))(t)
	opts := fakes(&host.Options{OpenWait: 1, Registry: registry.New(&registry.Options{Ledger: accepted})})
	h := open(t, write(t, "s", `{"command": "x"}`), opts)
	<-placing
	assert.Equal(t, status(t, h, "s").Stage, host.StageStarting, "stage")
	wantNotReady(t, watchdog(t), h.Registry(), "s__echo", "s", "is being started")
	close(release)
	until(t, h, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	assert.Value(call(t, h, "s__echo", `{"text": "hi"}`))(t)
}
