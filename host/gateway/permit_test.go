package gateway_test

import (
	"cmp"
	"fmt"
	"net/http"
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

// change changes the grants, or their owner.
func (g *grants) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *grants) set(user string, grant *access.Grant) { g.change(func() { g.of[user] = grant }) }

func (g *grants) revoke(user string) { g.change(func() { delete(g.of, user) }) }

// newGrants are those of five users: of all, of one server, of one tool, of what reads, and of one profile.
func newGrants() *grants {
	return &grants{of: map[string]*access.Grant{
		"all": nil, "one": {Servers: []string{"one"}}, "echo": {Tools: []string{"one__echo"}}, "reads": {ReadOnly: true},
		"profile": {Profiles: []string{"o*"}},
	}}
}

// openGranted opens a site with servers one and two for the users of grants.
func openGranted(t *testing.T, g *grants) *site {
	t.Helper()
	return openSite(t, &gateway.Options{
		Authenticate: g.authenticate, Profiles: map[string]gateway.Profile{"office": {Servers: []string{"one"}}, "home": {}},
	}, "one", "two")
}

// addReadingTool adds a tool that only reads.
func addReadingTool(s *sdk.Server, name string) {
	addHinted(s, name, "", &sdk.ToolAnnotations{ReadOnlyHint: true}, nil)
}

// A grant narrows the views that a caller reaches, and a view that it does not reach is like one that is not there.
func TestGrantedViews(t *testing.T) {
	s := openGranted(t, newGrants())
	begin := callOf(1, "initialize", `{}`)
	nowhere := s.do(t, query{path: "/p/none/mcp", user: "all", body: begin})
	for _, c := range []struct{ method, user, path string }{
		{"POST", "one", "/s/two/mcp"}, {"POST", "profile", "/mcp"}, {"POST", "profile", "/mcp/"}, {"POST", "profile", "/s/one/mcp"},
		{"POST", "profile", "/p/home/mcp"}, {"GET", "profile", "/p/home/readyz"}, {"POST", "profile", "/s/none/mcp"}, {"GET", "profile", "/mcp/search"},
	} {
		r := s.wantStatus(t, nowhere.status, query{method: c.method, path: c.path, user: c.user, body: begin}, "%s at %s", c.user, c.path)
		assert.Equal(t, r.body, nowhere.body, "%s at %s", c.user, c.path)
	}
	for _, c := range []struct{ user, path string }{
		{"all", "/p/home/mcp"}, {"all", "/s/two/mcp"}, {"one", "/mcp"}, {"one", "/p/home/mcp"}, {"one", "/s/one/mcp"}, {"profile", "/p/office/mcp"}, {"reads", "/s/two/mcp"},
	} {
		s.connect(t, &client{user: c.user, path: c.path})
	}
}

// A grant narrows what is listed and called, whatever the name.
func TestGrantedTools(t *testing.T) {
	s := openGranted(t, newGrants())
	addReadingTool(s.server.Server, "look")
	hosttest.Eventually(t, "the new tool is listed", func() bool {
		all := s.modern("all", "").tools(t)
		return all["one__look"] != nil && all["two__look"] != nil
	})
	assert.Value(toolset.New(s.host.Registry(), nil))(t)
	const ofOne = "one__ask one__big one__echo one__flood one__look one__wait"
	for _, c := range []struct{ user, path, want string }{
		{"one", "/mcp", ofOne},
		{"one", "/p/home/mcp", ofOne},
		{"echo", "/mcp", "one__echo"},
		{"echo", "/s/one/mcp", "echo"},
		{"echo", "/s/two/mcp", ""},
		{"reads", "/mcp", "one__look two__look"},
		{"reads", "/p/office/mcp", "one__look"},
		{"profile", "/p/office/mcp", ofOne},
	} {
		assert.Equal(t, s.modern(c.user, c.path).names(t), c.want, "%s at %s", c.user, c.path)
	}
	const text = `{"text":"x"}`
	for _, c := range []struct {
		user, path, name, args string
		want                   int
	}{
		{"one", "/mcp", "one__echo", text, 0},
		{"one", "/mcp", "two__echo", text, -32602},
		{"one", "/mcp", "Two-Echo", text, -32602},
		{"one", "/mcp", "call_tool", `{"name":"two__echo","arguments":{"text":"x"}}`, -32602},
		{"one", "/mcp", "search_tools", `{"query":"echo"}`, -32602},
		{"all", "/mcp", "search_tools", `{"query":"echo"}`, 0},
		{"echo", "/mcp", "one__echo", text, 0},
		{"echo", "/s/one/mcp", "echo", text, 0},
		{"echo", "/s/one/mcp", "big", `{"n":1}`, -32602},
		{"echo", "/mcp", "one__big", `{"n":1}`, -32602},
		{"reads", "/mcp", "one__look", text, 0},
		{"reads", "/mcp", "one__echo", text, -32602},
		{"reads", "/mcp", "search_tools", `{"query":"echo"}`, -32602},
		{"reads", "/s/one/mcp", "echo", text, -32602},
	} {
		m := s.modern(c.user, c.path).want(t, c.want, "tools/call", toolParams(c.name, c.args))
		if m.Error != nil && c.user != "reads" {
			_, suggestion, _ := strings.Cut(m.Error.Message, "mean")
			for _, hidden := range []string{"two__", "call_tool", "one__big"} {
				assert.Lacks(t, suggestion, hidden, "%s %s: what it may mean", c.user, c.name)
			}
		}
	}
}

