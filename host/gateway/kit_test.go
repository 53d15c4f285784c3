// The kit of the tests: gateways, servers and clients of all ways. The kit of pages is in errand_test.go.

package gateway_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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

// A query is one HTTP request. Method is POST unless it says otherwise; path is /mcp.
type query struct {
	method, path, body string
	header             map[string]string // an empty value leaves the field out
	user, session      string
}

// with returns the query with further header fields: name, value, name, value.
func (q query) with(fields ...string) query {
	header := map[string]string{}
	maps.Copy(header, q.header)
	for i := 0; i < len(fields); i += 2 {
		header[fields[i]] = fields[i+1]
	}
	q.header = header
	return q
}

var (
	acceptEvents = map[string]string{"Accept": "text/event-stream"}
	acceptJSON   = map[string]string{"Accept": "application/json"}
)

// send sends a request, and returns the response with its body unread.
func (s *site) send(ctx context.Context, q query) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, cmp.Or(q.method, http.MethodPost), s.url+cmp.Or(q.path, "/mcp"), strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for key, value := range q.header {
		switch {
		case value == "":
			r.Header.Del(key)
		case key == "Host":
			r.Host = value
		default:
			r.Header.Set(key, value)
		}
	}
	if q.user != "" {
		r.Header.Set(userField, q.user)
	}
	if q.session != "" {
		r.Header.Set("Mcp-Session-Id", q.session)
	}
	return s.client.Do(r)
}

// A reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request and returns what comes back.
func (s *site) do(t testing.TB, q query) *reply {
	t.Helper()
	resp := assert.Value(s.send(context.Background(), q))(t)
	defer resp.Body.Close()
	body := assert.Value(io.ReadAll(resp.Body))(t)
	return &reply{resp.StatusCode, resp.Header, string(body)}
}

// wantStatus compares the status of the response to a request.
func (s *site) wantStatus(t testing.TB, want int, q query, what ...any) *reply {
	t.Helper()
	r := s.do(t, q)
	assert.Equal(t, r.status, want, what...)
	return r
}

// drain reads the response to a request to its end, if one comes.
func (s *site) drain(ctx context.Context, q query) {
	if resp, err := s.send(ctx, q); err == nil {
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
	}
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
	assert.OK(t, json.Unmarshal([]byte(text), &m), "the message in %d %.300q", r.status, r.body)
	return m
}

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

// code returns the code of the error; 0 if there is none.
func (m rpc) code() int {
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
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

// text returns the texts of the content of the result, as lines.
func (m rpc) text() string {
	var res struct{ Content []struct{ Text string } }
	_ = json.Unmarshal(m.Result, &res)
	var all []string
	for _, block := range res.Content {
		all = append(all, block.Text)
	}
	return strings.Join(all, "\n")
}

// callOf returns a request in JSON.
func callOf(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// toolParams returns the params of tools/call, without their braces.
func toolParams(name, args string) string { return fmt.Sprintf(`"name":%q,"arguments":%s`, name, args) }

// cancelling returns the notification that withdraws a request.
func cancelling(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)
}

// A client writes requests of one revision, at one path of a site. Those of one session are one client.
type client struct {
	site                *site
	user, path          string // by default a, and /mcp
	revision            string // by default 2025-11-25
	name, version, caps string
	header              map[string]string
	session             string
	ids                 atomic.Int64 // of requests
}

// connect returns a client of the site, and begins its session unless the revision has none.
func (s *site) connect(t testing.TB, c *client) *client {
	t.Helper()
	if c.of(s).revision != mcp.Revision20260728 {
		r := s.do(t, query{path: c.path, user: c.user, header: c.header, body: c.initialize()})
		if r.status != http.StatusOK {
			t.Fatalf("initialize at %s: got %d %.300s, want 200", c.path, r.status, r.body)
		}
		c.session = r.header.Get("Mcp-Session-Id")
	}
	return c
}

// of makes the client one of a site, with what is the default.
func (c *client) of(s *site) *client {
	c.site = s
	c.user, c.path, c.name = cmp.Or(c.user, "a"), cmp.Or(c.path, "/mcp"), cmp.Or(c.name, "kit")
	c.caps, c.revision = cmp.Or(c.caps, `{"elicitation":{}}`), cmp.Or(c.revision, mcp.Revision20251125)
	return c
}

// initialize returns the first request of a session.
func (c *client) initialize() string {
	return callOf(int(c.ids.Add(1)), "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":%q,"version":%q}}`, c.revision, c.caps, c.name, c.version))
}

// modern returns a client of revision 2026-07-28.
func (s *site) modern(user, path string) *client {
	return (&client{user: user, path: path, revision: mcp.Revision20260728}).of(s)
}

// query returns a request. Params are without their braces.
func (c *client) query(method, params string) query {
	id := int(c.ids.Add(1))
	if c.revision != mcp.Revision20260728 {
		return query{path: c.path, user: c.user, header: c.header, session: c.session, body: callOf(id, method, "{"+params+"}")}
	}
	var p struct{ Name, URI, TaskID string }
	_ = json.Unmarshal([]byte("{"+params+"}"), &p)
	if params != "" {
		params += ","
	}
	params += fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":%q,"version":%q},"io.modelcontextprotocol/clientCapabilities":%s}`, c.name, c.version, c.caps)
	q := query{path: c.path, user: c.user, header: c.header, body: callOf(id, method, "{"+params+"}")}
	return q.with("Mcp-Protocol-Version", c.revision, "Mcp-Method", method, "Mcp-Name", cmp.Or(p.Name, p.URI, p.TaskID))
}

