package admin_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// get reads a list as the owner.
func (s *site) get(key, path string) []map[string]any {
	s.t.Helper()
	a := s.do(key, "GET", path, "", nil)
	var list []map[string]any
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != http.StatusOK {
		s.t.Fatalf("%s: got %d %s, want a list", path, a.status, a.body)
	}
	return list
}

// A change is accepted as it was looked at, or not at all.
func TestAcceptIsForWhatWasShown(t *testing.T) {
	s := openBusy(t)
	changes := s.get("viewer", "/api/v1/changes?server=held")
	if len(changes) == 0 {
		t.Fatal("changes: got none, want those of the held server")
	}
	for _, body := range []string{
		`{"server":"held","kind":"server_quarantined","hash":"sha256:00"}`,
		`{"server":"held","kind":"new","hash":"` + changes[0]["hash"].(string) + `"}`,
		`{"server":"runs","kind":"server_quarantined","hash":"` + changes[0]["hash"].(string) + `"}`,
	} {
		if got := s.do("owner", "POST", "/api/v1/changes/accept", body, nil); got.status != http.StatusConflict || !strings.Contains(got.body, `"code":"stale"`) {
			t.Errorf("accept %s: got %d %s, want 409 and stale", body, got.status, got.body)
		}
	}
	body := s.fill("{change}")
	if got := s.do("operator", "POST", "/api/v1/changes/accept", body, nil); got.status != http.StatusForbidden {
		t.Errorf("accept as operator: got %d, want 403", got.status)
	}
	if got := s.do("owner", "POST", "/api/v1/changes/accept", body, nil); got.status != http.StatusOK {
		t.Errorf("accept: got %d %s, want 200", got.status, got.body)
	}
	if got := s.do("owner", "POST", "/api/v1/changes/accept", body, nil); got.status != http.StatusConflict {
		t.Errorf("accept again: got %d %s, want 409", got.status, got.body)
	}
}

// A call that waits is shown with its exact arguments, and made once.
func TestCallIsMadeOnce(t *testing.T) {
	s := openBusy(t)
	calls := s.get("viewer", "/api/v1/calls")
	if len(calls) != 1 {
		t.Fatalf("calls: got %v, want 1", calls)
	}
	if a := s.do("viewer", "GET", "/api/v1/calls", "", nil); !strings.Contains(a.body, `"arguments":{"text":"\u003cb\u003e12345678901234567890\u003c/b\u003e"}`) {
		t.Errorf("calls: got %s, want the exact arguments", a.body)
	}
	path := "/api/v1/calls/" + calls[0]["id"].(string)
	if got := s.do("owner", "POST", path+"/approve", `{}`, nil); got.status != http.StatusOK || !strings.Contains(got.body, `"made":true`) {
		t.Errorf("approve: got %d %s, want that it was made", got.status, got.body)
	}
	for _, verb := range []string{"/approve", "/deny"} {
		if got := s.do("owner", "POST", path+verb, `{}`, nil); got.status != http.StatusNotFound {
			t.Errorf("%s again: got %d %s, want 404", verb, got.status, got.body)
		}
	}
}

// The command of a launch, which may hold secrets, is for those who decide about it.
func TestLaunchesShowCommandsToOwners(t *testing.T) {
	s := openBusy(t)
	for key, shown := range map[string]bool{"viewer": false, "operator": false, "owner": true} {
		launches := s.get(key, "/api/v1/launches")
		if len(launches) != 1 || launches[0]["server"] != "proposed" {
			t.Fatalf("launches as %s: got %v, want that of proposed", key, launches)
		}
		if _, ok := launches[0]["command"]; ok != shown {
			t.Errorf("launches as %s: got a command: %t, want %t", key, ok, shown)
		}
	}
	if got := s.do("owner", "POST", "/api/v1/launches/0000/allow", "", nil); got.status != http.StatusConflict {
		t.Errorf("allow what does not wait: got %d %s, want 409", got.status, got.body)
	}
}

// A new server is tried before it is added, and nothing is kept of it.
func TestStagedTestKeepsNothing(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{})
	for _, c := range []struct {
		body    string
		status  int
		success bool
	}{
		{`{"name":"new","transport":"streamable_http","url":"https://a.example/mcp"}`, 200, true},
		{`{"name":"new","command":"x"}`, 403, false},
		{`{"name":"new"}`, 400, false},
		{`{"url":"https://a.example/mcp"}`, 400, false},
	} {
		got := s.do("operator", "POST", "/api/v1/test", c.body, nil)
		if got.status != c.status || strings.Contains(got.body, `"success":true`) != c.success {
			t.Errorf("%s: got %d %s, want %d and success %t", c.body, got.status, got.body, c.status, c.success)
		}
	}
	if got := s.do("viewer", "GET", servers, "", nil); !strings.Contains(got.body, `"data":[]`) {
		t.Errorf("servers: got %s, want none", got.body)
	}
}