// A grant narrows resources, prompts and completion, what is said of servers, and whose state is told.
func TestGrantedContent(t *testing.T) {
	s := openGranted(t, newGrants())
	const argument = `,"argument":{"name":"who","value":"a"}`
	for _, c := range []struct {
		user, method, params string
		known                bool
	}{
		{"one", "resources/read", `"uri":"one://note://1"`, true},
		{"one", "resources/read", `"uri":"two://note://1"`, false},
		{"one", "resources/subscribe", `"uri":"two://note://1"`, false},
		{"one", "prompts/get", `"name":"one__greet"`, true},
		{"one", "prompts/get", `"name":"two__greet"`, false},
		{"one", "completion/complete", `"ref":{"type":"ref/prompt","name":"one__greet"}` + argument, true},
		{"one", "completion/complete", `"ref":{"type":"ref/prompt","name":"two__greet"}` + argument, false},
		{"one", "completion/complete", `"ref":{"type":"ref/resource","uri":"two://note://{n}"}` + argument, false},
		{"all", "resources/read", `"uri":"two://note://1"`, true},
		{"all", "prompts/get", `"name":"two__greet"`, true},
	} {
		m := s.connect(t, &client{user: c.user}).do(t, c.method, c.params)
		assert.Equal(t, m.Error == nil, c.known, "%s %s %s: it is known", c.user, c.method, c.params)
	}
	one := s.connect(t, &client{user: "one"})
	for _, method := range []string{"resources/list", "resources/templates/list", "prompts/list"} {
		list := string(one.want(t, 0, method, "").Result)
		assert.Lacks(t, list, "two", "%s", method)
		assert.Contains(t, list, "one", "%s", method)
	}
	for user, want := range map[string]bool{"all": true, "one": false, "profile": false} {
		r := s.do(t, query{method: http.MethodGet, path: "/readyz", user: user})
		assert.Equal(t, strings.Contains(r.body, "two"), want, "readyz for %s: server two", user)
	}
}

// A grant that shrinks counts from the next request on, in an open session too.
func TestGrantShrinks(t *testing.T) {
	g := newGrants()
	s := openGranted(t, g)
	c := s.connect(t, &client{user: "all"})
	call := toolParams("two__echo", `{"text":"x"}`)
	c.want(t, 0, "tools/call", call)
	late := openSite(t, gateway.WithLimits(&gateway.Options{Authenticate: g.authenticate}, func(l *gateway.Limits) { l.AnswerWithin = time.Millisecond }), "one", "two")
	waits := late.connect(t, &client{user: "all"})
	await := toolParams("await_call", fmt.Sprintf(`{"id":%q}`, waits.call(t, "two__wait", `{}`).at("_meta", "mcpbelt/call")))
	waits.want(t, 0, "tools/call", await)
	g.set("all", &access.Grant{Servers: []string{"one"}})
	waits.want(t, -32602, "tools/call", await)
	c.want(t, -32602, "tools/call", call)
	assert.Lacks(t, c.names(t), "two__")
	g.set("all", &access.Grant{Profiles: []string{"office"}})
	s.wantStatus(t, http.StatusNotFound, c.query("tools/call", call))
	g.revoke("all")
	s.wantStatus(t, http.StatusUnauthorized, c.query("tools/call", call), "after the key was revoked")
	g.set("all", nil)
	c.want(t, 0, "tools/call", call, "with the old grant")
}

// A caller is told of a change of the list if it is a change of theirs.
func TestGrantedNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, &gateway.Options{Authenticate: newGrants().authenticate})
		heard := map[string]*atomic.Int64{}
		var all sync.WaitGroup
		defer all.Wait()
		for _, user := range []string{"all", "one", "echo", "reads"} {
			for _, revision := range both {
				l := s.connect(t, &client{user: user, path: "/s/one/mcp", revision: revision}).listen(t)
				count := &atomic.Int64{}
				heard[user+" "+revision] = count
				all.Go(func() {
					for data := l.next("data"); data != ""; data = l.next("data") {
						assert.Contains(t, data, "notifications/tools/list_changed")
						count.Add(1)
					}
				})
				defer l.close()
			}
		}
		for _, step := range []struct {
			add  func(*sdk.Server)
			want map[string]int
		}{
			{func(s *sdk.Server) { addTool(s, "more", nil) }, map[string]int{"all": 1, "one": 1}},
			{func(s *sdk.Server) { addReadingTool(s, "look") }, map[string]int{"all": 2, "one": 2, "reads": 1}},
		} {
			step.add(s.server.Server)
			time.Sleep(time.Second)
			for _, user := range []string{"all", "one", "echo", "reads"} {
				for _, revision := range both {
					assert.Equal(t, heard[user+" "+revision].Load(), int64(step.want[user]), "%s in %s: changes heard of", user, revision)
				}
			}
		}
	})
}

