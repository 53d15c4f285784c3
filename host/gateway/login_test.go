// Tests of errand.go: calls that lack a login, and the pages on which users log in.

package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
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
	site
	as     *authtest.Server
	logged lockedBuffer
}

// newLoginSite opens a site whose tools are known by a login of the given user.
func newLoginSite(t *testing.T, identity, first string, o *gateway.Options) *loginSite {
	t.Helper()
	s := &loginSite{as: authtest.NewServer(t, nil)}
	listener := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.url, s.client = "http://"+listener.Addr().String(), &http.Client{Transport: &http.Transport{}}
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: s.url + "/oauth/callback"}}))(t)
	t.Cleanup(func() { _ = logins.Close() })
	if o == nil {
		o = &gateway.Options{}
	}
	o.Logger = s.logged.logger()
	s.make(t, &host.Options{StateDir: host.NoState, Logins: logins}, o, "vault", httpEntry(s.as.NewMCP(nil).URL, fmt.Sprintf(`"identity":%q`, identity)))
	web := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.gateway}}
	web.Start()
	t.Cleanup(func() {
		s.close(t)
		web.CloseClientConnections()
		web.Close()
	})
	ctx := hosttest.Watchdog(t)
	if identity == "user" {
		ctx = session.WithUser(ctx, first)
	}
	l := assert.Value(s.host.Login(ctx, session.Key{Server: "vault"}))(t)
	assert.Value(s.host.Complete(ctx, assert.Value(s.as.ApproveAs(ctx, first, l.URL))(t), nil))(t)
	hosttest.Eventually(t, "the tools are known", func() bool { return hasTool(s.host, "whoami") })
	return s
}

// whoami calls the tool, which says with whose login.
func whoami(t *testing.T, c *mcp.Client) *mcp.CallToolResult {
	t.Helper()
	return assert.Value(c.CallTool(hosttest.Watchdog(t), "vault__whoami", nil, nil))(t)
}

