package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
	"github.com/mcpbelt/mcpbelt/session"
)

// Grants are what the users of a site may, by their names. They can be changed.
type grants struct {
	mu    sync.Mutex
	of    map[string]*access.Grant
	owner string // on whose behalf all keys are used; empty: each on its user's
}

// authenticate lets in the users that have a grant.
func (g *grants) authenticate(r *http.Request) (*access.Caller, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	user := r.Header.Get(userField)
	grant, ok := g.of[user]
	if !ok {
		return nil, &access.RefusedError{Credential: "key of " + user, Reason: "it was revoked"}
	}
	return &access.Caller{User: cmp.Or(g.owner, user), Credential: "key of " + user, Grant: grant}, nil
}

func (g *grants) set(user string, grant *access.Grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[user] = grant
}

func (g *grants) revoke(user string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.of, user)
}

// newGrants are those of five users: of all, of one server, of one tool, of what reads, and of one profile.
func newGrants() *grants {
	return &grants{of: map[string]*access.Grant{
		"all":     nil,
		"one":     {Servers: []string{"one"}},
		"echo":    {Tools: []string{"one__echo"}},
		"reads":   {ReadOnly: true},
		"profile": {Profiles: []string{"o*"}},
	}}
}

// openGranted opens a site with servers one and two for the users of grants.
func openGranted(t *testing.T, g *grants, o *gateway.Options) *site {
	t.Helper()
	if o == nil {
		o = &gateway.Options{}
	}
	o.Authenticate = g.authenticate
	o.Profiles = map[string]gateway.Profile{"office": {Servers: []string{"one"}}, "home": {}}
	return openSite(t, o, "one", "two")
}

