// Tests of http.go: who is let in by which path, and what is refused.

package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/storage"
)

// Every body that is no message of the protocol is refused with a typed error, and the gateway goes on.
func TestHostileBodies(t *testing.T) {
	s := openSite(t, nil)
	id := s.connect(t, &client{}).session
	old := s.connect(t, &client{revision: "2025-03-26"}).session
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	batch := "[" + strings.TrimSuffix(strings.Repeat(`{"jsonrpc":"2.0","method":"x"},`, 10_000), ",") + "]"
	long := strings.Repeat("a", 2000)
	ping := callOf(1, "ping", "{}")
	for name, c := range map[string]struct {
		body, session string
		status, code  int
	}{
		"empty":                    {"", id, 400, -32700},
		"garbage":                  {"\x00\xff{", id, 400, -32700},
		"a string":                 {`"x"`, id, 400, -32700},
		"null":                     {`null`, id, 400, -32700},
		"two values":               {ping + "{}", id, 400, -32700},
		"cut off":                  {ping[:20], id, 400, -32700},
		"duplicate member":         {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, id, 400, -32700},
		"duplicate name":           {callOf(1, "tools/call", `{"name":"a","name":"b"}`), id, 400, -32700},
		"duplicate escaped":        {callOf(1, "tools/call", `{"name":"a","na\u006de":"b"}`), id, 400, -32700},
		"duplicate argument":       {callOf(1, "tools/call", `{"name":"one__echo","arguments":{"text":"a","text":"b"}}`), id, 400, -32700},
		"deep":                     {callOf(1, "ping", `{"a":`+deep+`}`), id, 400, -32700},
		"invalid UTF-8 in params":  {callOf(1, "ping", "{\"a\":\"\xff\"}"), id, 400, -32700},
		"invalid UTF-8 in a key":   {callOf(1, "ping", "{\"\xc0\xaf\":1}"), id, 400, -32700},
		"invalid UTF-8 in the id":  {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", id, 400, -32700},
		"half a surrogate":         {`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, id, 400, -32700},
		"line break in the id":     {"{\"jsonrpc\":\"2.0\",\"id\":\"a\ndata: b\",\"method\":\"ping\"}", id, 400, -32700},
		"no version":               {`{"id":1,"method":"ping"}`, id, 400, -32600},
		"version 1":                {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, id, 400, -32600},
		"id is an object":          {`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, id, 400, -32600},
		"id is null":               {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, id, 400, -32600},
		"id is true":               {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, id, 400, -32600},
		"id is long":               {`{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`, id, 400, -32600},
		"no method":                {`{"jsonrpc":"2.0","id":1}`, id, 400, -32600},
		"method is a number":       {`{"jsonrpc":"2.0","id":1,"method":1}`, id, 400, -32700},
		"method is long":           {callOf(1, long, "{}"), id, 400, -32600},
		"params is an array":       {callOf(1, "ping", "[1]"), id, 400, -32602},
		"params is a string":       {callOf(1, "tools/call", `"x"`), id, 400, -32602},
		"name is an object":        {callOf(1, "tools/call", `{"name":{}}`), id, 200, -32602},
		"arguments is an array":    {callOf(1, "tools/call", `{"name":"one__echo","arguments":[1]}`), id, 200, -32602},
		"arguments is a string":    {callOf(1, "tools/call", `{"name":"one__echo","arguments":"{"}`), id, 200, -32602},
		"no such tool":             {callOf(1, "tools/call", `{"name":"no\ndata: x"}`), id, 200, -32602},
		"no such method":           {callOf(1, "x", "{}"), id, 200, -32601},
		"_meta is a string":        {callOf(1, "ping", `{"_meta":"{\"a\":1}"}`), id, 200, 0},
		"cursor of nothing":        {callOf(1, "tools/list", `{"cursor":"AAAA"}`), id, 200, -32602},
		"cursor is negative":       {callOf(1, "tools/list", `{"cursor":"MS4tMQ"}`), id, 200, -32602},
		"level is unknown":         {callOf(1, "logging/setLevel", `{"level":"x"}`), id, 200, -32602},
		"resource of no server":    {callOf(1, "resources/read", `{"uri":"mcpbelt://none/x"}`), id, 200, -32002},
		"resource is no address":   {callOf(1, "resources/read", `{"uri":"\u0000"}`), id, 200, -32002},
		"task of no one":           {callOf(1, "tasks/get", `{"taskId":"x"}`), id, 200, -32601},
		"task method":              {callOf(1, "tasks/get", `{"taskId":"x"}`), id, 200, -32601},
		"batch of another time":    {`[` + ping + `]`, id, 400, -32600},
		"batch of 10,000":          {batch, old, 400, -32600},
		"batch of numbers":         {`[1,2]`, old, 400, -32600},
		"batch of batches":         {`[[` + ping + `]]`, old, 400, -32600},
		"batch of nothing":         {`[]`, old, 400, -32600},
		"batch that is cut off":    {`[` + ping, old, 400, -32700},
		"batch with a wrong id":    {`[{"jsonrpc":"2.0","id":[],"method":"ping"}]`, old, 400, -32600},
		"batch of a duplicate key": {`[{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}]`, old, 400, -32700},
	} {
		r := s.wantStatus(t, c.status, query{user: "a", session: c.session, body: c.body}, "%s", name)
		assert.Equal(t, r.message(t).code(), c.code, "%s: the code in %.300s", name, r.body)
	}
}

// A body that is too large is refused before all of it is read or kept.
func TestHostileSizes(t *testing.T) {
	s := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.MaxMessage = 1 << 16 }))
	id := s.connect(t, &client{}).session
	body := callOf(1, "tools/call", `{"name":"one__echo","arguments":{"text":"`+strings.Repeat("x", 1<<16)+`"}}`)
	for _, path := range []string{"/mcp", "/s/one/mcp"} {
		for _, in := range []io.Reader{strings.NewReader(body), io.MultiReader(strings.NewReader(body))} { // which is chunked
			r := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, in))(t)
			r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {id}, userField: {"a"}}
			resp := assert.Value(s.client.Do(r))(t)
			_ = resp.Body.Close()
			assert.Equal(t, resp.StatusCode, http.StatusRequestEntityTooLarge, "%s, length %d", path, r.ContentLength)
		}
	}
}