// logIn opens the page of a login in a browser, logs in and comes back.
func (s *loginSite) logIn(ctx context.Context, b *browser, page, user string) error {
	opened, err := b.visit(ctx, page)
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
	s := newLoginSite(t, "user", "admin", nil)
	for _, revision := range both {
		for _, action := range []string{"accept", "decline", "cancel", "gone", "none"} {
			t.Run(revision+"/"+action, func(t *testing.T) {
				ctx := hosttest.Watchdog(t)
				user := "user-" + revision + action
				b := newBrowser(t, user)
				asked := make(chan struct{}, 1)
				o := &mcp.ClientOptions{ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
					asked <- struct{}{}
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
				c := s.newUser(t, "/mcp", user, revision, o)
				if action == "gone" {
					var all sync.WaitGroup
					all.Go(func() { _, _ = c.CallTool(ctx, "vault__whoami", nil, nil) })
					<-asked
					_ = c.Close()
					all.Wait()
					return
				}
				res := whoami(t, c)
				if action != "accept" {
					assert.OK(t, s.logIn(ctx, b, loginOf(t, res), user))
					res = whoami(t, c)
				}
				assert.Equal(t, strings.TrimSpace(res.Text()), user)
			})
		}
	}
}

// The page of a login is for the user who caused it, and so is the way back.
func TestLoginOfAnother(t *testing.T) {
	s := newLoginSite(t, "user", "admin", nil)
	ctx := hosttest.Watchdog(t)
	page := loginOf(t, whoami(t, s.newUser(t, "/mcp", "ada", mcp.Revision20260728, nil)))
	before := len(s.as.Requests())
	for _, user := range []string{"eve", ""} {
		got := newBrowser(t, user).open(t, page)
		assert.Equal(t, got.status, http.StatusForbidden, "user %q", user)
		assert.Equal(t, got.header.Get("Location"), "", "user %q: Location", user)
	}
	assert.Equal(t, len(s.as.Requests()), before, "requests to the authorization server")
	assert.Contains(t, s.logged.String(), "refused to open a page", "the log")
	assert.Lacks(t, s.logged.String(), page[strings.LastIndexByte(page, '/')+1:], "the log")
	// The user whose page it is sends another one where it leads to: that would be a login with the account of the other.
	b := newBrowser(t, "ada")
	callback := assert.Value(s.as.ApproveAs(ctx, "eve", b.open(t, page).header.Get("Location")))(t)
	back := func(b *browser) int { return assert.Value(b.do(ctx, http.MethodGet, callback, nil))(t).status }
	assert.Equal(t, back(newBrowser(t, "eve")), http.StatusForbidden, "another browser comes back")
	assert.True(t, assert.Value(s.host.Login(session.WithUser(ctx, "ada"), session.Key{Server: "vault"}))(t).URL != "", "ada still has to log in")
	assert.Equal(t, b.open(t, page).status, http.StatusNotFound, "a page that was used")
	assert.Equal(t, back(b), http.StatusOK, "the right browser comes back")
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

func keyHeader(key string) http.Header { return http.Header{"Authorization": {"Bearer " + key}} }

// A browser that does not say whose it is proves it with the key of the client.
func TestLoginWithKey(t *testing.T) {
	s := newLoginSite(t, "user", "admin", &gateway.Options{Authenticate: authenticateKey})
	b, eve := newBrowser(t, ""), newBrowser(t, "")
	b.key = "key-of-ada"
	c := s.newHeaderClient(t, "/mcp", keyHeader(b.key), &mcp.ClientOptions{ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		for _, key := range []string{"", "key-of-eve", "wrong"} {
			eve.key = key
			p, err := eve.visit(ctx, r.URL)
			if err != nil {
				return nil, err
			}
			if key == "" {
				checkPolicy(t, p)
			}
			assert.Equal(t, p.status == http.StatusForbidden, key != "", "refused with the key %q", key)
		}
		return &mcp.ElicitResult{Action: "accept"}, s.logIn(ctx, b, r.URL, "ada")
	}})
	assert.Equal(t, strings.TrimSpace(whoami(t, c).Text()), "ada")
	assert.Lacks(t, s.logged.String(), "key-of-", "a key in the log")
}

// The program says by its own means whose browser it is.
func TestLoginWithOpener(t *testing.T) {
	s := newLoginSite(t, "user", "admin", &gateway.Options{Authenticate: authenticateKey, Opener: func(r *http.Request) (string, error) {
		c, err := r.Cookie("program")
		if err != nil {
			return "", err
		}
		return c.Value, nil
	}})
	c := s.newHeaderClient(t, "/mcp", keyHeader("key-of-ada"), nil)
	page := loginOf(t, whoami(t, c))
	at := assert.Value(url.Parse(s.url))(t)
	for _, user := range []string{"", "eve", "ada"} {
		b := newBrowser(t, "")
		b.key = "key-of-ada" // which it is not asked for
		if user != "" {
			b.http.Jar.SetCookies(at, []*http.Cookie{{Name: "program", Value: user}})
		}
		assert.Equal(t, s.logIn(hosttest.Watchdog(t), b, page, user) == nil, user == "ada", "the browser of %q is let in", user)
	}
	assert.Equal(t, strings.TrimSpace(whoami(t, c).Text()), "ada")
}

// Where all share a connection, its login is for those who may change servers.
func TestLoginThatIsShared(t *testing.T) {
	s := newLoginSite(t, "shared", "first", &gateway.Options{Authenticate: func(r *http.Request) (*access.Caller, error) {
		user := r.Header.Get(userField)
		return &access.Caller{User: user, Grant: &access.Grant{Manage: user == "admin"}}, nil
	}})
	s.as.EndAll()
	ada, admin := s.newUser(t, "/mcp", "ada", mcp.Revision20251125, nil), s.newUser(t, "/mcp", "admin", mcp.Revision20251125, nil)
	res := whoami(t, ada)
	assert.Equal(t, fmt.Sprint(res.IsError, res.Meta[gateway.MetaLogin]), "true <nil>", "an error, and a page")
	assert.OK(t, s.logIn(hosttest.Watchdog(t), newBrowser(t, "admin"), loginOf(t, whoami(t, admin)), "second"))
	assert.Equal(t, strings.TrimSpace(whoami(t, ada).Text()), "second")
}

// A gateway without users shows its pages on this machine only.
func TestLoginWithoutUsers(t *testing.T) {
	s := newLoginSite(t, "shared", "first", &gateway.Options{Anonymous: true})
	s.as.EndAll()
	ctx := hosttest.Watchdog(t)
	c := s.newUser(t, "/mcp", "", mcp.Revision20260728, nil)
	page := loginOf(t, whoami(t, c))
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	r.RemoteAddr = "192.0.2.1:1"
	w := httptest.NewRecorder()
	s.gateway.ServeHTTP(w, r)
	assert.Equal(t, w.Code, http.StatusForbidden, "from another machine")
	assert.OK(t, s.logIn(ctx, newBrowser(t, ""), page, "me"))
	assert.Equal(t, strings.TrimSpace(whoami(t, c).Text()), "me")
}

// Many users are asked to log in at one time, and each becomes who they are.
func TestLoginOfManyUsers(t *testing.T) {
	s := newLoginSite(t, "user", "admin", nil)
	ctx := hosttest.Watchdog(t)
	var all sync.WaitGroup
	for i := range assert.Cases(6, 50) {
		user := fmt.Sprintf("user%d", i)
		b := newBrowser(t, user)
		c := s.newUser(t, "/mcp", user, both[i%2], &mcp.ClientOptions{ElicitURL: func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
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
					return
				}
				assert.Equal(t, strings.TrimSpace(res.Text()), user)
			})
		}
	}
	all.Wait()
}

// A client that takes no streams is told of the page that its user has to visit.
func TestLoginWithoutStream(t *testing.T) {
	s := newLoginSite(t, "user", "admin", nil)
	q := s.connect(t, &client{caps: `{"elicitation":{"url":{}}}`}).query("tools/call", `"name":"vault__whoami"`)
	q.header = acceptJSON
	assert.ContainsAll(t, s.do(t, q).body, `"mcpbelt/login"`, s.url+"/login/")
}
