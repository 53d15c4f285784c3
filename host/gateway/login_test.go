package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A loginSite is a gateway to the server vault, at which each user logs in by a real authorization server.
type loginSite struct {
	url     string
	host    *host.Host
	gateway *gateway.Gateway
	as      *authtest.Server
	logged  journal
}

func newLoginSite(t *testing.T, identity string, o *gateway.Options) *loginSite {
	t.Helper()
	s := &loginSite{as: authtest.NewServer(t, nil)}
	var g atomic.Pointer[gateway.Gateway]
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.Load().ServeHTTP(w, r) }))
	s.url = web.URL
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: web.URL + "/oauth/callback"}}))(t)
	t.Cleanup(func() { _ = logins.Close() })
	ho := &host.Options{StateDir: host.NoState, Logins: logins}
	gateway.Prepare(ho)
	entry := fmt.Sprintf(`{"type":"http","url":%q,"identity":%q}`, s.as.NewMCP(nil).URL, identity)
	s.host = hosttest.Open(t, hosttest.Write(t, "vault", entry), ho)
	if o == nil {
		o = &gateway.Options{Authenticate: userOfField}
	}
	o.Logger = s.logged.logger()
	made := assert.Value(gateway.New(s.host, o))(t)
	s.gateway = made
	g.Store(made)
	t.Cleanup(func() {
		_ = made.Close()
		web.CloseClientConnections()
		web.Close()
	})
	return s
}

// know has the tools of the server known, by the login of an administrator.
func (s *loginSite) know(t *testing.T) {
	t.Helper()
	ctx := session.WithUser(hosttest.Watchdog(t), "admin")
	l := assert.Value(s.host.Login(ctx, session.Key{Server: "vault"}))(t)
	callback := assert.Value(s.as.ApproveAs(ctx, "admin", l.URL))(t)
	assert.Value(s.host.Complete(ctx, callback, nil))(t)
	hosttest.Eventually(t, "the tools are known", func() bool { return strings.Contains(hosttest.Names(s.host), "whoami") })
}

// knowShared has the tools of a server known that all share, by a login.
func (s *loginSite) knowShared(t *testing.T) {
	t.Helper()
	ctx := hosttest.Watchdog(t)
	l := assert.Value(s.host.Login(ctx, session.Key{Server: "vault"}))(t)
	callback := assert.Value(s.as.ApproveAs(ctx, "first", l.URL))(t)
	assert.Value(s.host.Complete(ctx, callback, nil))(t)
	hosttest.Eventually(t, "the tools are known", func() bool { return strings.Contains(hosttest.Names(s.host), "whoami") })
}

// logIn opens the page of a login in a browser, logs in and comes back.
func (s *loginSite) logIn(ctx context.Context, b *browser, page, user string) error {
	opened, err := b.open(ctx, page)
	if err != nil {
		return err
	}
	to := opened.header.Get("Location")
	if _, rest, ok := strings.Cut(opened.body, `<a href="`); ok && to == "" { // after a form
		to, _, _ = strings.Cut(rest, `"`)
		to = strings.ReplaceAll(to, "&amp;", "&")
	}
	if to == "" {
		return fmt.Errorf("the page has status %d: %s", opened.status, opened.body)
	}
	callback, err := s.as.ApproveAs(ctx, user, to)
	if err != nil {
		return err
	}
	back, err := b.do(ctx, http.MethodGet, callback, nil)
	if err == nil && back.status != http.StatusOK {
		err = fmt.Errorf("the way back has status %d: %s", back.status, back.body)
	}
	return err
}

// loginOf returns what a result says of the login that its call lacks.
func loginOf(t *testing.T, res *mcp.CallToolResult) (page string) {
	t.Helper()
	meta, _ := res.Meta[gateway.MetaLogin].(map[string]any)
	page, _ = meta["url"].(string)
	if id, _ := meta["id"].(string); !res.IsError || id == "" || page == "" || !strings.Contains(res.Text(), page) {
		t.Fatalf("got %q with _meta %v, want an error with the id and the URL of the login", res.Text(), res.Meta)
	}
	return page
}

