// Tests of review.go, record.go and tool.go: what waits for a decision, what is tried, removed and undone.

package admin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// get reads a list as the owner.
func (s *site) get(key, path string) []map[string]any {
	s.t.Helper()
	a := s.do(key, "GET", path, "", nil)
	var list []map[string]any
	assert.OK(s.t, json.Unmarshal([]byte(a.body), &list), "%s", path)
	assert.Equal(s.t, a.status, http.StatusOK, "%s", path)
	return list
}

// A change is accepted as it was looked at, or not at all.
func TestAcceptIsForWhatWasShown(t *testing.T) {
	s := openBusy(t)
	changes := s.get("viewer", "/api/v1/changes?server=held")
	assert.False(t, len(changes) == 0, "there are no changes")
	for _, body := range []string{
		`{"server":"held","kind":"server_quarantined","hash":"sha256:00"}`,
		`{"server":"held","kind":"new","hash":"` + changes[0]["hash"].(string) + `"}`,
		`{"server":"runs","kind":"server_quarantined","hash":"` + changes[0]["hash"].(string) + `"}`,
	} {
		got := s.do("owner", "POST", "/api/v1/changes/accept", body, nil)
		assert.Equal(t, got.status, http.StatusConflict, "accept")
		assert.Contains(t, got.body, `"code":"stale"`, "accept")
	}
	body := s.fill("{change}")
	assert.Equal(t, s.do("operator", "POST", "/api/v1/changes/accept", body, nil).status, http.StatusForbidden, "accept as operator")
	assert.Equal(t, s.do("owner", "POST", "/api/v1/changes/accept", body, nil).status, http.StatusOK, "accept")
	assert.Equal(t, s.do("owner", "POST", "/api/v1/changes/accept", body, nil).status, http.StatusConflict, "accept again")
}

// What was decided about a change is taken back by the hash that it was decided by, under the same roles.
func TestDecisionsOfChangesAreTakenBack(t *testing.T) {
	s := openBusy(t)
	body := s.fill("{change}")
	is := func(verb, key string, status int) {
		t.Helper()
		assert.Equal(t, s.do(key, "POST", "/api/v1/changes/"+verb, body, nil).status, status, "%s as %s", verb, key)
	}
	rejected := func(want int) {
		t.Helper()
		list := s.get("viewer", "/api/v1/changes?server=held&rejected=true")
		assert.Equal(t, len(list), want, "what was rejected")
		for _, c := range list {
			assert.Equal[any](t, c["kind"], "rejected")
			assert.Contains(t, body, c["hash"].(string))
		}
	}
	rejected(0)
	is("reject", "operator", http.StatusOK)
	rejected(1)
	is("reject", "operator", http.StatusConflict)
	is("accept", "viewer", http.StatusForbidden)
	is("accept", "operator", http.StatusForbidden) // the server is local
	is("accept", "owner", http.StatusOK)
	rejected(0)
	is("reject", "operator", http.StatusForbidden)
	is("reject", "owner", http.StatusOK)
	rejected(1)
	assert.Equal(t, len(s.get("viewer", "/api/v1/changes?server=held")), 0, "what waits")
}