// do sends a request and returns the answer.
func (c *client) do(t testing.TB, method, params string) rpc {
	t.Helper()
	return c.site.do(t, c.query(method, params)).message(t)
}

// want sends a request, and compares the code of its error, which is 0 if there is none.
func (c *client) want(t testing.TB, code int, method, params string, what ...any) rpc {
	t.Helper()
	m := c.do(t, method, params)
	if m.code() != code {
		t.Errorf("%s %s at %s as %s: got %.300s %+v, want the code %d (%s)", method, params, c.path, c.user, m.Result, m.Error, code, fmt.Sprint(what...))
	}
	return m
}

// call calls a tool.
func (c *client) call(t testing.TB, tool, args string) rpc {
	t.Helper()
	return c.do(t, "tools/call", toolParams(tool, args))
}

// wantText calls a tool, and looks for a part of the text of its result.
func (c *client) wantText(t testing.TB, tool, args, part string) rpc {
	t.Helper()
	m := c.call(t, tool, args)
	if !strings.Contains(m.text(), part) {
		t.Errorf("%s %s at %s in %s: got %s %+v, want %q in it", tool, args, c.path, c.revision, m.Result, m.Error, part)
	}
	return m
}

// tools returns the tools that the client is shown, by name.
func (c *client) tools(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	var list struct{ Tools []json.RawMessage }
	assert.OK(t, json.Unmarshal(c.want(t, 0, "tools/list", "").Result, &list))
	tools := map[string]json.RawMessage{}
	for _, tool := range list.Tools {
		var named struct{ Name string }
		assert.OK(t, json.Unmarshal(tool, &named))
		tools[named.Name] = tool
	}
	assert.Equal(t, len(tools), len(list.Tools), "names of tools")
	return tools
}

// names returns the names of the tools that the client is shown.
func (c *client) names(t testing.TB) string {
	t.Helper()
	return strings.Join(slices.Sorted(maps.Keys(c.tools(t))), " ")
}

// delete ends the session.
func (c *client) delete(t testing.TB) {
	t.Helper()
	c.site.wantStatus(t, http.StatusNoContent, query{method: http.MethodDelete, path: c.path, user: c.user, session: c.session}, "DELETE")
}

// get returns the request that opens the stream of the session.
func (c *client) get() query {
	return query{method: http.MethodGet, path: c.path, user: c.user, session: c.session, header: acceptEvents}
}

