package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
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

// A wire is all that an upstream gets.
type wire struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *wire) write(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(text)
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// newWireServer is what HTTP and stdio servers of these tests are.
func newWireServer() *sdk.Server {
	server := newSDKServer()
	addTool(server, "say", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string { return in.Text })
	server.AddPrompt(&sdk.Prompt{Name: "greet"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello"}}}}, nil
	})
	server.AddResource(&sdk.Resource{Name: "note", URI: "note://1"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "note://1", Text: "a note"}}}, nil
	})
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
	seen := &wire{}
	server := newWireServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		seen.write(fmt.Sprintf("%s %s %q\n%s\n", r.Method, r.URL, r.Header, body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	files := map[string]string{"local": filepath.Join(t.TempDir(), "wire"), "mine": filepath.Join(t.TempDir(), "wire")}
	remote := func(more string) string { return fmt.Sprintf(`{"type":"http","url":%q%s}`, web.URL, more) }
	ho := &host.Options{StateDir: host.NoState, UserHeaders: func(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
		return http.Header{"X-Of-User": {key.User}}, nil
	}}
	gateway.Prepare(ho)
	h := hosttest.Open(t, hosttest.Write(t,
		"remote", remote(""), "named", remote(`,"identity":"header"`), "each", remote(`,"identity":"user"`),
		"local", hosttest.Child(t, "wire:"+files["local"]), "mine", hosttest.Child(t, "wire:"+files["mine"], `"identity":"user"`),
	), hosttest.Patient(ho))
	keys := assert.Value(access.LoadKeys(ctx, storage.NewMemory(), "keys"))(t)
	secret, _, err := keys.Create(ctx, access.KeyOptions{User: "ada"})
	assert.OK(t, err)
	const token = "eyJ-canary-header.eyJ-canary-claims.canary-signature"
	either := access.Any(keys.Authenticate, func(r *http.Request) (*access.Caller, error) {
		if got, err := access.BearerToken(r); err != nil || got != token {
			return nil, access.ErrUnrecognized
		}
		return &access.Caller{User: "bob"}, nil
	})
	url, _ := serveGateway(t, h, &gateway.Options{Authenticate: either})
	s := &site{url: url, client: http.DefaultClient}
	for _, user := range []string{"ada", "bob"} { // the tools of servers with logins are known then
		for _, server := range []string{"named", "each", "mine"} {
			assert.OK(t, h.Discover(ctx, session.Key{User: user, Server: server}))
		}
	}
	for i, header := range []map[string]string{{"X-Api-Key": secret}, {"Authorization": "Bearer " + secret}, {"Authorization": "Bearer " + token}} {
		for _, server := range []string{"remote", "named", "each", "local", "mine"} {
			text := fmt.Sprintf("canary %d of %s", i, server)
			for _, c := range []struct{ method, name, params string }{
				{"tools/call", server + "__say", `"name":"` + server + `__say","arguments":{"text":"` + text + `"}`},
				{"prompts/get", server + "__greet", `"name":"` + server + `__greet"`},
				{"resources/read", server + "://note://1", `"uri":"` + server + `://note://1"`},
				{"tools/list", "", ""},
				{"resources/list", "", ""},
			} {
				in := modern("", "/mcp", c.method, c.name, c.params)
				for key, value := range header {
					in.header[key] = value
				}
				s.wantCode(t, c.method+" "+c.name, in, 0)
				old := shot{header: header, body: callOf(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`)}
				old.session = s.do(t, old).header.Get("Mcp-Session-Id")
				old.body = callOf(2, c.method, `{`+c.params+`}`)
				s.wantCode(t, "session: "+c.method+" "+c.name, old, 0)
			}
		}
	}
	wires := map[string]string{"remote": seen.String()}
	for name, path := range files {
		text := assert.Value(os.ReadFile(path))(t)
		wires[name] = string(text)
	}
	for name, text := range wires {
		for i := range 3 {
			if want := fmt.Sprintf("canary %d of %s", i, name); !strings.Contains(text, want) {
				t.Errorf("%s: got nothing of %q, want the wire of a call", name, want)
			}
		}
		for _, credential := range []string{secret, secret[len(secret)-40:], token, "canary-claims", "canary-signature"} {
			for _, form := range []string{credential, base64.StdEncoding.EncodeToString([]byte(credential))} {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s: got %q, want no credential of a caller", name, text[max(0, i-200):i])
				}
			}
		}
	}
	for _, want := range []string{`"X-Of-User":["ada"]`, `"X-Of-User":["bob"]`} {
		if !strings.Contains(wires["remote"], want) {
			t.Errorf("got no %s, want the users named", want)
		}
	}
}

// Two users with keys of their own call one server, a thousand times each and at the same time: each call is made
// with the login of its user.
func TestTokensOfTwoUsersNeverCross(t *testing.T) {
	calls := 1000
	if testing.Short() {
		calls = 100
	}
	ctx := hosttest.Watchdog(t)
	as := authtest.NewServer(t, &authtest.Options{NoRecord: true})
	rs := as.NewMCP(nil)
	m := assert.Value(session.NewManager(session.Memory(), &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return &auth.Config{Server: "s", URL: rs.URL}, nil },
		RedirectURL: "http://127.0.0.1:1/callback",
	}))(t)
	t.Cleanup(func() { _ = m.Close() })
	ho := &host.Options{StateDir: host.NoState, Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		return &transport.HTTP{URL: e.URL, OAuth: m.Handler(key)}, nil
	}}
	gateway.Prepare(ho)
	h := hosttest.Open(t, hosttest.Write(t, "s", fmt.Sprintf(`{"type":"http","url":%q,"identity":"user"}`, rs.URL)), hosttest.Patient(ho))
	keys := assert.Value(access.LoadKeys(ctx, storage.NewMemory(), "keys"))(t)
	url, _ := serveGateway(t, h, &gateway.Options{Authenticate: keys.Authenticate})
	s := &site{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	t.Cleanup(s.client.CloseIdleConnections)
	var all sync.WaitGroup
	for _, user := range []string{"ann", "bob"} {
		var required *auth.LoginRequiredError
		if err := h.Discover(ctx, session.Key{User: user, Server: "s"}); !errors.As(err, &required) {
			t.Fatalf("got %v, want that %s has to log in", err, user)
		}
		callback, err := as.ApproveAs(ctx, user, required.URL)
		if err == nil {
			_, err = m.Complete(ctx, callback, nil)
		}
		if err == nil {
			err = h.Discover(ctx, session.Key{User: user, Server: "s"})
		}
		assert.OK(t, err)
		secret, _, err := keys.Create(ctx, access.KeyOptions{User: user})
		assert.OK(t, err)
		next := make(chan int)
		go func() {
			defer close(next)
			for i := range calls {
				next <- i
			}
		}()
		for range 8 {
			all.Go(func() {
				old := shot{header: map[string]string{"X-Api-Key": secret}, body: callOf(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`)}
				old.session = s.do(t, old).header.Get("Mcp-Session-Id")
				old.body = callOf(2, "tools/call", `{"name":"s__whoami","arguments":{}}`)
				in := modern("", "/mcp", "tools/call", "s__whoami", `"name":"s__whoami","arguments":{}`)
				in.header["Authorization"] = "Bearer " + secret
				for i := range next {
					one := in
					if i%2 == 1 {
						one = old
					}
					var got struct{ Content []struct{ Text string } }
					m := s.wantCode(t, "call of "+user, one, 0)
					if err := json.Unmarshal(m.Result, &got); err != nil || len(got.Content) != 1 || strings.TrimSpace(got.Content[0].Text) != user {
						t.Errorf("got %s, want the login of %s", m.Result, user)
					}
				}
			})
		}
	}
	all.Wait()
}