// A call that lacks a login goes on when its user has logged in, on a page that their client shows; a client that
// cannot show one gets its address.
func TestLoginCells(t *testing.T) {
	s := newLoginSite(t, "user", nil)
	s.know(t)
	for _, revision := range both {
		for _, action := range []string{"accept", "decline", "cancel", "gone", "none"} {
			t.Run(revision+"/"+action, func(t *testing.T) {
				ctx := hosttest.Watchdog(t)
				user := "user-" + revision + action
				b := newBrowser(t, user)
				asked := make(chan string, 1)
				done := make(chan (<-chan struct{}), 1)
				o := &mcp.ClientOptions{ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
					asked <- r.URL
					done <- r.Completed
					switch action {
					case "gone":
						<-ctx.Done()
						return nil, ctx.Err()
					case "accept":
						if err := s.logIn(ctx, b, r.URL, user); err != nil && ctx.Err() == nil {
							t.Error(err)
						}
					}
					return &mcp.ElicitResult{Action: action}, nil
				}}
				if action == "none" {
					o = nil
				}
				c := newUser(t, s.url+"/mcp", user, revision, o)
				if action == "gone" {
					var all sync.WaitGroup
					all.Go(func() { _, _ = c.CallTool(ctx, "vault__whoami", nil, nil) })
					<-asked
					_ = c.Close()
					all.Wait()
					return
				}
				res, err := c.CallTool(ctx, "vault__whoami", nil, nil)
				assert.OK(t, err)
				if action != "accept" {
					assert.OK(t, s.logIn(ctx, b, loginOf(t, res), user))
					if res, err = c.CallTool(ctx, "vault__whoami", nil, nil); err != nil {
						t.Fatal(err)
					}
				}
				assert.Equal(t, strings.TrimSpace(res.Text()), user)
				if action == "accept" && revision == mcp.Revision20251125 {
					select {
					case <-<-done:
					case <-ctx.Done():
						t.Error("got no notification that the user is done, want one")
					}
				}
			})
		}
	}
}

// The page of a login is for the user who caused it, and so is the way back.
func TestLoginOfAnother(t *testing.T) {
	s := newLoginSite(t, "user", nil)
	s.know(t)
	ctx := hosttest.Watchdog(t)
	c := newUser(t, s.url+"/mcp", "ada", mcp.Revision20260728, nil)
	res := assert.Value(c.CallTool(ctx, "vault__whoami", nil, nil))(t)
	page := loginOf(t, res)
	before := len(s.as.Requests())
	for _, user := range []string{"eve", ""} {
		got := assert.Value(newBrowser(t, user).open(ctx, page))(t)
		if got.status != http.StatusForbidden || got.header.Get("Location") != "" {
			t.Errorf("user %q: got status %d and Location %q, want 403 and none", user, got.status, got.header.Get("Location"))
		}
	}
	if got := len(s.as.Requests()); got != before {
		t.Errorf("got %d requests to the authorization server, want none", got-before)
	}
	if id := page[strings.LastIndexByte(page, '/')+1:]; !strings.Contains(s.logged.String(), "refused to open a page") || strings.Contains(s.logged.String(), id) {
		t.Errorf("got the log %s, want the refusal without the id", s.logged.String())
	}
	// The one whose page it is sends another one where it leads to: that would be a login with the account of the other.
	b := newBrowser(t, "ada")
	opened := assert.Value(b.open(ctx, page))(t)
	callback := assert.Value(s.as.ApproveAs(ctx, "eve", opened.header.Get("Location")))(t)
	back, err := newBrowser(t, "eve").do(ctx, http.MethodGet, callback, nil)
	assert.OK(t, err)
	assert.Equal(t, back.status, http.StatusForbidden, "another browser comes back: got status")
	if status, err := s.host.Login(session.WithUser(ctx, "ada"), session.Key{Server: "vault"}); err != nil || status.URL == "" {
		t.Errorf("got %v, %v, want that ada still has to log in", status, err)
	}
	if again, err := b.open(ctx, page); err != nil || again.status != http.StatusNotFound {
		t.Errorf("a page that was used: got %v, %v, want status 404", again, err)
	}
	if back, err = b.do(ctx, http.MethodGet, callback, nil); err != nil || back.status != http.StatusOK {
		t.Errorf("the right browser comes back: got %v, %v, want status 200", back, err)
	}
}