// A server that is changed by a person who accepts what it becomes keeps its tools; else the change is told in words.
func TestChangedServerIsAccepted(t *testing.T) {
	s := open(t, &host.Options{Registry: registry.New(&registry.Options{Ledger: ledger.New(nil)})}, &admin.Options{},
		&config.Server{Name: "a", Command: "x"})
	tools := func(want int, after string) {
		t.Helper()
		assert.Equal(t, len(s.manager.Host().Registry().Snapshot().Tools()), want, "tools after %s", after)
	}
	hosttest.Until(t, s.manager.Host(), "a", "ready", func(st host.Status) bool { return st.Stage == host.StageReady })
	tools(1, "the start")
	s.data("PUT", servers+"/a?accept=true", `{"argsJson":"[\"1\"]"}`)
	tools(1, "a change that is accepted")
	s.data("PUT", servers+"/a", `{"argsJson":"[\"2\"]"}`)
	tools(0, "a change that is not")
	assert.Equal[any](t, s.data("GET", servers+"/a", "")["stage"], "quarantined", "stage of a server that offers nothing")
	changes := s.get("viewer", "/api/v1/changes")
	assert.Equal(t, len(changes), 1, "changes")
	assert.Equal(t, fmt.Sprint(changes[0]["fields"]), `[map[after:["2"] before:["1"] field:/args]]`, "what has changed")
	s.data("PUT", servers+"/a", `{"argsJson":"[\"3\"]"}`)
	changes = s.get("viewer", "/api/v1/changes")
	assert.Equal(t, fmt.Sprint(changes[0]["fields"]), `[map[after:["3"] before:["1"] field:/args]]`, "what has changed since it was accepted")
	assert.Equal(t, s.do("owner", "POST", "/api/v1/undo?accept=true", "", nil).status, http.StatusOK, "undo")
	tools(1, "a change that is undone")
}

// A launch that was denied can be allowed, and what was decided about it can be forgotten.
func TestDecisionsOfLaunchesAreTakenBack(t *testing.T) {
	s := openBusy(t)
	path := s.fill("/api/v1/launches/{launch}/")
	waits := func(want int) {
		t.Helper()
		assert.Equal(t, len(s.get("viewer", "/api/v1/launches")), want, "launches that wait")
	}
	started := s.launches.Load()
	for _, c := range []struct {
		verb  string
		waits int
		runs  bool
	}{{"deny", 0, false}, {"forget", 1, false}, {"deny", 0, false}, {"allow", 0, true}, {"forget", 1, true}} {
		assert.Equal(t, s.do("operator", "POST", path+c.verb, "", nil).status, http.StatusForbidden, "%s as operator", c.verb)
		got := s.do("owner", "POST", path+c.verb, "", nil)
		assert.Equal(t, got.status, http.StatusOK, "%s: %s", c.verb, got.body)
		waits(c.waits)
		assert.Equal(t, len(s.get("viewer", "/api/v1/launches?denied=true")) == 1, c.verb == "deny", "%s: launches that were denied", c.verb)
		assert.Equal(t, s.launches.Load() > started, c.runs, "%s: it was started", c.verb)
	}
	for _, st := range s.manager.Host().Servers() {
		assert.True(t, st.Name != "proposed" || st.Stage != host.StageReady, "the server that was forgotten does not run")
	}
}

// A call that waits is shown with its exact arguments, and made once.
func TestCallIsMadeOnce(t *testing.T) {
	s := openBusy(t)
	calls := s.get("viewer", "/api/v1/calls")
	assert.Equal(t, len(calls), 1, "calls")
	assert.Contains(t, s.do("viewer", "GET", "/api/v1/calls", "", nil).body, `"arguments":{"text":"\u003cb\u003e12345678901234567890\u003c/b\u003e"}`, "calls")
	id := calls[0]["id"].(string)
	assert.Equal(t, s.do("owner", "GET", "/api/v1/tools/lazy__echo/calls/"+id, "", nil).status, http.StatusNotFound, "what comes of the call of another")
	path := "/api/v1/calls/" + id
	assert.Equal(t, s.do("owner", "POST", path+"/approve", `{"forConversation":true}`, nil).status, http.StatusBadRequest, "for a conversation that there is none of")
	got := s.do("owner", "POST", path+"/approve", `{}`, nil)
	assert.Equal(t, got.status, http.StatusOK, "approve")
	assert.Contains(t, got.body, `"made":true`, "approve")
	for _, verb := range []string{"/approve", "/deny"} {
		assert.Equal(t, s.do("owner", "POST", path+verb, `{}`, nil).status, http.StatusNotFound, "%s again", verb)
	}
}