// A session hears of no change of a resource whose server its grant does not have any more.
func TestSubscriptionOfShrunkGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrants()
		s := openInMemory(t, &gateway.Options{Authenticate: g.authenticate})
		c := s.connect(t, &client{user: "all"})
		l := c.listen(t)
		c.want(t, 0, "resources/subscribe", `"uri":"one://note://1"`)
		heard := 0
		var all sync.WaitGroup
		all.Go(func() {
			for l.next("data") != "" {
				heard++
			}
		})
		for i, grant := range []*access.Grant{nil, {Servers: []string{"two"}}, nil} {
			g.set("all", grant)
			c.want(t, 0, "tools/list", "")
			assert.OK(t, s.server.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "note://1"}))
			synctest.Wait()
			assert.Equal(t, heard, []int{1, 1, 2}[i], "changes heard of, time %d", i+1)
		}
		l.close()
		all.Wait()
	})
}

// A listening stream ends within 30 s when its key is revoked, allows something else, or is that of another user.
func TestListeningStreamOfRevokedKey(t *testing.T) {
	for change, do := range map[string]func(*grants){
		"revoked":               func(g *grants) { g.revoke("all") },
		"shrunk":                func(g *grants) { g.set("all", &access.Grant{ReadOnly: true}) },
		"given to another user": func(g *grants) { g.change(func() { g.owner = "other" }) },
	} {
		for _, kind := range []string{"session", "modern"} {
			synctest.Test(t, func(t *testing.T) {
				g := newGrants()
				s := openInMemory(t, &gateway.Options{Authenticate: g.authenticate})
				q := s.modern("all", "").query("subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
				if kind == "session" {
					q = s.connect(t, &client{user: "all"}).get()
				}
				begun := time.Now()
				time.AfterFunc(20*time.Second, func() { do(g) })
				s.drain(t.Context(), q)
				after := time.Since(begun) - 20*time.Second
				assert.True(t, after > 0 && after <= 30*time.Second, "%s, %s: the end, %v after the change, is within 30 s", kind, change, after)
			})
		}
	}
}

// A name of a server that a caller does not see neither starts it nor tells of it.
func TestGrantedServerThatDoesNotRun(t *testing.T) {
	var started atomic.Int64
	server := newSDKServer()
	addTool(server, "write", nil)
	ho := hosttest.InProcess(server)
	connect := ho.Transport
	ho.StateDir, ho.OpenWait, ho.Transport = host.NoState, -1, func(key session.Key, s *config.Server) (mcp.Transport, error) {
		started.Add(1)
		return connect(key, s)
	}
	g := &grants{of: map[string]*access.Grant{"other": {Servers: []string{"other"}}, "reads": {ReadOnly: true}, "all": nil}}
	s := new(site).open(t, ho, &gateway.Options{Authenticate: g.authenticate}, "lazy", `{"command":"x","identity":"user"}`)
	for _, name := range []string{"lazy__write", "Lazy.Write", "mcp__lazy__write", "write"} {
		assert.Lacks(t, fmt.Sprint(s.modern("other", "").want(t, -32602, "tools/call", toolParams(name, `{}`)).Error), "ready", "%s", name)
	}
	assert.Equal(t, started.Load(), 0, "starts of the server")
	s.modern("reads", "").want(t, -32602, "tools/call", toolParams("lazy__write", `{}`))
	s.modern("all", "").want(t, 0, "tools/call", toolParams("lazy__write", `{}`))
}

// authenticateUserAndKey takes the user and the key from the field: user/key.
func authenticateUserAndKey(r *http.Request) (*access.Caller, error) {
	user, credential, _ := strings.Cut(r.Header.Get(userField), "/")
	return &access.Caller{User: user, Credential: credential}, nil
}

// A key for tools has no resources and prompts beside them, unless servers are named.
func TestToolsAlone(t *testing.T) {
	g := newGrants()
	g.set("both", &access.Grant{Servers: []string{"one"}, Tools: []string{"one__echo"}})
	s := openGranted(t, g)
	for _, revision := range both {
		for _, path := range []string{"/mcp", "/s/one/mcp", "/p/office/mcp"} {
			uri := "note://1"
			for user, code := range map[string]int{"echo": -32601, "both": 0} {
				c := s.connect(t, &client{user: user, path: path, revision: revision})
				for _, method := range []string{"resources/list", "resources/templates/list", "prompts/list"} {
					m := c.do(t, method, "")
					if code != 0 && revision == both[0] { // an empty list
						assert.Equal(t, m.code()+strings.Count(string(m.Result), "name"), 0, "%s as %s: %s", method, user, m.Result)
					} else {
						assert.Equal(t, m.code(), code, "%s as %s", method, user)
					}
				}
				c.want(t, code, "resources/read", fmt.Sprintf(`"uri":%q`, uri))
				if code != 0 {
					c.want(t, code, "prompts/get", `"name":"greet"`)
					c.want(t, code, "completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":""}`)
				}
			}
		}
	}
}
