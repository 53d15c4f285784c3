// The kit of the tests: handlers of the admin API, and what their hosts have.

package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

// The keys of the tests, and their roles.
var keys = map[string][]admin.Role{
	"nothing":  nil,
	"viewer":   {admin.View},
	"operator": {admin.Operate},
	"owner":    {admin.Operate, admin.StdioWrite},
	"writer":   {admin.View, admin.StdioWrite}, // who may not operate
}

// A site is a handler over real HTTP.
type site struct {
	t        *testing.T
	manager  *manage.Manager
	handler  http.Handler
	url      string
	launches atomic.Int64                  // how often a local server was connected to
	tried    atomic.Pointer[config.Server] // the entry that was connected to last
	key      string                        // the ID of an API key, if there is one
}

// spied makes the transports of servers, which are in this process, and counts local ones.
func (s *site) spied(_ session.Key, e *config.Server) (mcp.Transport, error) {
	local := e.Command != ""
	s.tried.Store(e)
	return &transport.Pipe{Serve: func(ctx context.Context, t sdk.Transport) error {
		if local {
			s.launches.Add(1)
		}
		return hosttest.NewServer(e.Name).Run(ctx, t)
	}}, nil
}

// open opens a site whose manager has the records.
func open(t *testing.T, ho *host.Options, o *admin.Options, records ...*config.Server) *site {
	t.Helper()
	return openStore(t, record.NewMemoryStore(records...), ho, o)
}

// openStore opens a site whose manager has the records of a store.
func openStore(t *testing.T, store record.Store, ho *host.Options, o *admin.Options) *site {
	t.Helper()
	s := &site{t: t}
	hosttest.Patient(ho)
	ho.Transport = s.spied
	if ho.StateDir == "" {
		ho.StateDir = host.NoState
	}
	m := assert.Value(manage.OpenStore(hosttest.Watchdog(t), store, &manage.Options{Host: *ho}))(t)
	t.Cleanup(func() { assert.Equal(t, m.Close(), nil, "Close of the manager") })
	return s.serve(m, o)
}

// serve serves a manager until the end of the test.
func (s *site) serve(m *manage.Manager, o *admin.Options) *site {
	s.t.Helper()
	s.manager = m
	o.Authenticate = func(r *http.Request) (*access.Caller, error) {
		key, err := access.BearerToken(r)
		if err != nil {
			return nil, err
		}
		if _, ok := keys[key]; !ok {
			return nil, &access.RefusedError{Credential: "a key", Reason: "it has expired"}
		}
		return &access.Caller{Credential: key}, nil
	}
	o.Roles = func(c *access.Caller) []admin.Role { return keys[c.Credential] }
	h := assert.Value(admin.Handler(m, o))(s.t)
	s.handler = h
	s.listenAndServe(h)
	return s
}

// listenAndServe serves a handler until the end of the test.
func (s *site) listenAndServe(h http.Handler) {
	web := httptest.NewServer(h)
	s.url = web.URL
	s.t.Cleanup(web.Close)
}

// An answer is one of the site.
type answer struct {
	status int
	header http.Header
	body   string
}

// do makes a request with a key; edit may be nil.
func (s *site) do(key, method, path, body string, edit func(*http.Request)) answer {
	s.t.Helper()
	req := assert.Value(http.NewRequestWithContext(hosttest.Watchdog(s.t), method, s.url+path, strings.NewReader(body)))(s.t)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if edit != nil {
		edit(req)
	}
	res := assert.Value(http.DefaultClient.Do(req))(s.t)
	defer res.Body.Close()
	return answer{res.StatusCode, res.Header, string(assert.Value(io.ReadAll(res.Body))(s.t))}
}

// data makes a request as the owner, which must succeed, and returns the data of its envelope.
func (s *site) data(method, path, body string) map[string]any {
	s.t.Helper()
	got := s.do("owner", method, path, body, nil)
	var e struct {
		Code int
		Data map[string]any
	}
	assert.OK(s.t, json.Unmarshal([]byte(got.body), &e), "%s %s", method, path)
	assert.Equal(s.t, got.status, http.StatusOK, "%s %s", method, path)
	assert.Equal(s.t, e.Code, http.StatusOK, "%s %s", method, path)
	return e.Data
}

// ask wants each call to be approved, but for those that say that they go.
func ask(_ context.Context, r *registry.ApprovalRequest) (approval.Decision, error) {
	if strings.Contains(string(r.Args), `"go"`) {
		return approval.Decision{Verdict: approval.Allow}, nil
	}
	return approval.Decision{Verdict: approval.Ask, Reason: "the tests want it"}, nil
}

