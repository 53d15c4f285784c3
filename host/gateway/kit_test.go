// The kit of the tests: gateways and servers. That of clients is in kit_client_test.go, that of pages in errand_test.go.

package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// both are a revision with sessions and the one without.
var both = []string{mcp.Revision20251125, mcp.Revision20260728}

// A site is a gateway over HTTP, and its host.
type site struct {
	url     string
	gateway *gateway.Gateway
	host    *host.Host
	client  *http.Client
	server  *upstream
	dial    func() (net.Conn, error) // of a site in memory
}

// openSite opens a site with upstreams of the given names; by default with one, named one.
func openSite(t testing.TB, o *gateway.Options, names ...string) *site {
	t.Helper()
	if names == nil {
		names = []string{"one"}
	}
	s := &site{server: newUpstream()}
	return s.open(t, s.hostOptions(), o, commands(names...)...)
}

// openServer opens a site with one server of the program, named belt.
func openServer(t testing.TB, o *gateway.Options, server *sdk.Server) *site {
	t.Helper()
	ho := hosttest.InProcess(server)
	ho.StateDir, ho.OpenWait = host.NoState, -1
	return new(site).open(t, ho, o, commands("belt")...)
}

// openEntries opens a site with servers of a config: name, entry, name, entry.
func openEntries(t testing.TB, o *gateway.Options, entries ...string) *site {
	t.Helper()
	return new(site).open(t, &host.Options{StateDir: host.NoState, OpenWait: -1}, o, entries...)
}

// commands returns config entries of the given names for servers of the program.
func commands(names ...string) (entries []string) {
	for _, name := range names {
		entries = append(entries, name, `{"command":"none"}`)
	}
	return entries
}

// hostOptions has the host use the site's upstream, in revision 2025-11-25.
func (s *site) hostOptions() *host.Options {
	return &host.Options{StateDir: host.NoState, OpenWait: -1, Client: mcp.ClientOptions{ProtocolVersion: mcp.Revision20251125}, Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: s.server.Run}, nil
	}}
}

// open opens the site over HTTP on a loopback address, to a host with the given options and entries.
func (s *site) open(t testing.TB, ho *host.Options, o *gateway.Options, entries ...string) *site {
	t.Helper()
	s.make(t, ho, o, entries...)
	s.serve(t)
	return s
}

// serve serves the gateway over HTTP until the end of the test.
func (s *site) serve(t testing.TB) {
	web := httptest.NewServer(s.gateway)
	s.url, s.client = web.URL, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	t.Cleanup(func() {
		s.close(t)
		web.CloseClientConnections()
		web.Close()
	})
}

// openInMemory opens a site with one upstream, whose connections are no sockets.
func openInMemory(t testing.TB, o *gateway.Options) *site {
	t.Helper()
	s := &site{server: newUpstream(), url: "http://memory"}
	s.make(t, s.hostOptions(), o, commands("one")...)
	l := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	s.dial = l.dial
	s.client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial() }}}
	web := &http.Server{Handler: s.gateway}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = web.Serve(l)
	}()
	t.Cleanup(func() {
		s.close(t)
		_ = web.Close()
		<-served
	})
	return s
}

// A memoryListener accepts connections within the process.
type memoryListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) dial() (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error { l.once.Do(func() { close(l.closed) }); return nil }

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// close closes the gateway and, at the end of the test, the host.
func (s *site) close(t testing.TB) {
	assert.Equal(t, s.gateway.Close(), nil, "Close")
	s.client.CloseIdleConnections()
}

// make makes the host and the gateway, which by default knows users by userOfField.
func (s *site) make(t testing.TB, ho *host.Options, o *gateway.Options, entries ...string) {
	t.Helper()
	servers := map[string]json.RawMessage{}
	for i := 0; i < len(entries); i += 2 {
		servers[entries[i]] = json.RawMessage(entries[i+1])
	}
	text := assert.Value(json.Marshal(map[string]any{"mcpServers": servers}))(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, text, 0o600))
	gateway.Prepare(ho)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s.host = assert.Value(host.Open(ctx, path, ho))(t)
	t.Cleanup(func() { assert.Equal(t, s.host.Close(), nil, "Close of the host") })
	if o == nil {
		o = &gateway.Options{}
	}
	if o.Authenticate == nil && !o.Anonymous {
		o.Authenticate = userOfField
	}
	s.gateway = assert.Value(gateway.New(s.host, o))(t)
}

// userField says on whose behalf a request is made.
const userField = "X-User"

// userOfField authenticates the user that a request names.
func userOfField(r *http.Request) (*access.Caller, error) {
	return &access.Caller{User: r.Header.Get(userField)}, nil
}

// An upstream is what all servers of a site are. Its tools are echo, wait (until the call is cancelled), big (as
// many bytes), flood (as many notifications of progress) and ask (the user's name).
type upstream struct {
	*sdk.Server
	waiting atomic.Int64 // calls of wait under way
	waited  atomic.Int64 // calls of wait that were cancelled
	flooded atomic.Int64 // calls of flood that have ended
}