// The answer of a call that waits for approval goes to the caller who tried it.
func TestTriedCallIsAnswered(t *testing.T) {
	s := openBusy(t)
	for verb, want := range map[string]string{"approve": `"text":"x `, "deny": `"outcome":"denied"`} {
		tried := s.do("owner", "POST", "/api/v1/tools/lazy__echo/call", `{"arguments":{"text":"x"}}`, nil)
		var out struct{ Outcome, Waiting, Error string }
		assert.OK(t, json.Unmarshal([]byte(tried.body), &out))
		assert.Equal(t, out.Outcome+out.Error, "asked", "the call")
		path := "/api/v1/tools/lazy__echo/calls/" + out.Waiting
		answered := make(chan answer, 1)
		go func() { answered <- s.do("owner", "GET", path, "", nil) }()
		assert.Equal(t, s.do("operator", "GET", path, "", nil).status, http.StatusNotFound, "as another")
		assert.Equal(t, s.do("owner", "POST", "/api/v1/calls/"+out.Waiting+"/"+verb, `{}`, nil).status, http.StatusOK, "%s", verb)
		assert.Contains(t, (<-answered).body, want, "%s", verb)
	}
}

// The activity names who decided or changed something, also a caller that is no user.
func TestActivityNamesWhoDecides(t *testing.T) {
	s := openBusy(t)
	launch := s.fill("{launch}")
	for _, c := range []struct{ path, body, kind, want string }{
		{"/api/v1/changes/reject", "{change}", "accept", `"outcome":"refused","detail":{"by":"owner","change":"server_quarantined"}`},
		{"/api/v1/changes/accept", `{rejected}`, "accept", `"outcome":"approved","detail":{"by":"owner","change":"rejected"}`},
		{"/api/v1/calls/{call}/deny", `{"reason":"too late"}`, "approval", `"by":"owner","name":"lazy__echo","reason":"too late"`},
		{"/api/v1/launches/{launch}/deny", "", "consent", `"server":"proposed","outcome":"refused"`},
		{"/api/v1/launches/" + launch + "/forget", "", "consent", `"outcome":"ok","detail":{"change":"forget"`},
		{"/api/v1/servers/runs/restart", "", "config", `"by":"owner","change":"restart"`},
	} {
		if c.body == "{rejected}" {
			data := assert.Value(json.Marshal(s.get("viewer", "/api/v1/changes?rejected=true")[0]))(t)
			c.body = string(assert.Value(jsonWithout(data, "place", "since"))(t))
		}
		got := s.do("owner", "POST", s.fill(c.path), s.fill(c.body), nil)
		assert.Equal(t, got.status, http.StatusOK, "%s: %s", c.path, got.body)
		hosttest.Eventually(t, c.path+" is recorded as "+c.want, func() bool {
			return strings.Contains(s.do("viewer", "GET", "/api/v1/activity?kind="+c.kind, "", nil).body, c.want)
		})
	}
}

// jsonWithout returns a JSON object without some of its keys.
func jsonWithout(data []byte, keys ...string) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	for _, key := range keys {
		delete(object, key)
	}
	return json.Marshal(object)
}

// The command of a launch, which may hold secrets, is for those who decide about it.
func TestLaunchesShowCommandsToOwners(t *testing.T) {
	s := openBusy(t)
	for key, shown := range map[string]bool{"viewer": false, "operator": false, "owner": true} {
		launches := s.get(key, "/api/v1/launches")
		assert.Equal(t, len(launches), 1, "launches as %s", key)
		assert.Equal[any](t, launches[0]["server"], "proposed", "launches as %s", key)
		_, ok := launches[0]["command"]
		assert.Equal(t, ok, shown, "launches as %s: a command", key)
	}
	assert.Equal(t, s.do("owner", "POST", "/api/v1/launches/0000/allow", "", nil).status, http.StatusConflict, "allow what does not wait")
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
		assert.Equal(t, got.status, c.status, "%s", c.body)
		assert.Equal(t, strings.Contains(got.body, `"success":true`), c.success, "%s", c.body)
	}
	assert.Contains(t, s.do("viewer", "GET", servers, "", nil).body, `"data":[]`, "servers")
}

