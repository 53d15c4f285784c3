package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newNotes returns an MCP server that keeps the notes of each user apart.
func newNotes() http.Handler {
	var mu sync.Mutex
	notes := map[string][]string{}
	server := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1"}, nil)
	type note struct {
		Text string `json:"text"`
	}
	answer := func(text string) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	}
	userOf := func(req *sdk.CallToolRequest) string { return req.Extra.Header.Get("Authtest-User") }
	sdk.AddTool(server, &sdk.Tool{Name: "add"}, func(_ context.Context, req *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		notes[userOf(req)] = append(notes[userOf(req)], in.Text)
		return answer("added")
	})
	sdk.AddTool(server, &sdk.Tool{Name: "list"}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		return answer(fmt.Sprintf("%s has %q", userOf(req), notes[userOf(req)]))
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// A world is what there is beside the program.
type world struct {
	t     *testing.T
	ctx   context.Context
	as    *authtest.Server
	setup setup
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	as := authtest.NewServer(t, &authtest.Options{LoginPage: true})
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.json")
	text := fmt.Sprintf(`{"mcpServers": {"notes": {"url": %q, "identity": "user"}, "team": {"url": %q}}}`,
		as.Protect(newNotes(), nil).URL, as.NewMCP(nil).URL)
	assert.OK(t, os.WriteFile(file, []byte(text), 0o600))
	return &world{t, ctx, as, setup{addr: "127.0.0.1:0", config: file, state: filepath.Join(dir, "state"), admin: "root"}}
}

// A program is one run of it.
type program struct {
	*world
	backend *backend
	base    string
	stop    func()
}

func (w *world) start() *program {
	w.t.Helper()
	listener := assert.Value(new(net.ListenConfig).Listen(w.ctx, "tcp", w.setup.addr))(w.t)
	s := w.setup
	s.url = "http://" + listener.Addr().String()
	b := assert.Value(newBackend(w.ctx, s))(w.t)
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.serve(ctx, listener) }()
	p := &program{world: w, backend: b, base: s.url}
	p.stop = sync.OnceFunc(func() {
		cancel()
		assert.Equal(w.t, <-ended, nil, "serve")
		assert.Equal(w.t, b.close(), nil, "close")
	})
	w.t.Cleanup(p.stop)
	return p
}

// awaitTools waits until the tools of a server are known.
func (p *program) awaitTools(server string) {
	p.t.Helper()
	for list := range p.backend.host.Watch(p.ctx) {
		for _, s := range list {
			if s.Name == server && s.Tools == 2 && (s.Stage == host.StageReady || s.Stage == host.StageCached) {
				return
			}
		}
	}
	p.t.Fatalf("the tools of %s are not known: %+v", server, p.backend.host.Servers())
}

// A browser is what a user has before them.
type browser struct {
	*program
	user   string
	client *http.Client
}

// browse opens a browser and signs a user in to the program.
func (p *program) browse(user string) *browser {
	p.t.Helper()
	jar := assert.Value(cookiejar.New(nil))(p.t)
	b := &browser{p, user, &http.Client{Jar: jar, Transport: &http.Transport{}}}
	p.t.Cleanup(b.client.CloseIdleConnections)
	b.expect(http.MethodPost, "/signin", url.Values{"user": {user}}, http.StatusOK, "You are "+user)
	return b
}

// send sends a request, follows where it leads, and returns the page there.
func (b *browser) send(method, address string, form url.Values) (res *http.Response, page string) {
	b.t.Helper()
	req := assert.Value(http.NewRequestWithContext(b.ctx, method, address, strings.NewReader(form.Encode())))(b.t)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res = assert.Value(b.client.Do(req))(b.t)
	defer res.Body.Close()
	body := assert.Value(io.ReadAll(res.Body))(b.t)
	return res, string(body)
}

