package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A site is a gateway to servers in this process, over HTTP on a loopback address.
type site struct {
	url     string
	gateway *gateway.Gateway
	host    *host.Host
	client  *http.Client
	server  *upstream
	dial    func() (net.Conn, error) // of a site in memory
}

// An upstream is what all servers of a site are. Its tools are echo, wait (until the call is cancelled), big (as
// many bytes), flood (as many notifications of progress) and ask (the user's name).
type upstream struct {
	*sdk.Server
	waiting atomic.Int64 // calls of wait under way
	waited  atomic.Int64 // calls of wait that were cancelled
}

func newUpstream() *upstream {
	u := &upstream{Server: sdk.NewServer(&sdk.Implementation{Name: "upstream", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{"alice"}}}, nil
		},
	})}
	u.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who"}}}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "hello"}}}}, nil
	})
	u.AddResourceTemplate(&sdk.ResourceTemplate{Name: "notes", URITemplate: "note://{n}"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "a note"}}}, nil
	})
	text := func(s string) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}, nil, nil
	}
	type echo struct {
		Text string `json:"text"`
	}
	sdk.AddTool(u.Server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echo) (*sdk.CallToolResult, any, error) {
		return text(in.Text)
	})
	type size struct {
		N int `json:"n"`
	}
	sdk.AddTool(u.Server, &sdk.Tool{Name: "big"}, func(_ context.Context, _ *sdk.CallToolRequest, in size) (*sdk.CallToolResult, any, error) {
		return text(strings.Repeat("x", in.N))
	})
	sdk.AddTool(u.Server, &sdk.Tool{Name: "flood"}, func(ctx context.Context, r *sdk.CallToolRequest, in size) (*sdk.CallToolResult, any, error) {
		for i := range in.N {
			note := &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: strings.Repeat("m", 1000)}
			if err := r.Session.NotifyProgress(ctx, note); err != nil {
				return nil, nil, err
			}
		}
		return text("flooded")
	})
	sdk.AddTool(u.Server, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		u.waiting.Add(1)
		defer u.waited.Add(1)
		defer u.waiting.Add(-1)
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(u.Server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Who?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprint(res.Action, " ", res.Content["name"]))
	})
	u.AddResource(&sdk.Resource{Name: "note", URI: "note://1"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "a note"}}}, nil
	})
	return u
}

// userField says on whose behalf a request is made.
const userField = "X-User"

// userOfField authenticates the user that a request names.
func userOfField(r *http.Request) (*access.Caller, error) {
	return &access.Caller{User: r.Header.Get(userField)}, nil
}

// openSite opens a site with servers of the given names; by default with one, named one.
func openSite(t testing.TB, o *gateway.Options, names ...string) *site {
	t.Helper()
	if names == nil {
		names = []string{"one"}
	}
	s := &site{server: newUpstream()}
	return s.open(t, s.hostOptions(), o, names)
}

// hostOptions has the host use the site's server, in revision 2025-11-25.
func (s *site) hostOptions() *host.Options {
	return &host.Options{StateDir: host.NoState, OpenWait: -1, Client: mcp.ClientOptions{ProtocolVersion: mcp.Revision20251125}, Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: s.server.Run}, nil
	}}
}

// open opens the site to a host with the given options.
func (s *site) open(t testing.TB, ho *host.Options, o *gateway.Options, names []string) *site {
	t.Helper()
	s.make(t, ho, o, names)
	web := httptest.NewServer(s.gateway)
	s.url, s.client = web.URL, &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		s.close(t)
		web.CloseClientConnections()
		web.Close()
	})
	return s
}

// openInMemory opens a site whose connections are no sockets.
func openInMemory(t testing.TB, o *gateway.Options) *site {
	t.Helper()
	s := &site{server: newUpstream(), url: "http://memory"}
	s.make(t, s.hostOptions(), o, []string{"one"})
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
	if err := s.gateway.Close(); err != nil {
		t.Errorf("Close: got %v, want no error", err)
	}
	s.client.CloseIdleConnections()
}

// make makes the host and the gateway.
func (s *site) make(t testing.TB, ho *host.Options, o *gateway.Options, names []string) {
	t.Helper()
	servers := map[string]any{}
	for _, name := range names {
		servers[name] = map[string]any{"command": "none"}
	}
	text := assert.Value(json.Marshal(map[string]any{"mcpServers": servers}))(t)
	path := filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(path, text, 0o600))
	gateway.Prepare(ho)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h := assert.Value(host.Open(ctx, path, ho))(t)
	if o == nil {
		o = &gateway.Options{}
	}
	if o.Authenticate == nil {
		o.Authenticate = userOfField
	}
	g := assert.Value(gateway.New(h, o))(t)
	s.host, s.gateway = h, g
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close of the host: got %v, want no error", err)
		}
	})
}

// A shot is one HTTP request. Method is POST unless it says otherwise; path is /mcp.
type shot struct {
	method, path, body string
	header             map[string]string // an empty value leaves the field out
	user, session      string
}