// The header fields of a request are checked before its body is believed.
func TestHostileFields(t *testing.T) {
	s := openSite(t, nil)
	c := s.connect(t, &client{})
	id, ping := c.session, callOf(1, "ping", "{}")
	call := s.modern("a", "").query("tools/call", toolParams("one__echo", `{"text":"x"}`))
	session, get := query{user: "a", session: id, body: ping}, c.get()
	for name, c := range map[string]struct {
		query
		status int
	}{
		"good":                        {session, 200},
		"good call":                   {call, 200},
		"no content type":             {session.with("Content-Type", ""), 415},
		"a form":                      {session.with("Content-Type", "application/x-www-form-urlencoded"), 415},
		"plain text":                  {session.with("Content-Type", "text/plain"), 415},
		"a type that is no type":      {session.with("Content-Type", ";;;"), 415},
		"accepts pictures":            {session.with("Accept", "image/png"), 406},
		"POST with Last-Event-ID":     {session.with("Last-Event-ID", "0-1"), 400},
		"PUT":                         {query{method: http.MethodPut, user: "a", session: id}, 405},
		"revision that is none":       {session.with("Mcp-Protocol-Version", "1999-01-01"), 400},
		"revision of the future":      {session.with("Mcp-Protocol-Version", "zzzz"), 400},
		"no session":                  {query{user: "a", body: ping}, 400},
		"session of no one":           {query{user: "a", session: "x", body: ping}, 404},
		"session of another user":     {query{user: "b", session: id, body: ping}, 404},
		"session of another view":     {query{path: "/s/one/mcp", user: "a", session: id, body: ping}, 404},
		"initialize without an id":    {query{user: "a", body: `{"jsonrpc":"2.0","method":"initialize","params":{}}`}, 400},
		"another name":                {call.with("Mcp-Name", "one__wait"), 400},
		"no name":                     {call.with("Mcp-Name", ""), 400},
		"another method":              {call.with("Mcp-Method", "tools/list"), 400},
		"no method":                   {call.with("Mcp-Method", ""), 400},
		"another revision":            {call.with("Mcp-Protocol-Version", "2025-11-25"), 400},
		"no revision":                 {call.with("Mcp-Protocol-Version", ""), 400},
		"modern and a session":        {call.with("Mcp-Session-Id", id), 200},
		"modern response":             {query{user: "a", header: call.header, body: `{"jsonrpc":"2.0","id":1,"result":{}}`}, 400},
		"origin of another":           {session.with("Origin", "https://evil.example"), 403},
		"origin that is opaque":       {session.with("Origin", "null"), 403},
		"origin with a name inside":   {session.with("Origin", "http://localhost.evil.example"), 403},
		"origin with a login":         {session.with("Origin", "http://localhost@evil.example"), 403},
		"host of another":             {session.with("Host", "evil.example"), 403},
		"host that begins as local":   {session.with("Host", "127.0.0.1.evil.example"), 403},
		"host and origin that agree":  {session.with("Host", "evil.example", "Origin", "http://evil.example"), 403},
		"host with another port":      {session.with("Host", "localhost:1"), 200},
		"GET without a type":          {get.with("Accept", ""), 406},
		"GET of JSON":                 {get.with("Accept", "application/json"), 406},
		"GET of another's session":    {query{method: http.MethodGet, user: "b", session: id, header: get.header}, 404},
		"GET behind nothing":          {get.with("Last-Event-ID", "x"), 400},
		"GET behind a far place":      {get.with("Last-Event-ID", "0-9223372036854775807"), 400},
		"GET behind an early place":   {get.with("Last-Event-ID", "0--9"), 400},
		"GET behind a place to come":  {get.with("Last-Event-ID", "0-77"), 404},
		"GET behind a stream of none": {get.with("Last-Event-ID", "AAAA-1"), 404},
		"GET with a revision only":    {query{method: http.MethodGet, user: "a"}.with("Accept", "text/event-stream", "Mcp-Protocol-Version", "2026-07-28"), 400},
		"DELETE of another's session": {query{method: http.MethodDelete, user: "b", session: id}, 404},
		"DELETE of nothing":           {query{method: http.MethodDelete, user: "a"}, 400},
	} {
		s.wantStatus(t, c.status, c.query, "%s", name)
	}
}

