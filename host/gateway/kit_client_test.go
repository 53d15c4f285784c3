// The kit of the tests: clients, over HTTP and stdio.

package gateway_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

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
	return &reply{resp.StatusCode, resp.Header, string(assert.Value(io.ReadAll(resp.Body))(t))}
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
	assert.Equal(t, m.code(), code, "%s %s at %s as %s: %.300s %+v (%s)", method, params, c.path, c.user, m.Result, m.Error, fmt.Sprint(what...))
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
	assert.Contains(t, m.text(), part, "%s %s at %s in %s with %s %+v", tool, args, c.path, c.revision, m.Result, m.Error)
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
	c := mcp.NewClient("client", &transport.HTTP{URL: s.url + path, Header: header}, o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