// openBusy opens a site in which each route has something to do, and no local server is about to
// be started by itself.
func openBusy(t *testing.T) *site {
	t.Helper()
	feed := admin.NewFeed(nil)
	log := activity.New(nil, feed)
	t.Cleanup(func() { assert.Equal(t, log.Close(context.Background()), nil, "Close of the log") })
	keys := assert.Value(access.LoadKeys(t.Context(), storage.NewMemory(), "keys"))(t)
	_, key, err := keys.Create(t.Context(), access.KeyOptions{Label: "one"})
	assert.OK(t, err)
	sessions := assert.Value(session.Open(t.Context(), t.TempDir(), nil))(t)
	t.Cleanup(func() { assert.Equal(t, sessions.Close(), nil, "Close of the sessions") })
	s := open(t, &host.Options{
		Registry: registry.New(&registry.Options{Ledger: ledger.New(nil), Approver: registry.ApproverFunc(ask)}),
		StateDir: t.TempDir(), Activity: log,
	}, &admin.Options{Feed: feed, Keys: keys, Sessions: sessions},
		&config.Server{Name: "runs", Command: "x"},
		&config.Server{Name: "rests", Command: "x", Disabled: true},
		&config.Server{Name: "lazy", Command: "x", Lazy: true, IdleTimeout: time.Millisecond},
		&config.Server{Name: "held", Command: "x", Quarantined: true},
		&config.Server{Name: "proposed", Command: os.Args[0], Proposed: true},
		&config.Server{Name: "gone", Command: "x", Disabled: true},
		&config.Server{Name: "remote", URL: "https://a.example/mcp"},
	)
	s.key = key.ID
	h := s.manager.Host()
	hosttest.Until(t, h, "lazy", "cached", func(st host.Status) bool { return st.Stage == host.StageCached })
	hosttest.Until(t, h, "held", "quarantined", func(st host.Status) bool { return st.Stage == host.StageQuarantined })
	assert.Value(s.manager.Update(t.Context(), "gone", &record.Patch{Keys: []string{"lazy", "enabled"}, Values: config.Server{Lazy: false, Disabled: false}}))(t)
	assert.Value(s.manager.Remove(t.Context(), "gone"))(t)
	_, err = h.Registry().Call(session.WithUser(t.Context(), "ann"), "lazy__echo", json.RawMessage(`{"text":"<b>12345678901234567890</b>"}`))
	assert.As[*registry.ApprovalRequiredError](t, err, "call: it waits")
	return s
}

// fill puts into a text what only the site knows.
func (s *site) fill(text string) string {
	s.t.Helper()
	h := s.manager.Host()
	put := func(name string, value func() string) {
		if strings.Contains(text, name) {
			text = strings.ReplaceAll(text, name, value())
		}
	}
	put("{gone}", func() string {
		removed, err := s.manager.Removed(s.t.Context())
		assert.OK(s.t, err, "removed")
		assert.Equal(s.t, len(removed), 1, "removed")
		return removed[0].ID
	})
	put("{change}", func() string {
		changes := h.Registry().Ledger().Pending("held")
		assert.False(s.t, len(changes) == 0, "changes: none")
		c := changes[0]
		return string(assert.Value(json.Marshal(map[string]any{"server": c.Server, "tool": c.Tool, "kind": c.Kind, "hash": c.Hash}))(s.t))
	})
	put("{launch}", func() string {
		launches := h.PendingLaunches()
		assert.Equal(s.t, len(launches), 1, "launches")
		return launches[0].Fingerprint()
	})
	put("{call}", func() string {
		calls := h.Registry().Approvals(s.t.Context())
		assert.Equal(s.t, len(calls), 1, "calls")
		return calls[0].ID
	})
	put("{key}", func() string { return s.key })
	return text
}

// stream opens a stream of events, and ends it when it has begun.
func (s *site) stream(key string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(hosttest.Watchdog(s.t))
	defer cancel()
	req := assert.Value(http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/events", nil))(s.t)
	req.Header.Set("Authorization", "Bearer "+key)
	res := assert.Value(http.DefaultClient.Do(req))(s.t)
	defer res.Body.Close()
	assert.Equal(s.t, res.StatusCode, http.StatusOK, "events as %s", key)
}

// settle waits until no server is being started.
func (s *site) settle() {
	s.t.Helper()
	hosttest.Eventually(s.t, "no server is being started", func() bool {
		for _, st := range s.manager.Host().Servers() {
			if st.Stage == host.StageStarting {
				return false
			}
		}
		return true
	})
}

func TestMain(m *testing.M) {
	if end := hosttest.Begin(nil); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
			http.DefaultClient.CloseIdleConnections()
			end(code)
		}))
	}
}