// Paths lead to the views that there are, and to nothing else.
func TestHostilePaths(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{"office": {Servers: []string{"one"}}}})
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, want := range map[string]int{
		//report: Gateway | BerriAI/litellm#23688, IBM/mcp-context-forge#4441, opensearch-project/opensearch-mcp-server-py#271, anomalyco/opencode#6247 | a gateway redirects /mcp to /mcp/, and clients do not repeat a POST | both are served where they are
		"/mcp": 400, "/mcp/": 400, "/p/office/mcp": 400, "/s/one/mcp/": 400, // without a session
		"/s/one%2fmcp": 400, // is /s/one/mcp
		"/":            404, "//mcp": 404, "/mcp/x": 404, "/p//mcp": 404, "/p/none/mcp": 404, "/p/office": 404, "/p/office/../mcp": 404, "/s//mcp": 404,
		"/s/two/mcp": 404, "/s/../mcp": 404, "/s/%2e%2e/mcp": 404, "/s/one%2f..%2ftwo/mcp": 404, "/s/one%00/mcp": 404, "/s/one/s/one/mcp": 404,
		"/p/office/s/one/mcp": 404, "/s/ONE/mcp": 404, "/s/" + strings.Repeat("x", 100_000) + "/mcp": 404,
	} {
		s.wantStatus(t, want, query{path: path, user: "a", body: callOf(1, "ping", "{}")}, "%.100s", path)
	}
}

// Of a gateway that knows its users, a stranger learns nothing: no names of servers, and not
// which views there are.
func TestStrangerLearnsNothing(t *testing.T) {
	s := openSite(t, &gateway.Options{Authenticate: func(r *http.Request) (*access.Caller, error) {
		if user := r.Header.Get(userField); user != "" {
			return &access.Caller{User: user}, nil
		}
		return nil, errors.New("a stranger")
	}}, "secretive")
	for path, want := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/mcp": 401, "/mcp/search": 401,
		"/s/secretive/mcp": 401, "/s/none/mcp": 401, "/s/secretive/readyz": 401, "/s/none/readyz": 401,
	} {
		assert.Lacks(t, s.wantStatus(t, want, query{method: http.MethodGet, path: path}, "%s", path).body, "secretive", "%s", path)
	}
	assert.Contains(t, s.do(t, query{method: http.MethodGet, path: "/readyz", user: "a"}).body, "secretive", "/readyz of a user")
}

// A body that does not come, and an answer that is not read, end after a while.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		writes := assert.Value(s.dial())(t)
		defer writes.Close()
		began := time.Now()
		fmt.Fprintf(writes, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		assert.Equal(t, assert.Value(http.ReadResponse(bufio.NewReader(writes), nil))(t).StatusCode, http.StatusBadRequest, "slow body")
		assert.Equal(t, time.Since(began), 2*time.Minute, "slow body: the end after")

		reads := assert.Value(s.dial())(t)
		defer reads.Close()
		began = time.Now()
		body := s.modern("a", "").query("tools/call", toolParams("one__big", `{"n":1000000}`)).body
		fmt.Fprintf(reads, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json\r\nMcp-Method: tools/call\r\nMcp-Name: one__big\r\nMcp-Protocol-Version: 2026-07-28\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		assert.Equal(t, s.gateway.Shutdown(ctx), nil, "Shutdown, which waits for the answer")
		assert.Equal(t, time.Since(began), 30*time.Second, "answer that is not read: the end after")
	})
}