// What was removed comes back as it was.
func TestRestore(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{}, &config.Server{Name: "a", URL: "https://a.example/mcp", Description: "it was here"})
	gone := s.data("DELETE", servers+"/a", "")
	removed := s.get("viewer", "/api/v1/removed")
	assert.Equal(t, fmt.Sprint(member(removed, "id")), fmt.Sprint([]any{gone["id"]}), "removed")
	assert.True(t, removed[0]["deleteTime"] != nil, "the time of the removal")
	assert.Equal(t, s.do("operator", "POST", gone["restore"].(string), "", nil).status, http.StatusOK, "restore")
	got := s.data("GET", servers+"/a", "")
	assert.Equal[any](t, got["id"], gone["id"], "restored")
	assert.Equal[any](t, got["description"], "it was here", "restored")
	assert.Equal(t, s.do("operator", "POST", gone["restore"].(string), "", nil).status, http.StatusNotFound, "restore again")
}

// What no option is set for is not there.
func TestMissingOptions(t *testing.T) {
	s := open(t, &host.Options{}, &admin.Options{})
	for _, path := range []string{"/api/v1/sessions", "/api/v1/keys", "/api/v1/activity", "/api/v1/events"} {
		got := s.do("owner", "GET", path, "", nil)
		assert.Equal(t, got.status, http.StatusNotFound, "%s", path)
		assert.Contains(t, got.body, "not_configured", "%s", path)
	}
	assert.Fails(t, assert.Err(admin.Handler(s.manager, nil)), "Handler without Authenticate")
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
		assert.Equal(t, got.status == http.StatusOK, c.want != "", "%+v", c.grant)
		assert.Contains(t, got.body, c.want, "%+v", c.grant)
	}
}

// The last change is undone if it is the one that was looked at, and the record is as it left it.
func TestUndo(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	s := open(t, &host.Options{}, &admin.Options{}, &config.Server{
		Name: "a", URL: "https://a.example/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer " + secret},
	})
	assert.Equal(t, s.do("viewer", "GET", "/api/v1/undo", "", nil).body, "null\n", "undo of nothing")
	assert.Equal(t, s.do("operator", "POST", "/api/v1/undo", "", nil).status, http.StatusNotFound, "undo of nothing")
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
		last := s.object("viewer", "GET", "/api/v1/undo", "")
		assert.Equal[any](t, last["what"], step.what, "the last change, at %v", last["at"])
	}
	got := s.do("operator", "POST", "/api/v1/undo?at=2020-01-01T00:00:00Z", "", nil)
	assert.Equal(t, got.status, http.StatusConflict, "undo of another change")
	assert.Contains(t, got.body, "stale", "undo of another change")
	for i := len(steps) - 1; i >= 0; i-- {
		last := s.object("operator", "GET", "/api/v1/undo", "")
		assert.Equal[any](t, s.object("operator", "POST", "/api/v1/undo?at="+last["at"].(string), "")["what"], steps[i].what, "undo")
	}
	assert.Equal(t, fmt.Sprint(member(s.get("viewer", "/api/v1/removed"), "name")), "[b]", "removed")
	is := s.data("GET", servers+"/a", "")
	for _, name := range []string{"id", "description", "headersJson", "enabled", "lastStatus"} {
		assert.Equal[any](t, is[name], was[name], "%s after all was undone", name)
	}
	assert.Equal(t, assert.Value(s.manager.Host().Inspect("a"))(t).Entry.Headers["Authorization"].Reveal(), "Bearer "+secret)
	s.data("PUT", servers+"/a", `{"name":"c"}`)
	assert.Equal(t, failed(assert.Err(s.manager.Undo(t.Context(), manage.Change{}))), record.CodeConflict, "undo of a change that was not made")
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
	s := open(t, &host.Options{}, &admin.Options{}, &config.Server{
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
		assert.Equal(t, got.status, c.status, "%s", c.body)
		assert.Equal(t, strings.Contains(got.body, `"success":true`), c.status == 200, "%s", c.body)
	}
	assert.Equal[any](t, s.data("GET", servers+"/a", "")["revision"], before["revision"], "the revision")
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
	list := s.get("viewer", "/api/v1/keys")
	assert.Equal(t, len(list), 1, "keys")
	assert.Equal(t, number(list[0]), number(got), "keys")
	assert.True(t, s.object("owner", "PUT", path, `{"grant":null}`)["grant"] == nil, "no grant")
	for body, status := range map[string]int{`{"grant":{"servers":["[" ]}}`: 400, `{"label":5}`: 400, `{"secret":"x"}`: 400} {
		assert.Equal(t, s.do("owner", "PUT", path, body, nil).status, status, "%s", body)
	}
	assert.Equal(t, s.do("owner", "PUT", "/api/v1/keys/none", `{}`, nil).status, http.StatusNotFound, "a key that is not there")
}

