package main

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// newTestSite returns a replica whose records are in memory.
func newTestSite(t *testing.T) *site {
	t.Helper()
	var mu sync.Mutex
	stores := map[string]storage.Store{}
	ctx, cancel := context.WithCancel(t.Context())
	s := assert.Value(newSite(ctx, "A", "http://service.example", auth.Secret(base64.StdEncoding.EncodeToString(make([]byte, 32))), func(namespace string) storage.Store {
		mu.Lock()
		defer mu.Unlock()
		if stores[namespace] == nil {
			stores[namespace] = storage.NewMemory()
		}
		return stores[namespace]
	}))(t)
	t.Cleanup(func() {
		cancel()
		s.close()
	})
	return s
}

// send sends a form to a replica, as a user if it is not empty.
func send(s *site, user, method, path string, form url.Values, header http.Header) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, "http://service.example"+path, strings.NewReader(form.Encode()))
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if user != "" {
		req.AddCookie(&http.Cookie{Name: cookieName, Value: s.sign(user, time.Now().Add(time.Minute))})
	}
	res := httptest.NewRecorder()
	s.handler().ServeHTTP(res, req)
	return res
}

func TestForeignForm(t *testing.T) {
	s := newTestSite(t)
	for _, c := range []struct {
		header http.Header
		want   int
	}{
		{http.Header{"Origin": {"http://service.example"}}, http.StatusSeeOther},
		{http.Header{"Origin": {"http://other.example"}}, http.StatusForbidden},
		{http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
	} {
		res := send(s, "", http.MethodPost, "/signin", url.Values{"user": {"alice"}}, c.header)
		assert.Equal(t, res.Code, c.want, "with %v: got status", c.header)
	}
}

func TestPage(t *testing.T) {
	s := newTestSite(t)
	for _, user := range []string{"", "alice"} {
		res := send(s, user, http.MethodGet, "/", nil, nil)
		assert.Equal(t, res.Code, http.StatusOK, "page of %q: got status", user)
		assert.True(t, strings.HasPrefix(res.Header().Get("Content-Security-Policy"), "default-src 'none'; form-action 'self';"), "page of %q", user)
	}
	script := url.Values{"prompt": {"<script>"}}
	assert.Equal(t, send(s, "alice", http.MethodPost, "/prompt", script, nil).Code, http.StatusSeeOther, "prompt")
	page := send(s, "alice", http.MethodGet, "/", nil, nil).Body.String()
	assert.Contains(t, page, "alice: &lt;script&gt;", "page")
	assert.Lacks(t, page, "<script>", "page")
	assert.Lacks(t, send(s, "bob", http.MethodGet, "/", nil, nil).Body.String(), "script", "page of bob")
}

func TestCookie(t *testing.T) {
	s := newTestSite(t)
	good := s.sign("alice", time.Now().Add(time.Minute))
	for _, c := range []struct{ name, value, want string }{
		{"good", good, "alice"},
		{"other user", strings.Replace(good, "alice", "bob", 1), ""},
		{"over", s.sign("alice", time.Now().Add(-time.Minute)), ""},
		{"cut", good[:len(good)-1], ""},
		{"without a signature", good[:strings.LastIndex(good, ".")], ""},
		{"none", "", ""},
	} {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.AddCookie(&http.Cookie{Name: cookieName, Value: c.value})
		assert.Equal(t, s.user(req), c.want, "cookie %s: the user", c.name)
	}
}

// What a user writes as a server reads nothing of the service's machine.
func TestServerOfUser(t *testing.T) {
	t.Setenv("SAAS_TEST_SECRET", "hunter2")
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.String():
		default:
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	s := newTestSite(t)
	add := func(address string) int {
		return send(s, "alice", http.MethodPost, "/servers", url.Values{"name": {"x"}, "url": {address}}, nil).Code
	}
	for _, address := range []string{"unix:///run/docker.sock", "file:///etc/passwd", "npx"} {
		assert.Equal(t, add(address), http.StatusBadRequest, "server at %s: got status", address)
	}
	assert.Equal(t, add(server.URL+"/?q=${SAAS_TEST_SECRET}"), http.StatusSeeOther, "server")
	assert.Lacks(t, <-asked, "hunter2", "request")
	for _, e := range []*config.Server{
		{Name: "x", Transport: config.TransportStdio, Command: "sh"},
		{Name: "x", Transport: config.TransportUnix, URL: "unix:///run/docker.sock"},
		{Name: "x", Transport: config.TransportHTTP, URL: "unix:///run/docker.sock"},
	} {
		assert.Fails(t, assert.Err(s.transport(&office{}, e)), "transport of %s", e)
	}
}

func TestRefusePrivate(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:80": false, "93.184.216.34:443": false, "[2606:2800:220:1::1]:443": false,
		"10.0.0.1:80": true, "192.168.1.1:80": true, "169.254.169.254:80": true, "[::ffff:169.254.169.254]:80": true,
		"[fe80::1]:80": true, "[fd00::1]:80": true, "0.0.0.0:80": true, "[::]:80": true, "224.0.0.1:80": true,
		"100.64.0.1:80": true, "192.0.2.1:80": true, "198.18.0.1:80": true, "240.0.0.1:80": true, "168.63.129.16:80": true, "[64:ff9b::a00:1]:80": true, "[2002:a00:1::]:80": true,
	} {
		assert.Equal(t, refusePrivate("tcp", address, nil) != nil, want, "%s", address)
	}
}