func newUpstream() *upstream {
	u := &upstream{Server: newSDKServer()}
	addPrompt(u.Server)
	addNote(u.Server, "note://1")
	u.AddResourceTemplate(&sdk.ResourceTemplate{Name: "notes", URITemplate: "note://{n}"}, readNote)
	addTool(u.Server, "echo", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string { return in.Text })
	addTool(u.Server, "big", func(_ context.Context, _ *sdk.CallToolRequest, in anyInput) string { return strings.Repeat("x", in.N) })
	addTool(u.Server, "flood", func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) string {
		defer u.flooded.Add(1)
		for i := range in.N {
			note := &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: strings.Repeat("m", 1000)}
			if err := r.Session.NotifyProgress(ctx, note); err != nil {
				return err.Error()
			}
		}
		return "flooded"
	})
	addTool(u.Server, "wait", func(ctx context.Context, _ *sdk.CallToolRequest, _ anyInput) string {
		u.waiting.Add(1)
		defer u.waited.Add(1)
		defer u.waiting.Add(-1)
		<-ctx.Done()
		return ""
	})
	addTool(u.Server, "ask", askName)
	return u
}

// waits waits until so many calls of wait are under way.
func (u *upstream) waits(t *testing.T, n int64) {
	t.Helper()
	hosttest.Eventually(t, fmt.Sprint(n, " calls wait"), func() bool { return u.waiting.Load() == n })
}

// hasEnded waits until so many calls of wait were cancelled.
func (u *upstream) hasEnded(t *testing.T, n int64) {
	t.Helper()
	hosttest.Eventually(t, fmt.Sprint(n, " calls have ended"), func() bool { return u.waited.Load() == n })
}

// nameQuestion asks for a name.
func nameQuestion(message string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
}

// askName asks the user, and returns what they did and their name, or why they were not asked.
func askName(ctx context.Context, r *sdk.CallToolRequest, _ anyInput) string {
	res, err := r.Session.Elicit(ctx, nameQuestion("Who?"))
	if err != nil {
		return "not asked: " + err.Error()
	}
	return fmt.Sprint(res.Action, " ", res.Content["name"])
}

func newSDKServer() *sdk.Server {
	return sdk.NewServer(&sdk.Implementation{Name: "belt", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "!"}}}, nil
		},
	})
}

// serveSDK serves a server over HTTP until the end of the test, and returns its config entry. One without a state
// speaks revision 2026-07-28.
func serveSDK(t *testing.T, server *sdk.Server, stateless bool) (entry string) {
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: stateless}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return httpEntry(web.URL)
}

// httpEntry returns the config entry of a server over HTTP, with further members.
func httpEntry(url string, more ...string) string {
	return fmt.Sprintf(`{"type":"http","url":%q`, url) + strings.Join(append([]string{""}, more...), ",") + "}"
}

type anyInput struct {
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
}

// addTool adds a tool that answers with a text.
func addTool(s *sdk.Server, name string, call func(context.Context, *sdk.CallToolRequest, anyInput) string) {
	addHinted(s, name, "", nil, call)
}

// addHinted adds a tool with a description and hints, which does nothing if call is nil.
func addHinted(s *sdk.Server, name, description string, hints *sdk.ToolAnnotations, call func(context.Context, *sdk.CallToolRequest, anyInput) string) {
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: description, Annotations: hints}, func(ctx context.Context, r *sdk.CallToolRequest, in anyInput) (*sdk.CallToolResult, any, error) {
		if call == nil {
			return &sdk.CallToolResult{}, nil, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: call(ctx, r, in)}}}, nil, nil
	})
}

// addPrompt adds the prompt greet.
func addPrompt(s *sdk.Server) {
	s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello " + r.Params.Arguments["who"]}}}}, nil
	})
}

// addNote adds a resource.
func addNote(s *sdk.Server, uri string) {
	s.AddResource(&sdk.Resource{Name: "note", URI: uri}, readNote)
}

func readNote(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "a note"}}}, nil
}

// hasTool reports whether the host has a tool whose own name begins so.
func hasTool(h *host.Host, name string) bool {
	for _, t := range h.Registry().Snapshot().Tools() {
		if strings.HasPrefix(t.Definition().Origin.Tool, name) {
			return true
		}
	}
	return false
}

// A lockedBuffer is written and read by several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *lockedBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func TestMain(m *testing.M) {
	if end := hosttest.Begin(serve); end != nil {
		// The DELETE that ends a session of the SDK's server is given up on a busy machine.
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"), goleak.Cleanup(func(code int) {
			http.DefaultClient.CloseIdleConnections()
			end(code)
		}))
	}
}

// serve serves the modes that only these tests have.
func serve(mode string) bool {
	if path, ok := strings.CutPrefix(mode, "journal:"); ok {
		serveJournal(path)
		return true
	}
	path, ok := strings.CutPrefix(mode, "wire:")
	if ok {
		serveWire(path)
	}
	return ok
}