// expect sends a request to the program and checks the status and a part of the answer.
func (b *browser) expect(method, path string, form url.Values, status int, want string) {
	b.t.Helper()
	res, page := b.send(method, b.base+path, form)
	assert.Equal(b.t, res.StatusCode, status, "%s %s as %s: got status", method, path, b.user)
	assert.Contains(b.t, page, want, "%s %s as %s", method, path, b.user)
}

// logIn logs in at a server, where a page asks for name and password.
func (b *browser) logIn(server string) {
	b.t.Helper()
	res, page := b.send(http.MethodPost, b.base+"/login/"+server, nil)
	assert.Contains(b.t, page, "password", "login at %s: got status %d", server, res.StatusCode)
	res, _ = b.send(http.MethodPost, res.Request.URL.String(), url.Values{"user": {b.user}, "password": {"p"}, "decision": {"approve"}})
	got, want := res.Request.URL.String(), b.base+"/"
	assert.Equal(b.t, got, want, "after the login at %s", server)
}

func (b *browser) call(tool, args string, status int, want string) {
	b.t.Helper()
	b.expect(http.MethodPost, "/call/"+tool, url.Values{"args": {args}}, status, want)
}

func TestTwoUsers(t *testing.T) {
	w := newWorld(t)
	p := w.start()
	alice, bob, root := p.browse("alice"), p.browse("bob"), p.browse("root")
	alice.expect(http.MethodGet, "/", nil, 200, `action="/login/notes"`)
	alice.logIn("notes")
	p.awaitTools("notes")
	alice.expect(http.MethodGet, "/", nil, 200, `action="/call/notes__add"`)
	_, page := bob.send(http.MethodGet, p.base+"/", nil)
	assert.Lacks(t, page, "notes__add", "the page of bob")
	bob.call("notes__list", "", 401, "Log in at notes first.")
	bob.logIn("notes")
	alice.call("notes__add", `{"text": "buy milk"}`, 200, "added")
	alice.call("notes__list", "", 200, `alice has ["buy milk"]`)
	bob.call("notes__list", "", 200, `bob has []`)

	// What all share is for the administrator to log in at.
	bob.expect(http.MethodPost, "/login/team", nil, 403, "for the administrator")
	root.logIn("team")
	p.awaitTools("team")
	bob.call("team__whoami", "", 200, "root")
	assert.Equal(t, w.as.Count(authtest.RegistrationEndpoint), 1, "registrations")

	// Another run has the logins of this one, and needs nothing else.
	p.stop()
	assert.OK(t, os.RemoveAll(filepath.Join(w.setup.state, "host")))
	logins := w.as.Count(authtest.AuthorizationEndpoint)
	p = w.start()
	p.awaitTools("notes")
	p.awaitTools("team")
	alice, bob = p.browse("alice"), p.browse("bob")
	alice.expect(http.MethodGet, "/", nil, 200, `action="/call/notes__add"`)
	alice.call("notes__list", "", 200, `alice has ["buy milk"]`)
	bob.call("team__whoami", "", 200, "root")
	assert.Equal(t, w.as.Count(authtest.AuthorizationEndpoint), logins, "logins after the restart")

	// One leaves, the other stays.
	alice.expect(http.MethodPost, "/logout/notes", nil, 200, `action="/login/notes"`)
	alice.call("notes__list", "", 401, "Log in at notes first.")
	bob.call("notes__list", "", 200, `bob has []`)
	bob.expect(http.MethodPost, "/signout", nil, 200, "Who are you?")
	bob.call("notes__list", "", 401, "Sign in first.")
}

func TestRun(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(w.ctx)
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, in, w.setup) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	assert.OK(t, err, "the first line: got %q", line)
	assert.True(t, ok, "the first line: got %q", line)
	p := &program{world: w, base: base}
	p.browse("alice").expect(http.MethodGet, "/", nil, 200, "notes")
	stop()
	assert.OK(t, <-ended, "run")
	w.setup.config += ".missing"
	assert.Fails(t, run(w.ctx, io.Discard, w.setup), "run without a config file: got nil, want an error")
}
