package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
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
func open(t *testing.T, ho *host.Options, o *admin.Options, records ...*record.Record) *site {
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
	t.Cleanup(func() {
		assert.Equal(t, m.Close(), nil, "Close of the manager")
	})
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
	data := assert.Value(io.ReadAll(res.Body))(s.t)
	return answer{res.StatusCode, res.Header, string(data)}
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