// names returns the names of the tools that a user sees.
func (s *site) names(t *testing.T, user, path string) string {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	assert.OK(t, json.Unmarshal(s.wantCode(t, "list of "+user, modern(user, path, "tools/list", "", ""), 0).Result, &list))
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// addReadingTool adds a tool that only reads to all servers of a site.
func addReadingTool(u *upstream, name string) {
	sdk.AddTool(u.Server, &sdk.Tool{Name: name, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *sdk.CallToolRequest, anyInput) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
}

// A grant narrows the views that a caller reaches, and a view that it does not reach is like one that is not there.
func TestGrantedViews(t *testing.T) {
	s := openGranted(t, newGrants(), nil)
	nowhere := s.do(t, shot{path: "/p/none/mcp", user: "all", body: callOf(1, "initialize", `{}`)})
	for _, c := range []struct{ user, path string }{
		{"one", "/s/two/mcp"},
		{"profile", "/mcp"},
		{"profile", "/mcp/"},
		{"profile", "/s/one/mcp"},
		{"profile", "/p/home/mcp"},
		{"profile", "/p/home/readyz"},
		{"profile", "/s/none/mcp"},
		{"profile", "/mcp/tools/list"},
	} {
		method := http.MethodPost
		if strings.HasSuffix(c.path, "readyz") || strings.HasSuffix(c.path, "list") {
			method = http.MethodGet
		}
		r := s.do(t, shot{method: method, path: c.path, user: c.user, body: callOf(1, "initialize", `{}`)})
		if r.status != nowhere.status || r.body != nowhere.body {
			t.Errorf("%s at %s: got %d %q, want %d %q", c.user, c.path, r.status, r.body, nowhere.status, nowhere.body)
		}
	}
	for _, c := range []struct{ user, path string }{
		{"all", "/p/home/mcp"}, {"all", "/s/two/mcp"}, {"one", "/mcp"}, {"one", "/p/home/mcp"}, {"one", "/s/one/mcp"}, {"profile", "/p/office/mcp"}, {"reads", "/s/two/mcp"},
	} {
		s.begin(t, c.path, c.user, "2025-11-25")
	}
}

// A grant narrows what is listed and called, whatever the name.
func TestGrantedTools(t *testing.T) {
	s := openGranted(t, newGrants(), nil)
	addReadingTool(s.server, "look")
	eventually(t, "the new tool is listed", func() bool {
		all := s.names(t, "all", "/mcp")
		return strings.Contains(all, "one__look") && strings.Contains(all, "two__look")
	})
	assert.Value(toolset.New(s.host.Registry(), nil))(t)
	for _, c := range []struct{ user, path, want string }{
		{"one", "/mcp", "one__ask one__big one__echo one__flood one__look one__wait"},
		{"one", "/p/home/mcp", "one__ask one__big one__echo one__flood one__look one__wait"},
		{"echo", "/mcp", "one__echo"},
		{"echo", "/s/one/mcp", "echo"},
		{"echo", "/s/two/mcp", ""},
		{"reads", "/mcp", "one__look two__look"},
		{"reads", "/p/office/mcp", "one__look"},
		{"profile", "/p/office/mcp", "one__ask one__big one__echo one__flood one__look one__wait"},
	} {
		assert.Equal(t, s.names(t, c.user, c.path), c.want, "%s at %s", c.user, c.path)
	}
	for _, c := range []struct {
		user, path, name, args string
		want                   int
	}{
		{"one", "/mcp", "one__echo", `{"text":"x"}`, 0},
		{"one", "/mcp", "two__echo", `{"text":"x"}`, -32602},
		{"one", "/mcp", "Two-Echo", `{"text":"x"}`, -32602},
		{"one", "/mcp", "call_tool", `{"name":"two__echo","arguments":{"text":"x"}}`, -32602},
		{"one", "/mcp", "search_tools", `{"query":"echo"}`, -32602},
		{"all", "/mcp", "search_tools", `{"query":"echo"}`, 0},
		{"echo", "/mcp", "one__echo", `{"text":"x"}`, 0},
		{"echo", "/s/one/mcp", "echo", `{"text":"x"}`, 0},
		{"echo", "/s/one/mcp", "big", `{"n":1}`, -32602},
		{"echo", "/mcp", "one__big", `{"n":1}`, -32602},
		{"reads", "/mcp", "one__look", `{"text":"x"}`, 0},
		{"reads", "/mcp", "one__echo", `{"text":"x"}`, -32602},
		{"reads", "/mcp", "search_tools", `{"query":"echo"}`, -32602},
		{"reads", "/s/one/mcp", "echo", `{"text":"x"}`, -32602},
	} {
		params := `"name":"` + c.name + `","arguments":` + c.args
		m := s.wantCode(t, c.user+" "+c.name, modern(c.user, c.path, "tools/call", c.name, params), c.want)
		if m.Error != nil && strings.Contains(m.Error.Message, "mean") && c.user != "reads" {
			for _, hidden := range []string{"two__", "call_tool", "one__big"} {
				if strings.Contains(strings.SplitN(m.Error.Message, "mean", 2)[1], hidden) {
					t.Errorf("%s %s: got %q, want nothing of %s", c.user, c.name, m.Error.Message, hidden)
				}
			}
		}
	}
	r := s.do(t, shot{method: http.MethodGet, path: "/mcp/tools/list", user: "echo"})
	if strings.Contains(r.body, "two__") || !strings.Contains(r.body, "one__echo") {
		t.Errorf("got %s, want one__echo alone", cut(r.body))
	}
	r = s.do(t, shot{path: "/mcp/tools/call", user: "echo", body: callOf(1, "tools/call", `{"name":"two__echo","arguments":{"text":"x"}}`)})
	if m := r.message(t); m.Error == nil {
		t.Errorf("got %s, want an error", m.Result)
	}
}

// A grant narrows resources, prompts and completion, what is said of servers, and whose state is told.
func TestGrantedContent(t *testing.T) {
	s := openGranted(t, newGrants(), nil)
	const argument = `"argument":{"name":"who","value":"a"}`
	for _, c := range []struct {
		user, method, params string
		known                bool
	}{
		{"one", "resources/read", `{"uri":"one://note://1"}`, true},
		{"one", "resources/read", `{"uri":"two://note://1"}`, false},
		{"one", "resources/subscribe", `{"uri":"two://note://1"}`, false},
		{"one", "prompts/get", `{"name":"one__greet"}`, true},
		{"one", "prompts/get", `{"name":"two__greet"}`, false},
		{"one", "completion/complete", `{"ref":{"type":"ref/prompt","name":"one__greet"},` + argument + `}`, true},
		{"one", "completion/complete", `{"ref":{"type":"ref/prompt","name":"two__greet"},` + argument + `}`, false},
		{"one", "completion/complete", `{"ref":{"type":"ref/resource","uri":"two://note://{n}"},` + argument + `}`, false},
		{"all", "resources/read", `{"uri":"two://note://1"}`, true},
		{"all", "prompts/get", `{"name":"two__greet"}`, true},
	} {
		r := s.do(t, shot{user: c.user, session: s.begin(t, "/mcp", c.user, "2025-11-25"), body: callOf(2, c.method, c.params)})
		if m := r.message(t); (m.Error == nil) != c.known {
			t.Errorf("%s %s %s: got %s, %+v, want it known: %t", c.user, c.method, c.params, m.Result, m.Error, c.known)
		}
	}
	session := s.begin(t, "/mcp", "one", "2025-11-25")
	for _, method := range []string{"resources/list", "resources/templates/list", "prompts/list"} {
		r := s.do(t, shot{user: "one", session: session, body: callOf(3, method, `{}`)})
		if m := r.message(t); strings.Contains(string(m.Result), "two") || !strings.Contains(string(m.Result), "one") {
			t.Errorf("%s: got %s, want what server one has", method, m.Result)
		}
	}
	for user, want := range map[string]bool{"all": true, "one": false, "profile": false} {
		if r := s.do(t, shot{method: http.MethodGet, path: "/readyz", user: user}); strings.Contains(r.body, "two") != want {
			t.Errorf("readyz for %s: got %s, want server two: %t", user, r.body, want)
		}
	}
}

// The lists of users with equal grants are one; a grant that shrinks counts from the next request on, in an open
// session too.
func TestGrantShrinks(t *testing.T) {
	g := newGrants()
	s := openGranted(t, g, nil)
	session := s.begin(t, "/mcp", "all", "2025-11-25")
	call := shot{user: "all", session: session, body: callOf(2, "tools/call", `{"name":"two__echo","arguments":{"text":"x"}}`)}
	if m := s.do(t, call).message(t); m.Error != nil {
		t.Errorf("got %+v, want a result", m.Error)
	}
	task := s.do(t, shot{user: "all", session: session, body: callOf(4, "tools/call", `{"name":"two__wait","arguments":{},"task":{}}`)}).message(t)
	about := shot{user: "all", session: session, body: callOf(5, "tasks/get", `{"taskId":"`+task.at("task", "taskId")+`"}`)}
	s.wantCode(t, "task", about, 0)
	g.set("all", &access.Grant{Servers: []string{"one"}})
	s.wantCode(t, "task after the grant shrank", about, -32602)
	if m := s.do(t, call).message(t); m.Error == nil {
		t.Errorf("got %s after the grant shrank, want an error", m.Result)
	}
	list := s.do(t, shot{user: "all", session: session, body: callOf(3, "tools/list", `{}`)}).message(t)
	if strings.Contains(string(list.Result), "two__") {
		t.Errorf("got %s, want the tools of server one", list.Result)
	}
	g.set("all", &access.Grant{Profiles: []string{"office"}})
	if r := s.do(t, call); r.status != http.StatusNotFound {
		t.Errorf("got %d, want 404", r.status)
	}
	g.revoke("all")
	if r := s.do(t, call); r.status != http.StatusUnauthorized {
		t.Errorf("got %d after the key was revoked, want 401", r.status)
	}
	g.set("all", nil)
	if m := s.do(t, call).message(t); m.Error != nil {
		t.Errorf("got %+v with the old grant, want a result", m.Error)
	}
}

// A caller is told of a change of the list if it is a change of theirs.
func TestGrantedNotifications(t *testing.T) {
	s := openGranted(t, newGrants(), nil)
	const listen = `"notifications":{"toolsListChanged":true}`
	heard := map[string]chan rpc{}
	for _, user := range []string{"all", "one", "echo", "reads"} {
		l := s.listen(t, modern(user, "/s/one/mcp", "subscriptions/listen", "", listen))
		session := s.begin(t, "/mcp", user, "2025-11-25")
		old := s.listen(t, shot{method: http.MethodGet, user: user, session: session})
		l.message(t) // the acknowledgement
		for name, l := range map[string]*listener{user: l, user + " in a session": old} {
			messages := make(chan rpc, 10)
			heard[name] = messages
			go func() {
				defer close(messages)
				for {
					_, data := l.next("data")
					var m rpc
					if data == "" || json.Unmarshal([]byte(data), &m) != nil {
						return
					}
					messages <- m
				}
			}()
		}
	}
	addEmptyTool(s.server, "more")
	for _, user := range []string{"all", "one", "all in a session", "one in a session"} {
		if m := <-heard[user]; m.Method != "notifications/tools/list_changed" {
			t.Errorf("%s: got %q, want a change of the list", user, m.Method)
		}
	}
	none := func(users ...string) {
		t.Helper()
		for _, user := range users {
			select {
			case m := <-heard[user]:
				t.Errorf("%s: got %q, want no message", user, m.Method)
			default:
			}
		}
	}
	none("reads", "echo", "reads in a session", "echo in a session")
	addReadingTool(s.server, "look")
	for _, user := range []string{"reads", "reads in a session"} {
		if m := <-heard[user]; m.Method != "notifications/tools/list_changed" {
			t.Errorf("%s: got %q, want a change of the list", user, m.Method)
		}
	}
	none("echo", "echo in a session")
}

// A session hears of no change of a resource whose server its grant does not have any more.
func TestSubscriptionOfShrunkGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrants()
		s := openInMemory(t, &gateway.Options{Authenticate: g.authenticate})
		session := s.begin(t, "/mcp", "all", "2025-11-25")
		l := s.listen(t, shot{method: http.MethodGet, user: "all", session: session})
		s.wantCode(t, "subscribe", shot{user: "all", session: session, body: callOf(2, "resources/subscribe", `{"uri":"one://note://1"}`)}, 0)
		heard := 0
		var all sync.WaitGroup
		all.Go(func() {
			for {
				if _, data := l.next("data"); data == "" {
					return
				}
				heard++
			}
		})
		for i, grant := range []*access.Grant{nil, {Servers: []string{"two"}}, nil} {
			g.set("all", grant)
			s.wantCode(t, "list", shot{user: "all", session: session, body: callOf(3, "tools/list", `{}`)}, 0)
			assert.OK(t, s.server.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "note://1"}))
			synctest.Wait()
			assert.Equal(t, heard, []int{1, 1, 2}[i], "after change %d: heard of", i+1)
		}
		l.close()
		all.Wait()
	})
}