// What was removed comes back as it was.
func TestRestore(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{}, &record.Record{Name: "a", URL: "https://a.example/mcp", Description: "it was here"})
	gone := s.data("DELETE", servers+"/a", "")
	removed := s.get("viewer", "/api/v1/removed")
	if len(removed) != 1 || removed[0]["id"] != gone["id"] || removed[0]["deleteTime"] == nil {
		t.Errorf("removed: got %v, want the server with its time", removed)
	}
	if got := s.do("operator", "POST", gone["restore"].(string), "", nil); got.status != http.StatusOK {
		t.Errorf("restore: got %d %s, want 200", got.status, got.body)
	}
	if got := s.data("GET", servers+"/a", ""); got["id"] != gone["id"] || got["description"] != "it was here" {
		t.Errorf("restored: got %v, want what it was", got)
	}
	if got := s.do("operator", "POST", gone["restore"].(string), "", nil); got.status != http.StatusNotFound {
		t.Errorf("restore again: got %d %s, want 404", got.status, got.body)
	}
}

// What no option is set for is not there.
func TestMissingOptions(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{})
	for _, path := range []string{"/api/v1/sessions", "/api/v1/keys", "/api/v1/activity", "/api/v1/events"} {
		if got := s.do("owner", "GET", path, "", nil); got.status != http.StatusNotFound || !strings.Contains(got.body, "not_configured") {
			t.Errorf("%s: got %d %s, want 404 and not_configured", path, got.status, got.body)
		}
	}
	if _, err := admin.Handler(s.manager, nil); err == nil {
		t.Error("Handler without Authenticate: got no error, want one")
	}
}

// Without Roles a grant to manage lets a caller view and operate, unless it leaves something out.
func TestDefaultRoles(t *testing.T) {
	m := manage.New(host.New(&host.Options{StateDir: host.NoState}), record.NewMemoryStore(), nil)
	t.Cleanup(func() { _ = m.Close() })
	for _, c := range []struct {
		grant *access.Grant
		want  string
	}{
		{nil, ""}, {&access.Grant{}, ""}, {&access.Grant{Manage: true, ReadOnly: true}, ""}, {&access.Grant{Manage: true, Servers: []string{"a"}}, ""},
		{&access.Grant{Manage: true}, `"roles":["view","operate"]`},
	} {
		s := &site{t: t}
		h := assert.Value(admin.Handler(m, &admin.Options{Authenticate: func(*http.Request) (*access.Caller, error) { return &access.Caller{Grant: c.grant}, nil }}))(t)
		s.listenAndServe(h)
		got := s.do("", "GET", "/api/v1/me", "", nil)
		if (got.status == http.StatusOK) != (c.want != "") || !strings.Contains(got.body, c.want) {
			t.Errorf("%+v: got %d %s, want %s", c.grant, got.status, got.body, c.want)
		}
	}
}

