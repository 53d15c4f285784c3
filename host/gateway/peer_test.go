// Tests of peer.go: the credentials of callers, and the logins with which their calls are made.

package gateway_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/storage"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Below a path the pages are there, and their cookies are for that path alone.
func TestBelowPath(t *testing.T) {
	for name, c := range map[string]struct{ mount, public, host, cookie string }{
		"a mux takes the path away":   {"/belt/", "", "", "/belt/"},
		"a proxy takes the path away": {"/", "https://localhost/deep/", "localhost", "/deep/"},
		"past the proxy":              {"/", "https://localhost/deep", "", "/"},
	} {
		d := newApprovalSite(t, false, &gateway.Options{PublicURL: c.public})
		mux := http.NewServeMux()
		mount := strings.TrimSuffix(c.mount, "/")
		mux.Handle(c.mount, http.StripPrefix(mount, d.gateway))
		web := httptest.NewServer(mux)
		t.Cleanup(web.Close)
		d.url = web.URL + mount
		_, page := waiting(t, d.delete(t, d.newUser(t, "/mcp", "a", both[1], nil), "x"))
		path, below := strings.CutPrefix(page, cmp.Or(strings.TrimSuffix(c.public, "/"), d.url))
		assert.True(t, below && strings.HasPrefix(path, "/approve/"), "%s: the page %s is below %s", name, page, d.url)
		got := d.do(t, query{method: http.MethodGet, path: path, user: "a"}.with("Host", c.host))
		assert.Contains(t, got.header.Get("Set-Cookie")+";", "; Path="+c.cookie+";", "%s", name)
		if c.public == "" {
			assert.OK(t, newBrowser(t, "a").decide(hosttest.Watchdog(t), page, "approve", ""), "%s", name)
			assert.Equal(t, d.ran("x"), 1, "%s: calls", name)
		}
	}
}

// newWireServer is what HTTP and stdio servers of these tests are.
func newWireServer() *sdk.Server {
	server := newSDKServer()
	addTool(server, "say", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string { return in.Text })
	addPrompt(server)
	addNote(server, "note://1")
	return server
}

// serveWire is a process that writes its environment, its arguments and its input into a file.
func serveWire(path string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f, "%q %q\n", os.Environ(), os.Args)
	in := struct {
		io.Reader
		io.Closer
	}{io.TeeReader(os.Stdin, f), os.Stdin}
	_ = newWireServer().Run(context.Background(), &sdk.IOTransport{Reader: in, Writer: os.Stdout})
}