// authenticateKey knows callers by a key.
func authenticateKey(r *http.Request) (*access.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer key-of-ada":
		return &access.Caller{User: "ada", Credential: "1"}, nil
	case "Bearer key-of-eve":
		return &access.Caller{User: "eve", Credential: "2"}, nil
	}
	return nil, errors.New("no such key")
}

// newKeyClient returns a client with a key.
func newKeyClient(t *testing.T, s *loginSite, key string, o *mcp.ClientOptions) *mcp.Client {
	return newHeaderClient(t, s.url+"/mcp", http.Header{"Authorization": {"Bearer " + key}}, o)
}

// A browser that does not say whose it is proves it with the key of the client.
func TestLoginWithKey(t *testing.T) {
	s := newLoginSite(t, "user", &gateway.Options{Authenticate: authenticateKey})
	s.know(t)
	ctx := hosttest.Watchdog(t)
	b, eve := newBrowser(t, ""), newBrowser(t, "")
	b.key, eve.key = "key-of-ada", "key-of-eve"
	c := newKeyClient(t, s, "key-of-ada", &mcp.ClientOptions{ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		first, err := newBrowser(t, "").open(ctx, r.URL)
		if err != nil {
			t.Error(err)
			return nil, err
		}
		checkPolicy(t, first)
		for _, key := range []string{"key-of-eve", "wrong"} {
			eve.key = key
			if got, err := eve.open(ctx, r.URL); err != nil || got.status != http.StatusForbidden {
				t.Errorf("%s: got %v, %v, want status 403", key, got, err)
			}
		}
		if err := s.logIn(ctx, b, r.URL, "ada"); err != nil {
			t.Error(err)
		}
		return &mcp.ElicitResult{Action: "accept"}, nil
	}})
	res := assert.Value(c.CallTool(ctx, "vault__whoami", nil, nil))(t)
	assert.Equal(t, strings.TrimSpace(res.Text()), "ada")
	assert.Lacks(t, s.logged.String(), "key-of-", "a key in the log")
}

// The program says by its own means whose browser it is.
func TestLoginWithOpener(t *testing.T) {
	s := newLoginSite(t, "user", &gateway.Options{Authenticate: authenticateKey, Opener: func(r *http.Request) (string, error) {
		c, err := r.Cookie("program")
		if err != nil {
			return "", errors.New("nobody is logged in")
		}
		return c.Value, nil
	}})
	s.know(t)
	ctx := hosttest.Watchdog(t)
	c := newKeyClient(t, s, "key-of-ada", nil)
	res := assert.Value(c.CallTool(ctx, "vault__whoami", nil, nil))(t)
	page := loginOf(t, res)
	at, err := url.Parse(s.url)
	assert.OK(t, err)
	for _, user := range []string{"", "eve", "ada"} {
		b := newBrowser(t, "")
		b.key = "key-of-ada" // which it is not asked for
		if user != "" {
			b.http.Jar.SetCookies(at, []*http.Cookie{{Name: "program", Value: user}})
		}
		if err := s.logIn(ctx, b, page, user); (err == nil) != (user == "ada") {
			t.Errorf("browser of %q: got %v", user, err)
		}
	}
	if res, err = c.CallTool(ctx, "vault__whoami", nil, nil); err != nil || strings.TrimSpace(res.Text()) != "ada" {
		t.Errorf("got %v, %v, want ada", res, err)
	}
}