// A listening stream ends within 30 s when its key is revoked, allows something else, or is that of another user.
func TestListeningStreamOfRevokedKey(t *testing.T) {
	for _, kind := range []string{"session", "modern", "sse"} {
		for change, do := range map[string]func(*grants){
			"revoked": func(g *grants) { g.revoke("all") },
			"shrunk":  func(g *grants) { g.set("all", &access.Grant{ReadOnly: true}) },
			"given to another user": func(g *grants) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.owner = "other"
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				g := newGrants()
				s := openInMemory(t, &gateway.Options{Authenticate: g.authenticate})
				var in shot
				switch kind {
				case "session":
					in = shot{method: http.MethodGet, user: "all", session: s.begin(t, "/mcp", "all", "2025-11-25")}
				case "modern":
					in = modern("all", "/mcp", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`)
				case "sse":
					in = shot{method: http.MethodGet, user: "all"}
				}
				l := s.listen(t, in)
				time.Sleep(20 * time.Second)
				do(g)
				begun := time.Now()
				drain(l.Response)
				if took := time.Since(begun); took > 30*time.Second {
					t.Errorf("%s, %s: got the end after %v, want it within 30 s", kind, change, took)
				}
			})
		}
	}
}

// A name of a server that a caller does not see neither starts it nor tells of it.
func TestGrantedServerThatDoesNotRun(t *testing.T) {
	var started atomic.Int64
	server := newSDKServer()
	addTool(server, "write", func(context.Context, *sdk.CallToolRequest, anyInput) string { return "written" })
	ho := hosttest.InProcess(server)
	connect := ho.Transport
	ho.StateDir, ho.Transport = host.NoState, func(key session.Key, s *config.Server) (mcp.Transport, error) {
		started.Add(1)
		return connect(key, s)
	}
	gateway.Prepare(ho)
	h := hosttest.Open(t, hosttest.Write(t, "lazy", `{"command":"x","identity":"user"}`), hosttest.Patient(ho))
	g := &grants{of: map[string]*access.Grant{"other": {Servers: []string{"other"}}, "reads": {ReadOnly: true}, "all": nil}}
	url, _ := serveGateway(t, h, &gateway.Options{Authenticate: g.authenticate})
	s := &site{url: url, client: http.DefaultClient}
	call := func(user, name string) *reply {
		return s.do(t, modern(user, "/mcp", "tools/call", name, `"name":"`+name+`","arguments":{"text":"x"}`))
	}
	for _, name := range []string{"lazy__write", "Lazy.Write", "mcp__lazy__write", "write"} {
		if r := call("other", name); r.message(t).Error == nil || strings.Contains(r.body, "ready") {
			t.Errorf("%s: got %s, want an unknown tool", name, cut(r.body))
		}
	}
	assert.Equal(t, started.Load(), 0, "starts of the server")
	if r := call("reads", "lazy__write"); r.message(t).Error == nil {
		t.Errorf("got %s for a tool that writes, want an error", cut(r.body))
	}
	if r := call("all", "lazy__write"); r.message(t).Error != nil {
		t.Errorf("got %s, want a result", cut(r.body))
	}
}

// Without a word about who may use it, the gateway serves no HTTP request; anonymous ones come in at a loopback address.
func TestAnonymous(t *testing.T) {
	h := host.New(&host.Options{StateDir: host.NoState})
	defer h.Close()
	if g, err := gateway.New(h, &gateway.Options{Anonymous: true, Authenticate: userOfField}); err == nil {
		_ = g.Close()
		t.Error("got no error for both, want one")
	}
	for _, c := range []struct {
		anonymous bool
		local     net.Addr
		want      int
		text      string
	}{
		{true, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 200, ""},
		{true, &net.UnixAddr{Name: "belt", Net: "unix"}, 200, ""},
		{true, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, 403, "loopback"},
		{true, nil, 403, "loopback"},
		{false, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 403, "Options.Authenticate"},
	} {
		g := assert.Value(gateway.New(h, &gateway.Options{Anonymous: c.anonymous}))(t)
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "http://localhost/mcp/tools/list", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
		g.ServeHTTP(w, r)
		if w.Code != c.want || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("anonymous %t at %v: got %d %q, want %d with %q", c.anonymous, c.local, w.Code, w.Body, c.want, c.text)
		}
		w = httptest.NewRecorder()
		r.URL.Path = "/readyz"
		if g.ServeHTTP(w, r); w.Code != 200 {
			t.Errorf("anonymous %t at %v: got %d for /readyz, want 200", c.anonymous, c.local, w.Code)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A refused request gets a challenge, and is logged with its reason, and without its credential.
func TestRefusals(t *testing.T) {
	var mu sync.Mutex
	var logged bytes.Buffer
	refusals := map[string]error{
		"Bearer expired": &access.RefusedError{Credential: "https://as.example", Reason: "the token has expired"},
		"Bearer little":  &access.RefusedError{Status: 403, Scope: "more", Reason: "the scope is missing"},
		"Bearer away":    &access.RefusedError{Status: 503, Reason: "the issuer is away"},
		"Bearer odd":     errors.New("odd"),
		"":               access.ErrUnrecognized,
	}
	s := openSite(t, &gateway.Options{
		Authenticate: func(r *http.Request) (*access.Caller, error) {
			if r.Header.Get(userField) == "wrong" {
				return &access.Caller{Grant: &access.Grant{Tools: []string{"["}}}, nil
			}
			return nil, refusals[r.Header.Get("Authorization")]
		},
		Resource: &access.Resource{AuthorizationServers: []string{"https://as.example"}},
		Logger: slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return logged.Write(p)
		}), nil)),
	})
	metadata := s.url + access.MetadataPath + "/p/x/mcp/"
	for token, want := range map[string]struct {
		status    int
		challenge string
		reason    string
	}{
		"":               {401, `Bearer resource_metadata="` + metadata + `"`, "no credential"},
		"Bearer expired": {401, `Bearer resource_metadata="` + metadata + `", error="invalid_token"`, "https://as.example: the token has expired"},
		"Bearer little":  {403, `Bearer resource_metadata="` + metadata + `", error="insufficient_scope", scope="more"`, "the scope is missing"},
		"Bearer away":    {503, "", "the issuer is away"},
		"Bearer odd":     {401, `Bearer resource_metadata="` + metadata + `", error="invalid_token"`, "odd"},
	} {
		r := s.do(t, shot{path: "/p/x/mcp/", header: map[string]string{"Authorization": token}, body: callOf(1, "initialize", `{}`)})
		if got := r.header.Get("WWW-Authenticate"); r.status != want.status || got != want.challenge {
			t.Errorf("%q: got %d %q, want %d %q", token, r.status, got, want.status, want.challenge)
		}
		mu.Lock()
		text := logged.String()
		logged.Reset()
		mu.Unlock()
		assert.Contains(t, text, want.reason, "%q: in the log", token)
		if token != "" && strings.Contains(text, token) {
			t.Errorf("%q: got %q in the log, want no token", token, text)
		}
	}
	if r := s.do(t, shot{user: "wrong", body: callOf(1, "initialize", `{}`)}); r.status != http.StatusForbidden {
		t.Errorf("got %d for a grant that cannot be used, want 403", r.status)
	}
	for path, want := range map[string]string{"": "", "/mcp": "/mcp", "/p/x/mcp/": "/p/x/mcp/"} {
		r := s.do(t, shot{method: http.MethodGet, path: access.MetadataPath + path})
		var got struct{ Resource string }
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Resource != s.url+want {
			t.Errorf("metadata at %q: got %d %q, want the resource %s", path, r.status, r.body, s.url+want)
		}
	}
}

// A writerFunc is a writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