// fields are those of a usual POST.
var fields = map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

// send sends a request, and returns the response with its body unread.
func (s *site) send(ctx context.Context, in shot) (*http.Response, error) {
	if in.method == "" {
		in.method = http.MethodPost
	}
	if in.path == "" {
		in.path = "/mcp"
	}
	r, err := http.NewRequestWithContext(ctx, in.method, s.url+in.path, strings.NewReader(in.body))
	if err != nil {
		return nil, err
	}
	for key, value := range fields {
		r.Header.Set(key, value)
	}
	for key, value := range in.header {
		switch {
		case value == "":
			r.Header.Del(key)
		case key == "Host":
			r.Host = value
		default:
			r.Header.Set(key, value)
		}
	}
	if in.user != "" {
		r.Header.Set(userField, in.user)
	}
	if in.session != "" {
		r.Header.Set("Mcp-Session-Id", in.session)
	}
	return s.client.Do(r)
}

// A reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// message returns the last message of the reply: a JSON-RPC response.
func (r *reply) message(t testing.TB) (m rpc) {
	t.Helper()
	text := r.body
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(r.body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
				text = data
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("got %d %q, want a message", r.status, cut(r.body))
	}
	return m
}

func cut(s string) string { return s[:min(len(s), 300)] }

// An rpc is a message of the gateway.
type rpc struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// at returns a member of the result by its path, as a string.
func (m rpc) at(path ...string) string {
	value := m.Result
	for _, key := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return ""
		}
		value = object[key]
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return string(value)
	}
	return s
}

// do sends a request and returns what comes back.
func (s *site) do(t testing.TB, in shot) *reply {
	t.Helper()
	resp := assert.Value(s.send(context.Background(), in))(t)
	defer resp.Body.Close()
	body := assert.Value(io.ReadAll(resp.Body))(t)
	return &reply{resp.StatusCode, resp.Header, string(body)}
}

// call returns a request in JSON.
func callOf(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// begin begins a session, and returns its id.
func (s *site) begin(t testing.TB, path, user, revision string) string {
	t.Helper()
	r := s.do(t, shot{path: path, user: user, body: callOf(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"elicitation":{}},"clientInfo":{"name":"kit","version":"1"}}`, revision))})
	if r.status != http.StatusOK {
		t.Fatalf("initialize: got %d %s, want 200", r.status, cut(r.body))
	}
	return r.header.Get("Mcp-Session-Id")
}

// modern returns a request of revision 2026-07-28. Params are without their braces.
func modern(user, path, method, name, params string) shot {
	if params != "" {
		params += ","
	}
	body := callOf(7, method, `{`+params+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}`)
	return shot{path: path, user: user, body: body, header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}}
}

// A listener reads the events of a stream.
type listener struct {
	*http.Response
	scanner *bufio.Scanner
	cancel  context.CancelFunc
}

// listen opens a stream, which is closed at the end of the test.
func (s *site) listen(t testing.TB, in shot) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	resp, err := s.send(ctx, in)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	l := &listener{Response: resp, scanner: bufio.NewScanner(resp.Body), cancel: cancel}
	l.scanner.Buffer(nil, 64<<20)
	t.Cleanup(l.close)
	return l
}

func (l *listener) close() {
	l.cancel()
	_ = l.Body.Close()
}

// next returns the next field of the stream of one of the given names, and its value; empty at the end.
func (l *listener) next(names ...string) (name, value string) {
	for l.scanner.Scan() {
		name, value, _ := strings.Cut(l.scanner.Text(), ": ")
		for _, wanted := range names {
			if name == wanted && value != "" {
				return name, value
			}
		}
	}
	return "", ""
}

// first reads the stream byte by byte until a line begins with prefix, and returns the rest of the line.
func (l *listener) first(t testing.TB, prefix string) string {
	t.Helper()
	var line []byte
	for one := make([]byte, 1); ; {
		assert.Value(l.Body.Read(one))(t)
		if line = append(line, one[0]); one[0] == '\n' {
			if rest, ok := strings.CutPrefix(string(line), prefix); ok {
				return strings.TrimSpace(rest)
			}
			line = line[:0]
		}
	}
}

// drain reads a response to its end.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

// message returns the next message of the stream.
func (l *listener) message(t testing.TB) (m rpc) {
	t.Helper()
	_, data := l.next("data")
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		t.Fatalf("got %q (%v), want a message", cut(data), l.scanner.Err())
	}
	return m
}

// eventually waits until something is so of which no event tells.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	over := time.NewTimer(20 * time.Second)
	defer over.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-over.C:
			t.Fatalf("got no end of the wait, want %s", what)
		}
	}
}

// addEmptyTool adds a tool that does nothing to all servers of a site.
func addEmptyTool(u *upstream, name string) {
	sdk.AddTool(u.Server, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
}