// A server that is broken is tried before it is added: the answer says how far it came, what is wrong
// and what cures it, and nothing is kept.
func TestBrokenServersAreStaged(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the servers are scripts of a shell")
	}
	m := assert.Value(manage.OpenStore(hosttest.Watchdog(t), record.NewMemoryStore(), &manage.Options{Host: host.Options{StateDir: host.NoState}}))(t)
	t.Cleanup(func() { assert.Equal(t, m.Close(), nil, "Close of the manager") })
	s := (&site{t: t}).serve(m, &admin.Options{})
	answers := func(status int, kind, body string) string {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(web.Close)
		return web.URL + "/mcp"
	}
	plain := filepath.Join(t.TempDir(), "plain")
	assert.OK(t, os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600))
	shell := func(script string) map[string]any {
		return map[string]any{"command": "/bin/sh", "argsJson": number([]string{"-c", script}), "connectTimeoutSeconds": 120}
	}
	remote := func(url string) map[string]any {
		return map[string]any{"transport": "streamable_http", "url": url, "connectTimeoutSeconds": 120}
	}
	for _, c := range []struct {
		what  string
		entry map[string]any
		hint  string
		stage string // the last one that it reached
	}{
		{"no such command", map[string]any{"command": "mcpbelt-no-such-command"}, "command_not_found", ""},
		{"no program", map[string]any{"command": plain}, "command_not_executable", "resolved"},
		{"no such folder", map[string]any{"command": "/bin/sh", "cwd": plain + "none"}, "command_not_found", "resolved"},
		{"ends at once", shell("echo it broke >&2; exit 3"), "exited", "spawned"},
		{"says other things", shell("echo hello; read request; exit 3"), "stray_output", "spawned"},
		{"variable not set", map[string]any{"command": "/bin/sh", "envJson": `{"A":"${MCPBELT_NO_SUCH_VARIABLE}"}`}, "unset_variable", ""},
		{"bare variable not set", map[string]any{"command": "/bin/sh", "envJson": `{"A":"$MCPBELT_NO_SUCH_VARIABLE","B":"pa$word"}`}, "unset_variable", ""},
		{"nothing listens", remote(deadport.URL(t) + "/mcp"), "connection_refused", "resolved"},
		{"wrong path", remote(answers(404, "text/plain", "no")), "wrong_path", "connected"},
		{"a web page", remote(answers(200, "text/html", "<html>hi</html>")), "web_page", "connected"},
		{"no right", remote(answers(403, "text/plain", "no")), "forbidden", "connected"},
		{"it fails", remote(answers(500, "text/plain", "no")), "server_error", "connected"},
	} {
		c.entry["name"] = "new"
		var result struct {
			Success bool
			Message string
			Report  struct {
				Reached string
				Hints   []doctor.Hint
			}
		}
		assert.OK(t, json.Unmarshal([]byte(s.do("owner", "POST", "/api/v1/test", number(c.entry), nil).body), &result), "%s", c.what)
		assert.False(t, result.Success || result.Message == "", "%s: a success, or no message", c.what)
		assert.Equal(t, result.Report.Reached, c.stage, "%s: reached", c.what)
		assert.True(t, slices.ContainsFunc(result.Report.Hints, func(h doctor.Hint) bool { return h.Code == c.hint }), "%s: %s", c.what, c.hint)
	}
	assert.Contains(t, s.do("viewer", "GET", servers, "", nil).body, `"data":[]`, "servers")
}
