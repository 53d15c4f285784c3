package admin_test

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/record"
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
	s := open(t, &host.Options{}, &admin.Options{}, &record.Record{Name: "a", URL: "https://a.example/mcp"})
	large := `{"name":"` + strings.Repeat("x", 2<<20) + `"}`
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
			{"2 MB", "owner", large, nil, 413},
			{"viewer", "viewer", body, nil, 403},
			{"operator", "operator", body, nil, 403},
			{"writer", "writer", body, nil, 403},
		} {
			if c.what == c.key && may(c.key) && (r.Role != admin.StdioWrite || may("operator")) {
				continue // it is let in
			}
			got := s.do(c.key, r.Method, path, c.body, c.edit)
			assert.Equal(t, got.status, c.status, "%s %s, %s: %s", r.Method, path, c.what, got.body)
			assert.Lacks(t, got.body, "goroutine", "%s %s, %s", r.Method, path, c.what)
			assert.Lacks(t, got.body, ".go:", "%s %s, %s", r.Method, path, c.what)
		}
	}
}

// A test of all routes knows each of them.
func TestRoutesAreUsed(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{})
	for _, r := range admin.Routes(s.handler) {
		if _, ok := samples[r.Method+" "+r.Path]; !ok {
			t.Errorf("%s %s: got no sample request, want one", r.Method, r.Path)
		}
	}
	assert.Equal(t, len(samples), len(admin.Routes(s.handler)), "samples")
}

// A sample is a request that could start a process, where the route has one.
type sample struct {
	path, body string
	launches   bool // it starts one for a caller who may
	status     int  // of the answer to that caller; 0: 200
}

// samples are by route. What only the site knows stands in braces.
var samples = map[string]sample{
	"GET " + servers:                            {servers, "", false, 0},
	"POST " + servers:                           {servers, `{"name":"new","command":"x"}`, true, 0},
	"GET " + servers + "/{id}":                  {servers + "/runs", "", false, 0},
	"PUT " + servers + "/{id}":                  {servers + "/runs", `{"argsJson":"[\"new\"]"}`, true, 0},
	"DELETE " + servers + "/{id}":               {servers + "/runs", "", false, 0},
	"PUT " + servers + "/{id}/toggle":           {servers + "/rests/toggle?enabled=true", "", true, 0},
	"POST " + servers + "/{id}/test":            {servers + "/rests/test", "", true, 0},
	"POST " + servers + "/refresh":              {servers + "/refresh", "", true, 0},
	"GET " + servers + "/{id}/tools":            {servers + "/runs/tools", "", false, 0},
	"GET /api/v1/removed":                       {"/api/v1/removed", "", false, 0},
	"POST /api/v1/removed/{id}/restore":         {"/api/v1/removed/{gone}/restore", "", true, 0},
	"POST /api/v1/test":                         {"/api/v1/test", `{"name":"new","command":"x"}`, true, 0},
	"GET /api/v1/servers":                       {"/api/v1/servers", "", false, 0},
	"GET /api/v1/tools":                         {"/api/v1/tools", "", false, 0},
	"GET /api/v1/tools/{name}":                  {"/api/v1/tools/lazy__echo", "", false, 0},
	"POST /api/v1/tools/{name}/call":            {"/api/v1/tools/lazy__echo/call", `{"arguments":{"text":"go"}}`, true, 0},
	"GET /api/v1/why":                           {"/api/v1/why?name=lazy__echo", "", false, 0},
	"GET /api/v1/undo":                          {"/api/v1/undo", "", false, 0},
	"POST /api/v1/undo":                         {"/api/v1/undo", "", true, 0},
	"PUT /api/v1/keys/{id}":                     {"/api/v1/keys/{key}", `{"label":"other"}`, false, 0},
	"POST /api/v1/servers/{server}/restart":     {"/api/v1/servers/runs/restart", "", true, 0},
	"GET /api/v1/changes":                       {"/api/v1/changes", "", false, 0},
	"POST /api/v1/changes/accept":               {"/api/v1/changes/accept", "{change}", false, 0},
	"POST /api/v1/changes/reject":               {"/api/v1/changes/reject", "{change}", false, 0},
	"GET /api/v1/launches":                      {"/api/v1/launches", "", false, 0},
	"POST /api/v1/launches/{fingerprint}/allow": {"/api/v1/launches/{launch}/allow", "", true, 0},
	"POST /api/v1/launches/{fingerprint}/deny":  {"/api/v1/launches/{launch}/deny", "", false, 0},
	"GET /api/v1/calls":                         {"/api/v1/calls", "", false, 0},
	"POST /api/v1/calls/{id}/approve":           {"/api/v1/calls/{call}/approve", `{}`, true, 0},
	"POST /api/v1/calls/{id}/deny":              {"/api/v1/calls/{call}/deny", `{}`, false, 0},
	"GET /api/v1/me":                            {"/api/v1/me", "", false, 0},
	"GET /api/v1/sessions":                      {"/api/v1/sessions", "", false, 0},
	"POST /api/v1/sessions/{server}/login":      {"/api/v1/sessions/runs/login", "", false, http.StatusConflict},
	"POST /api/v1/sessions/{server}/logout":     {"/api/v1/sessions/runs/logout", `{}`, false, http.StatusConflict},
	"GET /api/v1/keys":                          {"/api/v1/keys", "", false, 0},
	"POST /api/v1/keys":                         {"/api/v1/keys", `{"label":"new","grant":{"manage":true}}`, false, 0},
	"DELETE /api/v1/keys/{id}":                  {"/api/v1/keys/{key}", "", false, 0},
	"GET /api/v1/health":                        {"/api/v1/health", "", false, 0},
	"GET /api/v1/health/{server}":               {"/api/v1/health/runs", "", false, 0},
	"GET /api/v1/activity":                      {"/api/v1/activity", "", false, 0},
	"GET /api/v1/events":                        {"/api/v1/events", "", false, 0},
	"GET /api/v1/openapi.json":                  {"/api/v1/openapi.json", "", false, 0},
}

// What can start a process needs stdio:write: each route is driven, once without it and once with
// it, and the processes are counted where they are started.
func TestNothingIsLaunchedWithoutStdioWrite(t *testing.T) {
	launched := 0
	for name, c := range samples {
		for _, key := range []string{"viewer", "operator", "writer", "owner"} {
			s := openBusy(t)
			before := s.launches.Load()
			path := s.fill(c.path)
			if strings.HasSuffix(path, "/events") {
				s.stream(key) // it does not end
				continue
			}
			got := s.do(key, strings.Fields(name)[0], path, s.fill(c.body), nil)
			s.settle()
			started := s.launches.Load() > before
			if started && key != "owner" {
				t.Errorf("%s as %s: got a process (%d %s), want none", name, key, got.status, got.body)
			}
			if key == "owner" && started != c.launches {
				t.Errorf("%s as owner: got a process: %t (%d %s), want %t", name, started, got.status, got.body, c.launches)
			}
			if want := cmp.Or(c.status, http.StatusOK); key == "owner" && got.status != want {
				t.Errorf("%s as owner: got %d %s, want %d", name, got.status, got.body, want)
			}
			if started {
				launched++
			}
		}
	}
	if launched == 0 {
		t.Error("got no process at all, want some: the count would see none")
	}
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