// The last change is undone if it is the one that was looked at, and the record is as it left it.
func TestUndo(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	s := open(t, &host.Options{}, &admin.Options{}, &record.Record{
		Name: "a", URL: "https://a.example/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer " + secret},
	})
	if got := s.do("viewer", "GET", "/api/v1/undo", "", nil); got.body != "null\n" {
		t.Errorf("undo of nothing: got %s, want null", got.body)
	}
	if got := s.do("operator", "POST", "/api/v1/undo", "", nil); got.status != http.StatusNotFound {
		t.Errorf("undo of nothing: got %d %s, want 404", got.status, got.body)
	}
	was := s.data("GET", servers+"/a", "")
	steps := []struct{ what, method, path, body string }{
		{"change", "PUT", servers + "/a", `{"description":"new","headersJson":""}`},
		{"disable", "PUT", servers + "/a/toggle?enabled=false", ""},
		{"enable", "PUT", servers + "/a/toggle?enabled=true", ""},
		{"remove", "DELETE", servers + "/a", ""},
		{"add", "POST", servers, `{"name":"b","transport":"streamable_http","url":"https://b.example/mcp"}`},
	}
	for _, step := range steps {
		s.data(step.method, step.path, step.body)
		if got := s.object("viewer", "GET", "/api/v1/undo", ""); got["what"] != step.what || got["at"] == nil {
			t.Errorf("%s: got %v as the last change", step.what, got)
		}
	}
	if got := s.do("operator", "POST", "/api/v1/undo?at=2020-01-01T00:00:00Z", "", nil); got.status != http.StatusConflict || !strings.Contains(got.body, "stale") {
		t.Errorf("undo of another change: got %d %s, want 409 and stale", got.status, got.body)
	}
	for i := len(steps) - 1; i >= 0; i-- {
		last := s.object("operator", "GET", "/api/v1/undo", "")
		if got := s.object("operator", "POST", "/api/v1/undo?at="+last["at"].(string), ""); got["what"] != steps[i].what {
			t.Errorf("undo: got %v, want that of %s", got, steps[i].what)
		}
	}
	if got := s.get("viewer", "/api/v1/removed"); len(got) != 1 || got[0]["name"] != "b" {
		t.Errorf("removed: got %v, want b", got)
	}
	is := s.data("GET", servers+"/a", "")
	for _, name := range []string{"id", "description", "headersJson", "enabled", "lastStatus"} {
		if is[name] != was[name] {
			t.Errorf("%s: got %v after all was undone, want %v", name, is[name], was[name])
		}
	}
	if is, err := s.manager.Host().Inspect("a"); err != nil || is.Entry.Headers["Authorization"].Reveal() != "Bearer "+secret {
		t.Errorf("got %v, want the secret of before", err)
	}
	s.data("PUT", servers+"/a", `{"name":"c"}`)
	if _, err := s.manager.Undo(t.Context(), manage.Change{}); failed(err) != record.CodeConflict {
		t.Errorf("undo of a change that was not made: got %v, want a conflict", err)
	}
}

func failed(err error) record.Code {
	var e *record.Error
	errors.As(err, &e)
	if e == nil {
		return ""
	}
	return e.Code
}

// A changed server is tried before it is saved: its secrets are in their places, and nothing is kept.
func TestEditIsTried(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{}, &record.Record{
		Name: "a", URL: "https://a.example/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer sk-0123456789abcdef"},
	})
	before := s.data("GET", servers+"/a", "")
	for _, c := range []struct {
		body   string
		status int
	}{
		{`{"description":"new","headersJson":` + number(before["headersJson"]) + `}`, 200},
		{`{"revision":` + number(before["revision"]) + `,"readTimeoutSeconds":5}`, 200},
		{`{"url":"https://evil.example/mcp"}`, 400},
		{`{"url":"https://evil.example/mcp","headersJson":` + number(before["headersJson"]) + `}`, 400},
		{`{"revision":"0"}`, 409},
		{`{"url":""}`, 400},
	} {
		got := s.do("operator", "POST", servers+"/a/test", c.body, nil)
		if got.status != c.status || strings.Contains(got.body, `"success":true`) != (c.status == 200) {
			t.Errorf("%s: got %d %s, want %d", c.body, got.status, got.body, c.status)
		}
	}
	if after := s.data("GET", servers+"/a", ""); after["revision"] != before["revision"] {
		t.Errorf("got the revision %v, want %v", after["revision"], before["revision"])
	}
	assert.Equal(t, s.tried.Load().Headers["Authorization"].Reveal(), "Bearer sk-0123456789abcdef", "the header in the test")
}

// A key is changed where the body says so, and stays as it is elsewhere.
func TestChangeKey(t *testing.T) {
	s := openBusy(t)
	path := s.fill("/api/v1/keys/{key}")
	expires := "2999-01-01T00:00:00Z"
	s.object("owner", "PUT", path, `{"label":"two","user":"ann","grant":{"servers":["a*"]},"expires":"`+expires+`"}`)
	got := s.object("owner", "PUT", path, `{"label":"three"}`)
	expectFields(t, "changed", got, `{"id":"*","label":"three","user":"ann","grant":{"servers":["a*"]},"expires":"`+expires+`","created":"*"}`)
	if list := s.get("viewer", "/api/v1/keys"); len(list) != 1 || number(list[0]) != number(got) {
		t.Errorf("keys: got %v, want %v", list, got)
	}
	if got := s.object("owner", "PUT", path, `{"grant":null}`); got["grant"] != nil {
		t.Errorf("grant of null: got %v, want none", got["grant"])
	}
	for body, status := range map[string]int{`{"grant":{"servers":["[" ]}}`: 400, `{"label":5}`: 400, `{"secret":"x"}`: 400} {
		if got := s.do("owner", "PUT", path, body, nil); got.status != status {
			t.Errorf("%s: got %d %s, want %d", body, got.status, got.body, status)
		}
	}
	if got := s.do("owner", "PUT", "/api/v1/keys/none", `{}`, nil); got.status != http.StatusNotFound {
		t.Errorf("a key that is not there: got %d, want 404", got.status)
	}
}