// Hosts and Origins say by which names the gateway is reached, and whose pages may use it.
func TestHostsAndOrigins(t *testing.T) {
	s := openSite(t, &gateway.Options{Hosts: []string{"belt.example", "other.example:8080"}, Origins: []string{"https://app.example"}})
	for _, c := range []struct {
		host, origin string
		want         int
		allowed      string
	}{
		{"belt.example", "", 200, ""},
		{"BELT.example:99", "", 200, ""},
		{"other.example:8080", "", 200, ""},
		{"other.example", "", 403, ""},
		{"localhost", "", 403, ""},
		{"evil.example", "", 403, ""},
		{"belt.example", "https://app.example", 200, "https://app.example"},
		{"belt.example", "http://app.example", 403, ""},
		{"belt.example", "https://app.example.evil", 403, ""},
		{"belt.example", "http://belt.example", 200, "http://belt.example"},
		{"belt.example", "http://localhost", 403, ""},
		{"belt.example", "http://evil.example", 403, ""},
		{"belt.example", "null", 403, ""},
	} {
		for _, method := range []string{http.MethodPost, http.MethodOptions} {
			want := c.want
			if method == http.MethodOptions && want == 200 {
				want = 204
			}
			q := query{method: method, user: "a", body: callOf(1, "initialize", `{}`)}.with("Host", c.host, "Origin", c.origin)
			r := s.wantStatus(t, want, q, "%s from %q to %s", method, c.origin, c.host)
			assert.Equal(t, r.header.Get("Access-Control-Allow-Origin"), c.allowed, "%s from %q to %s: the origin allowed", method, c.origin, c.host)
		}
	}
}

// Without a word about who may use it, the gateway serves no HTTP request; anonymous ones come in at a loopback address.
func TestAnonymous(t *testing.T) {
	h := host.New(&host.Options{StateDir: host.NoState})
	defer h.Close()
	assert.Fails(t, assert.Err(gateway.New(h, &gateway.Options{Anonymous: true, Authenticate: userOfField})), "with both")
	for _, c := range []struct {
		anonymous bool
		local     net.Addr
		want      int
		text      string
	}{
		{true, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 406, "accept"}, // let in
		{true, &net.UnixAddr{Name: "belt", Net: "unix"}, 406, "accept"},
		{true, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, 403, "loopback"},
		{true, nil, 403, "loopback"},
		{false, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, 403, "Options.Authenticate"},
	} {
		g := assert.Value(gateway.New(h, &gateway.Options{Anonymous: c.anonymous}))(t)
		r := httptest.NewRequest(http.MethodGet, "http://localhost/mcp", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		assert.Equal(t, w.Code, c.want, "anonymous %t at %v", c.anonymous, c.local)
		assert.Contains(t, w.Body.String(), c.text, "anonymous %t at %v", c.anonymous, c.local)
		w = httptest.NewRecorder()
		r.URL.Path = "/readyz"
		g.ServeHTTP(w, r)
		assert.Equal(t, w.Code, 200, "anonymous %t at %v: /readyz", c.anonymous, c.local)
		assert.Equal(t, g.Close(), nil)
	}
}

// A refused request gets a challenge, and is logged with its reason, and without its credential.
func TestRefusals(t *testing.T) {
	refusals := map[string]error{
		"Bearer expired": &access.RefusedError{Credential: "https://as.example", Reason: "the token has expired"},
		"Bearer little":  &access.RefusedError{Status: 403, Scope: "more", Reason: "the scope is missing"},
		"Bearer away":    &access.RefusedError{Status: 503, Reason: "the issuer is away"},
		"Bearer odd":     errors.New("odd"),
		"":               access.ErrUnrecognized,
	}
	var logged lockedBuffer
	s := openSite(t, &gateway.Options{
		Authenticate: func(r *http.Request) (*access.Caller, error) {
			if r.Header.Get(userField) == "wrong" {
				return &access.Caller{Grant: &access.Grant{Tools: []string{"["}}}, nil
			}
			return nil, refusals[r.Header.Get("Authorization")]
		},
		Resource: &access.Resource{AuthorizationServers: []string{"https://as.example"}},
		Logger:   logged.logger(),
	})
	metadata := `Bearer resource_metadata="` + s.url + access.MetadataPath + `/p/x/mcp/"`
	for token, want := range map[string]struct {
		status            int
		challenge, reason string
	}{
		"":               {401, metadata, "no credential"},
		"Bearer expired": {401, metadata + `, error="invalid_token"`, "https://as.example: the token has expired"},
		"Bearer little":  {403, metadata + `, error="insufficient_scope", scope="more"`, "the scope is missing"},
		"Bearer away":    {503, "", "the issuer is away"},
		"Bearer odd":     {401, metadata + `, error="invalid_token"`, "odd"},
	} {
		before := len(logged.String())
		r := s.wantStatus(t, want.status, query{path: "/p/x/mcp/", body: callOf(1, "initialize", `{}`)}.with("Authorization", token), "%q", token)
		assert.Equal(t, r.header.Get("WWW-Authenticate"), want.challenge, "%q", token)
		assert.Contains(t, logged.String()[before:], want.reason, "%q: in the log", token)
	}
	assert.Lacks(t, logged.String(), "Bearer", "tokens in the log")
	s.wantStatus(t, http.StatusForbidden, query{user: "wrong", body: callOf(1, "initialize", `{}`)}, "a grant that cannot be used")
	for _, path := range []string{"", "/mcp", "/p/x/mcp/"} {
		var got struct{ Resource string }
		assert.OK(t, json.Unmarshal([]byte(s.do(t, query{method: http.MethodGet, path: access.MetadataPath + path}).body), &got))
		assert.Equal(t, got.Resource, s.url+path, "metadata at %q", path)
	}
}

// A countedBody is endless, and counts what is read of it.
type countedBody int

func (b *countedBody) Read(p []byte) (int, error) {
	*b += countedBody(len(p))
	return len(p), nil
}

// What a stranger sends is not read, and their connection is closed, also where a replica looks at bodies first.
func TestStrangersAreNotRead(t *testing.T) {
	s := openGranted(t, newGrants())
	m := assert.Value(replica.Join(t.Context(), storage.NewMemory(), nil))(t)
	defer m.Close(context.WithoutCancel(t.Context()))
	for name, h := range map[string]http.Handler{"gateway": s.gateway, "replica": m.Handler(s.gateway)} {
		for _, path := range []string{"/mcp", "/mcp/tools/call", "/p/office/mcp", "/none", "/approve/none"} {
			body, w := new(countedBody), httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, path, io.LimitReader(body, 1<<20))
			r.Header.Set(userField, "stranger")
			h.ServeHTTP(w, r)
			assert.Equal(t, int(*body), 0, "bytes read by the %s at %s", name, path)
			if w.Code == http.StatusUnauthorized || path == "/mcp" {
				assert.Equal(t, w.Header().Get("Connection"), "close", "the %s at %s: %d", name, path, w.Code)
			}
		}
	}
}