// No upstream gets the credential of a caller: not in a field, a message, the environment or the arguments, whatever
// identity its server has.
func TestNoCallerTokenReachesAnUpstream(t *testing.T) {
	ctx := hosttest.Watchdog(t)
	received := &lockedBuffer{}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newWireServer() }, &sdk.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		fmt.Fprintf(received, "%s %s %q\n%s\n", r.Method, r.URL, r.Header, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	keys := assert.Value(access.LoadKeys(ctx, storage.NewMemory(), "keys"))(t)
	secret, _, err := keys.Create(ctx, access.KeyOptions{User: "ada"})
	assert.OK(t, err)
	const token = "eyJ-canary-header.eyJ-canary-claims.canary-signature"
	files := map[string]string{"local": filepath.Join(t.TempDir(), "wire"), "mine": filepath.Join(t.TempDir(), "wire")}
	ho := &host.Options{StateDir: host.NoState, OpenWait: -1, UserHeaders: func(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
		return http.Header{"X-Of-User": {key.User}}, nil
	}}
	s := new(site).open(t, ho, &gateway.Options{Authenticate: access.Any(keys.Authenticate, func(r *http.Request) (*access.Caller, error) {
		if got, err := access.BearerToken(r); err != nil || got != token {
			return nil, access.ErrUnrecognized
		}
		return &access.Caller{User: "bob"}, nil
	})},
		"remote", httpEntry(web.URL), "named", httpEntry(web.URL, `"identity":"header"`), "each", httpEntry(web.URL, `"identity":"user"`),
		"local", hosttest.Child(t, "wire:"+files["local"]), "mine", hosttest.Child(t, "wire:"+files["mine"], `"identity":"user"`))
	for _, user := range []string{"ada", "bob"} { // the tools of servers with logins are known then
		for _, server := range []string{"named", "each", "mine"} {
			assert.OK(t, s.host.Discover(ctx, session.Key{User: user, Server: server}))
		}
	}
	for i, header := range []map[string]string{{"X-Api-Key": secret}, {"Authorization": "Bearer " + secret}, {"Authorization": "Bearer " + token}} {
		for _, revision := range both {
			c := s.connect(t, &client{revision: revision, header: header})
			for _, server := range []string{"remote", "named", "each", "local", "mine"} {
				c.wantText(t, server+"__say", fmt.Sprintf(`{"text":"canary %d of %s"}`, i, server), "canary")
				c.want(t, 0, "prompts/get", fmt.Sprintf(`"name":"%s__greet"`, server))
				c.want(t, 0, "resources/read", fmt.Sprintf(`"uri":"%s://note://1"`, server))
			}
			c.want(t, 0, "tools/list", "")
			c.want(t, 0, "resources/list", "")
		}
	}
	wires := map[string]string{"remote": received.String()}
	for name, path := range files {
		wires[name] = string(assert.Value(os.ReadFile(path))(t))
	}
	for name, text := range wires {
		for i := range 3 {
			assert.True(t, strings.Contains(text, fmt.Sprintf("canary %d of %s", i, name)), "%s: call %d is in what the server got", name, i)
		}
		for _, credential := range []string{secret, secret[len(secret)-40:], token, "canary-claims", "canary-signature"} {
			for _, form := range []string{credential, base64.StdEncoding.EncodeToString([]byte(credential))} {
				before, _, ok := strings.Cut(text, form)
				assert.False(t, ok, "%s: a credential of a caller behind %q", name, before[max(0, len(before)-200):])
			}
		}
	}
	for _, user := range []string{"ada", "bob"} {
		assert.True(t, strings.Contains(wires["remote"], fmt.Sprintf(`"X-Of-User":[%q]`, user)), "%s is named to servers", user)
	}
}

// Two users with keys of their own call one server many times and at the same time: each call is made
// with the login of its user.
func TestTokensOfTwoUsersNeverCross(t *testing.T) {
	calls := assert.Cases(10, 125)
	ctx := hosttest.Watchdog(t)
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	m := assert.Value(session.NewManager(session.Memory(), &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return &auth.Config{Server: "s", URL: rs.URL}, nil },
		RedirectURL: "http://127.0.0.1:1/callback",
	}))(t)
	t.Cleanup(func() { _ = m.Close() })
	keys := assert.Value(access.LoadKeys(ctx, storage.NewMemory(), "keys"))(t)
	ho := &host.Options{StateDir: host.NoState, OpenWait: -1, Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		return &transport.HTTP{URL: e.URL, OAuth: m.Handler(key)}, nil
	}}
	s := new(site).open(t, ho, &gateway.Options{Authenticate: keys.Authenticate}, "s", httpEntry(rs.URL, `"identity":"user"`))
	var all sync.WaitGroup
	for _, user := range []string{"ann", "bob"} {
		key := session.Key{User: user, Server: "s"}
		required := assert.As[*auth.LoginRequiredError](t, s.host.Discover(ctx, key))
		assert.Value(m.Complete(ctx, assert.Value(as.ApproveAs(ctx, user, required.URL))(t), nil))(t)
		assert.OK(t, s.host.Discover(ctx, key))
		secret, _, err := keys.Create(ctx, access.KeyOptions{User: user})
		assert.OK(t, err)
		for range 4 {
			for _, revision := range both {
				c := s.connect(t, &client{revision: revision, header: map[string]string{"Authorization": "Bearer " + secret}})
				all.Go(func() {
					for range calls {
						assert.Equal(t, strings.TrimSpace(c.call(t, "s__whoami", `{}`).text()), user)
					}
				})
			}
		}
	}
	all.Wait()
}
