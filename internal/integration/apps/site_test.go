//go:build integration && unix

package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chat is the page of a program that shows apps.
const chat = `<!DOCTYPE html><title>Chat</title><main style="font:15px sans-serif;max-width:60em;margin:1em auto"></main><script type="module">
import { show } from "/apps/apps.js";
window.links = [];
window.display = async (call) => { window.app = await show(document.querySelector("main"), { call, bridge: "/apps", openLink: async (url) => !links.push(url) }); app.ended.then((reason) => app.reason = reason); };
document.title = "ready";
</script>`

// A site is a program that shows the apps of a host's servers to ada, at two ports of this machine.
type site struct {
	*testing.T
	host    *host.Host
	apps    *apps.Apps
	url     string // of the program's page
	sandbox string
	shown   chan *apps.Shown
	heard   chan string // what apps have called and said
}

// hears waits until apps have called or said something.
func (s *site) hears(part string) {
	s.Helper()
	hosttest.Eventually(s.T, part, func() bool {
		select {
		case line := <-s.heard:
			return strings.Contains(line, part)
		default:
			return false
		}
	})
}

// open opens a site for the servers of a configuration file.
func open(t *testing.T, servers map[string]any, edit func(*apps.Options)) *site {
	t.Helper()
	s := &site{T: t, shown: make(chan *apps.Shown, 100), heard: make(chan string, 10_000)}
	file := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(file, assert.Value(json.Marshal(map[string]any{"mcpServers": servers}))(t), 0o600))
	ho := hosttest.Patient(&host.Options{Registry: registry.New(&registry.Options{Ledger: ledger.New(nil), Approver: registry.ApproverFunc(approve)}), StateDir: host.NoState, OpenWait: -1})
	apps.Prepare(ho)
	s.host = assert.Value(host.Open(hosttest.Watchdog(t), file, ho))(t)
	stop := s.host.Registry().Observe(func(_ context.Context, o *registry.Observation) {
		if o.Tool != nil && o.CallID != "call" {
			s.heard <- fmt.Sprintf("%s as %s in %s", o.Tool.Name, o.User, o.Conversation)
		}
	})
	sandbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.apps.Sandbox().ServeHTTP(w, r) }))
	said := func(_ context.Context, _ *apps.Shown, params json.RawMessage) error {
		s.heard <- string(params)
		return nil
	}
	o := &apps.Options{SandboxURL: sandbox.URL, Show: func(_ context.Context, shown *apps.Shown) { s.shown <- shown }, Message: said, ModelContext: said}
	if edit != nil {
		edit(o)
	}
	s.apps = assert.Value(apps.New(s.host, o))(t)
	mux := http.NewServeMux()
	bridge := http.StripPrefix("/apps", s.apps.Bridge())
	mux.HandleFunc("/apps/", func(w http.ResponseWriter, r *http.Request) {
		bridge.ServeHTTP(w, r.WithContext(session.WithUser(r.Context(), "ada")))
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, chat) })
	web := httptest.NewServer(mux)
	s.url, s.sandbox = web.URL, sandbox.URL
	t.Cleanup(func() {
		s.apps.Close()
		web.CloseClientConnections()
		web.Close()
		sandbox.CloseClientConnections()
		sandbox.Close()
		stop()
		assert.OK(t, s.host.Close())
	})
	return s
}

// approve wants the calls of grace to be approved.
func approve(_ context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
	if r.User == "grace" {
		return approval.Decision{Verdict: approval.Ask}, nil
	}
	return approval.Decision{Verdict: approval.Allow}, nil
}

// call calls a tool for ada, and returns its app.
func (s *site) call(tool, args string) *apps.Shown {
	s.Helper()
	ctx := registry.WithConversation(session.WithUser(hosttest.Watchdog(s.T), "ada"), "chat")
	res := assert.Value(s.host.Registry().Call(registry.WithCallID(ctx, "call"), tool, json.RawMessage(args)))(s.T)
	assert.False(s.T, res.IsError, "%s answers with an error: %s", tool, res.Text())
	return <-s.shown
}

// show shows an app in a new tab, and returns that.
func (s *site) show(b *chromium.Browser, shown *apps.Shown) *chromium.Tab {
	s.Helper()
	tab := b.Open(s.T, s.url)
	tab.AwaitTitle("ready")
	assert.OK(s.T, tab.Eval("display("+string(assert.Value(json.Marshal(shown))(s.T))+")", nil))
	return tab
}

// inside waits until an expression is true in the frame of the app of a tab, and evaluates another there.
func (s *site) inside(tab *chromium.Tab, ready, do string, value any) {
	s.Helper()
	var view *chromium.Tab
	hosttest.Eventually(s.T, "the app: "+ready, func() bool {
		for _, view = range tab.Inside() {
			var is bool
			if view.Eval("parent !== top && parent.parent === top && !!("+ready+")", &is) == nil && is {
				return true
			}
		}
		return false
	})
	assert.OK(s.T, view.Eval(do, value), "in the app: %s", do)
}