// Where all share a connection, its login is for those who may change servers.
func TestLoginThatIsShared(t *testing.T) {
	s := newLoginSite(t, "shared", &gateway.Options{Authenticate: func(r *http.Request) (*access.Caller, error) {
		user := r.Header.Get(userField)
		return &access.Caller{User: user, Grant: &access.Grant{Manage: user == "admin"}}, nil
	}})
	ctx := hosttest.Watchdog(t)
	read := func(user string) (*mcp.CallToolResult, error) {
		c := newUser(t, s.url+"/s/vault/mcp", user, mcp.Revision20251125, nil)
		return c.CallTool(ctx, "whoami", nil, nil)
	}
	s.knowShared(t)
	s.as.EndAll()
	res, err := read("ada")
	assert.OK(t, err)
	if _, ok := res.Meta[gateway.MetaLogin]; ok || !res.IsError {
		t.Errorf("got %q with _meta %v, want an error without a page", res.Text(), res.Meta)
	}
	if res, err = read("admin"); err != nil {
		t.Fatal(err)
	}
	assert.OK(t, s.logIn(ctx, newBrowser(t, "admin"), loginOf(t, res), "second"))
	if res, err = read("ada"); err != nil || strings.TrimSpace(res.Text()) != "second" {
		t.Errorf("got %v, %v, want second", res, err)
	}
}

// A gateway without users shows its pages on this machine only.
func TestLoginWithoutUsers(t *testing.T) {
	s := newLoginSite(t, "shared", &gateway.Options{Anonymous: true})
	s.knowShared(t)
	s.as.EndAll()
	ctx := hosttest.Watchdog(t)
	c := newUser(t, s.url+"/mcp", "", mcp.Revision20260728, nil)
	res, err := c.CallTool(ctx, "vault__whoami", nil, nil)
	assert.OK(t, err)
	page := loginOf(t, res)
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	r.RemoteAddr = "192.0.2.1:1"
	w := httptest.NewRecorder()
	s.gateway.ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusForbidden, "from another machine: got status")
	assert.OK(t, s.logIn(ctx, newBrowser(t, ""), page, "me"))
	if res, err = c.CallTool(ctx, "vault__whoami", nil, nil); err != nil || strings.TrimSpace(res.Text()) != "me" {
		t.Errorf("got %v, %v, want me", res, err)
	}
}

// Many users are asked to log in at one time, and each becomes who they are.
func TestLoginOfManyUsers(t *testing.T) {
	s := newLoginSite(t, "user", nil)
	s.know(t)
	ctx := hosttest.Watchdog(t)
	var all sync.WaitGroup
	for i := range 50 {
		user := fmt.Sprintf("user%d", i)
		b := newBrowser(t, user)
		c := newUser(t, s.url+"/mcp", user, both[i%2], &mcp.ClientOptions{ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
			if err := s.logIn(ctx, b, r.URL, user); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			return &mcp.ElicitResult{Action: "accept"}, nil
		}})
		for range 2 { // of which one asks
			all.Go(func() {
				res, err := c.CallTool(ctx, "vault__whoami", nil, nil)
				if err != nil {
					t.Error(err)
				} else if got := strings.TrimSpace(res.Text()); got != user {
					t.Errorf("got %q, want %q", got, user)
				}
			})
		}
	}
	all.Wait()
}

// A client of revision 2025-11-25 that takes no streams is refused with the page that its user has to visit.
func TestLoginWithoutStream(t *testing.T) {
	s := newLoginSite(t, "user", &gateway.Options{Authenticate: func(*http.Request) (*access.Caller, error) {
		return &access.Caller{User: "ada"}, nil
	}})
	s.know(t)
	body := ""
	id := post(t, s.url+"/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"x","version":"1"}}}`, nil)
	post(t, s.url+"/mcp", id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"vault__whoami"}}`, &body)
	if !strings.Contains(body, `"code":-32042`) || !strings.Contains(body, s.url+"/login/") || !strings.Contains(body, `"elicitationId"`) {
		t.Errorf("got %s, want error -32042 with the page", body)
	}
}