// listen opens the stream of the session or, in revision 2026-07-28, one that is told of changed lists.
func (c *client) listen(t testing.TB) *listener {
	t.Helper()
	if c.session != "" {
		return c.site.listen(t, c.get())
	}
	l := c.site.listen(t, c.query("subscriptions/listen", `"notifications":{"toolsListChanged":true,"promptsListChanged":true}`))
	assert.Equal(t, l.message(t).Method, "notifications/subscriptions/acknowledged")
	return l
}

// A listener reads the events of a stream.
type listener struct {
	*http.Response
	scanner *bufio.Scanner
	cancel  context.CancelFunc
}

// listen opens a stream, which is closed at the end of the test.
func (s *site) listen(t testing.TB, q query) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	l := &listener{Response: assert.Value(s.send(ctx, q))(t), cancel: cancel}
	l.scanner = bufio.NewScanner(l.Body)
	l.scanner.Buffer(nil, 64<<20)
	t.Cleanup(l.close)
	return l
}

func (l *listener) close() {
	l.cancel()
	_ = l.Body.Close()
}

// next returns the value of the next field of the stream of a name; empty at the end.
func (l *listener) next(name string) string {
	for l.scanner.Scan() {
		if key, value, _ := strings.Cut(l.scanner.Text(), ": "); key == name && value != "" {
			return value
		}
	}
	return ""
}

// message returns the next message of the stream.
func (l *listener) message(t testing.TB) (m rpc) {
	t.Helper()
	data := l.next("data")
	assert.OK(t, json.Unmarshal([]byte(data), &m), "the message %.300q", data)
	return m
}

// A stdioClient is a client of ServeStdio.
type stdioClient struct {
	in     *io.PipeWriter
	out    *bufio.Scanner
	reads  *io.PipeReader
	ended  chan error
	cancel context.CancelFunc
	ids    int
}

// stdio connects a client.
func (s *site) stdio(t testing.TB, path string) *stdioClient {
	t.Helper()
	in, writes := io.Pipe()
	reads, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	c := &stdioClient{in: writes, out: bufio.NewScanner(reads), reads: reads, ended: make(chan error, 1), cancel: cancel}
	c.out.Buffer(nil, 64<<20)
	go func() {
		c.ended <- s.gateway.ServeStdio(ctx, path, in, out)
		close(c.ended)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = writes.Close()
		_ = reads.Close()
		<-c.ended
	})
	return c
}

// say writes a line.
func (c *stdioClient) say(t testing.TB, line string) {
	t.Helper()
	assert.Value(io.WriteString(c.in, line+"\n"))(t)
}

// message reads a message.
func (c *stdioClient) message(t testing.TB) (m rpc) {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("got the end (%v), want a message", c.out.Err())
	}
	assert.OK(t, json.Unmarshal(c.out.Bytes(), &m), "the message %.300q", c.out.Text())
	return m
}

// begin initializes the connection.
func (c *stdioClient) begin(t testing.TB) {
	t.Helper()
	m := c.do(t, "initialize", `"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"kit","version":"1"}`)
	assert.Equal(t, m.at("protocolVersion"), "2025-11-25", "the revision")
}

// do sends a request and returns the answer. Params are without their braces, and on one line.
func (c *stdioClient) do(t testing.TB, method, params string) rpc {
	t.Helper()
	c.ids++
	c.say(t, callOf(c.ids, method, "{"+strings.NewReplacer("\r", " ", "\n", " ").Replace(params)+"}"))
	for {
		if m := c.message(t); m.ID != nil {
			return m
		}
	}
}

// newUser returns a client of this library, of a user.
func (s *site) newUser(t *testing.T, path, user, revision string, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	if o == nil {
		o = &mcp.ClientOptions{}
	}
	o.ProtocolVersion = revision
	return s.newHeaderClient(t, path, http.Header{userField: {user}}, o)
}

// newHeaderClient returns a client of this library, whose requests have the fields of a header.
func (s *site) newHeaderClient(t *testing.T, path string, header http.Header, o *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c := mcp.NewClient("client", &transport.HTTP{URL: s.url + path, Header: header}, o)
	t.Cleanup(func() { _ = c.Close() })
	return c
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