// The bodies of requests under way are bounded, and one caller has a quarter.
func TestBodiesAreBounded(t *testing.T) {
	s := openSite(t, gateway.WithLimits(&gateway.Options{}, func(l *gateway.Limits) { l.MaxBodies = 8000 }))
	call := toolParams("one__wait", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1500)))
	var waits sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	waits.Go(func() { s.drain(ctx, s.modern("a", "").query("tools/call", call)) })
	s.server.waits(t, 1)
	r := s.wantStatus(t, http.StatusServiceUnavailable, s.modern("a", "").query("tools/call", call), "the 2nd body")
	assert.Equal(t, r.header.Get("Retry-After"), "1")
	waits.Go(func() { s.drain(ctx, s.modern("b", "").query("tools/call", call)) })
	s.server.waits(t, 2)
	cancel()
	waits.Wait()
	hosttest.Eventually(t, "there is room again", func() bool {
		return s.do(t, s.modern("a", "").query("tools/call", toolParams("one__echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 1500))))).status == http.StatusOK
	})
}

// A field that a proxy may read otherwise than the gateway does is there once.
func TestFieldsAreThereOnce(t *testing.T) {
	s := openSite(t, nil)
	c := s.connect(t, &client{})
	for _, field := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"} {
		for _, q := range []query{c.query("ping", ""), s.modern("a", "").query("tools/call", toolParams("one__echo", `{}`))} {
			r := assert.Value(http.NewRequest(http.MethodPost, s.url+"/mcp", strings.NewReader(q.body)))(t)
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "X-User": {"a"}, "Mcp-Session-Id": {q.session}}
			for name, value := range q.header {
				r.Header.Set(name, value)
			}
			r.Header[field] = []string{r.Header.Get(field), "one__big"}
			resp := assert.Value(s.client.Do(r))(t)
			assert.OK(t, resp.Body.Close())
			assert.Equal(t, resp.StatusCode, http.StatusBadRequest, "two %s fields", field)
		}
	}
}
