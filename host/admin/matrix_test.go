// Tests of route.go: who may use which route.

package admin_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// concrete returns the path of a route with values in it.
func concrete(path string) string {
	for _, name := range []string{"{id}", "{name}", "{server}", "{fingerprint}"} {
		path = strings.ReplaceAll(path, name, "none")
	}
	return path
}

// Each route refuses, before it does anything, whoever may not use it and whatever is not of its form.
func TestRoutesRefuse(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{}, &config.Server{Name: "a", URL: "https://a.example/mcp"})
	large := `{"name":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, r := range admin.Routes(s.handler) {
		path := concrete(r.Path)
		body := ""
		if r.In {
			body = "{}"
		}
		may := func(key string) bool {
			return slices.Contains(keys[key], r.Role) || r.Role == admin.View && slices.Contains(keys[key], admin.Operate)
		}
		for _, c := range []struct {
			what, key, body string
			edit            func(*http.Request)
			status          int
		}{
			{"no token", "", body, nil, 401},
			{"expired", "old", body, nil, 401},
			{"no role", "nothing", body, nil, 403},
			{"wrong host", "owner", body, func(r *http.Request) { r.Host = "evil.example" }, 403},
			{"foreign origin", "owner", body, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
			{"wrong type", "owner", "{}", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
			{"1 MB", "owner", large, nil, 413},
			{"viewer", "viewer", body, nil, 403},
			{"operator", "operator", body, nil, 403},
			{"writer", "writer", body, nil, 403},
		} {
			if c.what == c.key && may(c.key) && (r.Role != admin.StdioWrite || may("operator")) {
				continue // it is let in
			}
			got := s.do(c.key, r.Method, path, c.body, c.edit)
			assert.Equal(t, got.status, c.status, "%s %s, %s: %s", r.Method, path, c.what, got.body)
			if got.status == 401 {
				assert.Contains(t, got.body, "unauthorized", "%s %s, %s", r.Method, path, c.what)
				assert.Contains(t, got.header.Get("Content-Type"), "json", "%s %s, %s", r.Method, path, c.what)
			}
			assert.Lacks(t, got.body, "goroutine", "%s %s, %s", r.Method, path, c.what)
			assert.Lacks(t, got.body, ".go:", "%s %s, %s", r.Method, path, c.what)
		}
	}
}

// A sample is a request that could start a process, where the route has one.
type sample struct {
	path, body string
	launches   bool // it starts one for a caller who may
	status     int  // of the answer to that caller; 0: 200
}

// samples are by route. What only the site knows stands in braces. Routes without parameters that are read are not here.
var samples = map[string]sample{
	"POST " + servers:                             {servers, `{"name":"new","command":"x"}`, true, 0},
	"GET " + servers + "/{id}":                    {servers + "/runs", "", false, 0},
	"PUT " + servers + "/{id}":                    {servers + "/runs", `{"argsJson":"[\"new\"]"}`, true, 0},
	"DELETE " + servers + "/{id}":                 {servers + "/runs", "", false, 0},
	"PUT " + servers + "/{id}/toggle":             {servers + "/rests/toggle?enabled=true", "", true, 0},
	"POST " + servers + "/{id}/test":              {servers + "/rests/test", "", true, 0},
	"POST " + servers + "/refresh":                {servers + "/refresh", "", true, 0},
	"GET " + servers + "/{id}/tools":              {servers + "/runs/tools", "", false, 0},
	"POST /api/v1/removed/{id}/restore":           {"/api/v1/removed/{gone}/restore", "", true, 0},
	"POST /api/v1/test":                           {"/api/v1/test", `{"name":"new","command":"x"}`, true, 0},
	"POST /api/v1/entry":                          {"/api/v1/entry", `{"text":"{\"command\":\"x\"}","name":"new"}`, false, 0},
	"GET /api/v1/tools/{name}":                    {"/api/v1/tools/lazy__echo", "", false, 0},
	"POST /api/v1/tools/{name}/call":              {"/api/v1/tools/lazy__echo/call", `{"arguments":{"text":"go"}}`, true, 0},
	"POST /api/v1/tools/{name}/try":               {"/api/v1/tools/lazy__echo/try", `{"arguments":{"text":"go"}}`, true, 0},
	"POST /api/v1/tools/{name}/questions/{id}":    {"/api/v1/tools/lazy__echo/questions/none", `{"action":"decline"}`, false, http.StatusNotFound},
	"GET /api/v1/tools/{name}/calls/{id}":         {"/api/v1/tools/lazy__echo/calls/none", "", false, http.StatusNotFound},
	"POST /api/v1/tools/{name}/apps/poll":         {"/api/v1/tools/lazy__echo/apps/poll", `{}`, false, http.StatusNotFound},
	"POST /api/v1/tools/{name}/apps/{id}/open":    {"/api/v1/tools/lazy__echo/apps/none/open", `{}`, false, http.StatusNotFound},
	"POST /api/v1/tools/{name}/apps/{id}/message": {"/api/v1/tools/lazy__echo/apps/none/message", `{}`, false, http.StatusNotFound},
	"POST /api/v1/tools/{name}/apps/{id}/end":     {"/api/v1/tools/lazy__echo/apps/none/end", `{}`, false, http.StatusNotFound},
	"GET /api/v1/why":                             {"/api/v1/why?name=lazy__echo", "", false, 0},
	"GET /api/v1/connect":                         {"/api/v1/connect?url=http://127.0.0.1/mcp", "", false, 0},
	"POST /api/v1/undo":                           {"/api/v1/undo", "", true, 0},
	"PUT /api/v1/keys/{id}":                       {"/api/v1/keys/{key}", `{"label":"other"}`, false, 0},
	"POST /api/v1/servers/{server}/restart":       {"/api/v1/servers/runs/restart", "", true, 0},
	"POST /api/v1/changes/accept":                 {"/api/v1/changes/accept", "{change}", false, 0},
	"POST /api/v1/changes/reject":                 {"/api/v1/changes/reject", "{change}", false, 0},
	"POST /api/v1/launches/{fingerprint}/allow":   {"/api/v1/launches/{launch}/allow", "", true, 0},
	"POST /api/v1/launches/{fingerprint}/deny":    {"/api/v1/launches/{launch}/deny", "", false, 0},
	"POST /api/v1/launches/{fingerprint}/forget":  {"/api/v1/launches/{launch}/forget", "", false, 0},
	"POST /api/v1/calls/{id}/approve":             {"/api/v1/calls/{call}/approve", `{}`, true, 0},
	"POST /api/v1/calls/{id}/deny":                {"/api/v1/calls/{call}/deny", `{}`, false, 0},
	"POST /api/v1/sessions/complete":              {"/api/v1/sessions/complete", `{"callback":"http://127.0.0.1/callback?state=x&code=y"}`, false, http.StatusBadGateway},
	"POST /api/v1/sessions/{server}/login":        {"/api/v1/sessions/runs/login", "", false, http.StatusConflict},
	"POST /api/v1/sessions/{server}/logout":       {"/api/v1/sessions/runs/logout", `{}`, false, http.StatusConflict},
	"POST /api/v1/keys":                           {"/api/v1/keys", `{"label":"new","grant":{"manage":true}}`, false, 0},
	"DELETE /api/v1/keys/{id}":                    {"/api/v1/keys/{key}", "", false, 0},
	"GET /api/v1/health/{server}":                 {"/api/v1/health/runs", "", false, 0},
}

// What can start a process needs stdio:write: each route is driven, without it and with it, and the processes are
// counted where they are started. The answers to who may do all are as the document says.
func TestNothingIsLaunchedWithoutStdioWrite(t *testing.T) {
	unused := maps.Clone(samples)
	read := openBusy(t)
	document := readDocument(t, read)
	for _, r := range admin.Routes(read.handler) {
		name := r.Method + " " + r.Path
		c, ok := samples[name]
		if !ok && r.Method == "GET" && !strings.Contains(r.Path, "{") {
			c = sample{path: r.Path}
		}
		assert.True(t, c.path != "", "%s has a sample", name)
		delete(unused, name)
		t.Run(name, func(t *testing.T) {
			s := read
			if r.Method != "GET" {
				t.Parallel() // servers are waited for
				s = openBusy(t)
			}
			path, body := s.fill(c.path), s.fill(c.body)
			order := []string{"viewer", "writer", "operator", "owner"}
			if !c.launches { // else the operator may do it, and leave nothing to do
				order = []string{"viewer", "writer", "owner", "operator"}
			}
			for _, key := range order {
				if r.Stream && r.Method == http.MethodGet { // it has no end
					s.stream(key)
					continue
				}
				before := s.launches.Load()
				got := s.do(key, r.Method, path, body, nil)
				s.settle()
				assert.Equal(t, s.launches.Load() > before, c.launches && key == "owner", "%s: a process is started (%d %s)", key, got.status, got.body)
				if key == "owner" {
					assert.Equal(t, got.status, cmp.Or(c.status, http.StatusOK), "the status of %s", got.body)
					if !r.Stream {
						assert.Equal(t, document.check(r, got), nil)
					}
				}
			}
		})
	}
	assert.Equal(t, len(unused), 0, "samples of no route")
}

// Changes of one server make another one local, or start another one of its name.
func TestDetoursToALaunch(t *testing.T) {
	s := openBusy(t)
	before := s.launches.Load()
	for _, c := range []struct{ method, path, body string }{
		{"PUT", servers + "/remote", `{"command":"x"}`},
		{"PUT", servers + "/remote", `{"transport":"stdio","command":"x"}`},
		{"PUT", servers + "/remote", `{"transport":"local"}`},
		{"PUT", servers + "/remote", `{"name":"rests"}`},
		{"PUT", servers + "/rests", `{"url":"https://b.example/mcp"}`},
		{"PUT", servers + "/rests", `{"description":"x"}`},
		{"POST", servers + "/remote/test", `{"command":"x"}`},
		{"POST", servers + "/remote/test", `{"name":"rests"}`},
		{"POST", servers + "/rests/test", `{"url":"https://b.example/mcp"}`},
		{"POST", "/api/v1/undo", ""},
		{"POST", "/api/v1/tools/lazy__echo/call", `{"arguments":{"text":"go"}}`},
		{"POST", servers, `{"name":"new","transport":"LOCAL","command":"x","enabled":false}`},
	} {
		assert.Equal(t, s.do("operator", c.method, c.path, c.body, nil).status, http.StatusForbidden, "%s %s %s", c.method, c.path, c.body)
	}
	for _, c := range []struct{ method, path, body string }{
		{"PUT", servers + "/remote", `{"description":"x"}`},
		{"PUT", servers + "/remote/toggle?enabled=false", ""},
		{"PUT", servers + "/remote/toggle?enabled=true", ""},
		{"POST", servers + "/remote/test", ""},
		{"POST", servers + "/remote/test", `{"description":"x"}`},
		{"POST", "/api/v1/undo", ""},
		{"PUT", servers + "/runs/toggle?enabled=false", ""},
		{"POST", servers, `{"name":"new","transport":"streamable_http","url":"https://a.example/mcp"}`},
		{"DELETE", servers + "/new", ""},
	} {
		assert.Equal(t, s.do("operator", c.method, c.path, c.body, nil).status, http.StatusOK, "%s %s %s", c.method, c.path, c.body)
	}
	assert.Equal(t, s.launches.Load(), before, "processes")
}

// The scripts of a page of one's own may read answers, and no other's.
func TestOrigins(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{Origins: []string{"https://app.example"}})
	got := s.do("", "OPTIONS", servers, "", func(r *http.Request) { r.Header.Set("Origin", "https://app.example") })
	assert.Equal(t, got.status, http.StatusNoContent, "preflight")
	assert.Equal(t, got.header.Get("Access-Control-Allow-Origin"), "https://app.example", "preflight")
	u := assert.Value(url.Parse(s.url))(t)
	got = s.do("viewer", "GET", servers, "", func(r *http.Request) { r.Header.Set("Origin", "http://"+u.Host) })
	assert.Equal(t, got.status, http.StatusOK, "own origin")
	assert.Equal(t, got.header.Get("Cache-Control"), "no-store", "Cache-Control")
}
