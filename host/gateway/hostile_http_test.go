package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Every body that is no message of the protocol is refused with a typed error, and the gateway goes on.
func TestHostileBodies(t *testing.T) {
	s := openSite(t, nil)
	id := s.begin(t, "/mcp", "a", "2025-11-25")
	old := s.begin(t, "/mcp", "a", "2025-03-26")
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	batch := "[" + strings.TrimSuffix(strings.Repeat(`{"jsonrpc":"2.0","method":"x"},`, 100_000), ",") + "]"
	long := strings.Repeat("a", 2000)
	for name, c := range map[string]struct {
		body    string
		session string
		status  int
		code    int
	}{
		"empty":                    {"", id, 400, -32700},
		"garbage":                  {"\x00\xff{", id, 400, -32700},
		"a string":                 {`"x"`, id, 400, -32700},
		"null":                     {`null`, id, 400, -32700},
		"two values":               {callOf(1, "ping", "{}") + "{}", id, 400, -32700},
		"cut off":                  {callOf(1, "ping", "{}")[:20], id, 400, -32700},
		"duplicate member":         {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, id, 400, -32700},
		"duplicate name":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, id, 400, -32700},
		"duplicate escaped":        {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","na\u006de":"b"}}`, id, 400, -32700},
		"duplicate argument":       {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__echo","arguments":{"text":"a","text":"b"}}}`, id, 400, -32700},
		"deep":                     {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + deep + `}}`, id, 400, -32700},
		"invalid UTF-8 in params":  {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}", id, 400, -32700},
		"invalid UTF-8 in a key":   {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"\xc0\xaf\":1}}", id, 400, -32700},
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
		"params is an array":       {callOf(1, "ping", "[]"), id, 400, -32602},
		"params is a string":       {callOf(1, "tools/call", `"x"`), id, 400, -32602},
		"name is an object":        {callOf(1, "tools/call", `{"name":{}}`), id, 200, -32602},
		"arguments is an array":    {callOf(1, "tools/call", `{"name":"one__echo","arguments":[]}`), id, 200, -32602},
		"arguments is a string":    {callOf(1, "tools/call", `{"name":"one__echo","arguments":"{"}`), id, 200, -32602},
		"no such tool":             {callOf(1, "tools/call", `{"name":"no\ndata: x"}`), id, 200, -32602},
		"no such method":           {callOf(1, "x", "{}"), id, 200, -32601},
		"_meta is a string":        {callOf(1, "ping", `{"_meta":"{\"a\":1}"}`), id, 200, 0},
		"cursor of nothing":        {callOf(1, "tools/list", `{"cursor":"AAAA"}`), id, 200, -32602},
		"cursor is negative":       {callOf(1, "tools/list", `{"cursor":"MS4tMQ"}`), id, 200, -32602},
		"level is unknown":         {callOf(1, "logging/setLevel", `{"level":"x"}`), id, 200, -32602},
		"resource of no server":    {callOf(1, "resources/read", `{"uri":"mcpbelt://none/x"}`), id, 200, -32002},
		"resource is no address":   {callOf(1, "resources/read", `{"uri":"\u0000"}`), id, 200, -32002},
		"task of nobody":           {callOf(1, "tasks/get", `{"taskId":"x"}`), id, 200, -32602},
		"task method":              {callOf(1, "tasks/x", `{"taskId":"x"}`), id, 200, -32602},
		"batch of another time":    {`[` + callOf(1, "ping", "{}") + `]`, id, 400, -32600},
		"batch of 100,000":         {batch, old, 400, -32600},
		"batch of numbers":         {`[1,2]`, old, 400, -32600},
		"batch of batches":         {`[[` + callOf(1, "ping", "{}") + `]]`, old, 400, -32600},
		"batch of nothing":         {`[]`, old, 400, -32600},
		"batch that is cut off":    {`[` + callOf(1, "ping", "{}"), old, 400, -32700},
		"batch with a wrong id":    {`[{"jsonrpc":"2.0","id":[],"method":"ping"}]`, old, 400, -32600},
		"batch of a duplicate key": {`[{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}]`, old, 400, -32700},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.do(t, shot{user: "a", session: c.session, body: c.body})
			assert.Equal(t, r.status, c.status, "%s", cut(r.body))
			code := 0
			if e := r.message(t).Error; e != nil {
				code = e.Code
			}
			if code != c.code {
				t.Errorf("got %s, want the code %d", cut(r.body), c.code)
			}
		})
	}
}

// A body that is too large is refused before all of it is read or kept.
func TestHostileSizes(t *testing.T) {
	s := openSite(t, &gateway.Options{MaxMessage: 1 << 20})
	id := s.begin(t, "/mcp", "a", "2025-11-25")
	body := callOf(1, "tools/call", `{"name":"one__echo","arguments":{"text":"`+strings.Repeat("x", 1<<20)+`"}}`)
	for _, path := range []string{"/mcp", "/mcp/tools/call"} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s chunked %t", path, chunked), func(t *testing.T) {
				var in io.Reader = strings.NewReader(body)
				if chunked {
					in = io.MultiReader(in)
				}
				r := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, in))(t)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Mcp-Session-Id", id)
				r.Header.Set(userField, "a")
				resp := assert.Value(s.client.Do(r))(t)
				defer resp.Body.Close()
				assert.Equal(t, resp.StatusCode, http.StatusRequestEntityTooLarge)
			})
		}
	}
}

// The header fields of a request are checked before its body is believed.
func TestHostileFields(t *testing.T) {
	s := openSite(t, nil)
	id := s.begin(t, "/mcp", "a", "2025-11-25")
	ping := callOf(1, "ping", "{}")
	call := modern("a", "/mcp", "tools/call", "one__echo", `"name":"one__echo","arguments":{"text":"x"}`)
	with := func(in shot, fields ...string) shot {
		header := map[string]string{}
		for key, value := range in.header {
			header[key] = value
		}
		for i := 0; i < len(fields); i += 2 {
			header[fields[i]] = fields[i+1]
		}
		in.header = header
		return in
	}
	session := shot{user: "a", session: id, body: ping}
	get := shot{method: http.MethodGet, user: "a", session: id, header: map[string]string{"Accept": "text/event-stream"}}
	for name, c := range map[string]struct {
		shot
		status int
	}{
		"good":                         {session, 200},
		"good call":                    {call, 200},
		"no content type":              {with(session, "Content-Type", ""), 415},
		"a form":                       {with(session, "Content-Type", "application/x-www-form-urlencoded"), 415},
		"plain text":                   {with(session, "Content-Type", "text/plain"), 415},
		"a type that is no type":       {with(session, "Content-Type", ";;;"), 415},
		"accepts pictures":             {with(session, "Accept", "image/png"), 406},
		"POST with Last-Event-ID":      {with(session, "Last-Event-ID", "0-1"), 400},
		"PUT":                          {shot{method: http.MethodPut, user: "a", session: id}, 405},
		"revision that is none":        {with(session, "Mcp-Protocol-Version", "1999-01-01"), 400},
		"revision of the future":       {with(session, "Mcp-Protocol-Version", "zzzz"), 400},
		"no session":                   {shot{user: "a", body: ping}, 400},
		"session of nobody":            {shot{user: "a", session: "x", body: ping}, 404},
		"session of another user":      {shot{user: "b", session: id, body: ping}, 404},
		"session of another view":      {shot{path: "/s/one/mcp", user: "a", session: id, body: ping}, 404},
		"initialize without an id":     {shot{user: "a", body: `{"jsonrpc":"2.0","method":"initialize","params":{}}`}, 400},
		"another name":                 {with(call, "Mcp-Name", "one__wait"), 400},
		"no name":                      {with(call, "Mcp-Name", ""), 400},
		"another method":               {with(call, "Mcp-Method", "tools/list"), 400},
		"no method":                    {with(call, "Mcp-Method", ""), 400},
		"another revision":             {with(call, "Mcp-Protocol-Version", "2025-11-25"), 400},
		"no revision":                  {with(call, "Mcp-Protocol-Version", ""), 400},
		"modern and a session":         {with(call, "Mcp-Session-Id", id), 200},
		"modern response":              {shot{user: "a", header: call.header, body: `{"jsonrpc":"2.0","id":1,"result":{}}`}, 400},
		"origin of another":            {with(session, "Origin", "https://evil.example"), 403},
		"origin that is opaque":        {with(session, "Origin", "null"), 403},
		"origin with a name inside":    {with(session, "Origin", "http://localhost.evil.example"), 403},
		"origin with a login":          {with(session, "Origin", "http://localhost@evil.example"), 403},
		"host of another":              {with(session, "Host", "evil.example"), 403},
		"host that begins as local":    {with(session, "Host", "127.0.0.1.evil.example"), 403},
		"host and origin that agree":   {with(session, "Host", "evil.example", "Origin", "http://evil.example"), 403},
		"host with another port":       {with(session, "Host", "localhost:1"), 200},
		"GET without a type":           {with(get, "Accept", ""), 406},
		"GET of JSON":                  {with(get, "Accept", "application/json"), 406},
		"GET of another's session":     {shot{method: http.MethodGet, user: "b", session: id, header: get.header}, 404},
		"GET behind nothing":           {with(get, "Last-Event-ID", "x"), 400},
		"GET behind a far place":       {with(get, "Last-Event-ID", "0-9223372036854775807"), 400},
		"GET behind an early place":    {with(get, "Last-Event-ID", "0--9"), 400},
		"GET behind a place to come":   {with(get, "Last-Event-ID", "0-77"), 404},
		"GET behind a stream of none":  {with(get, "Last-Event-ID", "AAAA-1"), 404},
		"GET with a revision only":     {shot{method: http.MethodGet, user: "a", header: map[string]string{"Accept": "text/event-stream", "Mcp-Protocol-Version": "2026-07-28"}}, 400},
		"DELETE of another's session":  {shot{method: http.MethodDelete, user: "b", session: id}, 404},
		"DELETE of nothing":            {shot{method: http.MethodDelete, user: "a"}, 400},
		"tools/list by POST":           {shot{path: "/mcp/tools/list", user: "a", body: ping}, 405},
		"tools/call by GET":            {shot{method: http.MethodGet, path: "/mcp/tools/call", user: "a"}, 405},
		"tools/call of a notification": {shot{path: "/mcp/tools/call", user: "a", body: `{"jsonrpc":"2.0","method":"ping"}`}, 404},
		"tools/call of a response":     {shot{path: "/mcp/tools/call", user: "a", body: `{"jsonrpc":"2.0","id":1,"result":{}}`}, 400},
		"tools/call of nothing":        {shot{path: "/mcp/tools/call", user: "a"}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			if r := s.do(t, c.shot); r.status != c.status {
				t.Errorf("got %d %s, want %d", r.status, cut(r.body), c.status)
			}
		})
	}
}

// Paths lead to the views that there are, and to nothing else.
func TestHostilePaths(t *testing.T) {
	s := openSite(t, &gateway.Options{Profiles: map[string]gateway.Profile{"office": {Servers: []string{"one"}}}})
	for path, want := range map[string]int{
		"/mcp":                  400, // without a session
		"/mcp/":                 400,
		"/p/office/mcp":         400,
		"/s/one/mcp/":           400,
		"/":                     404,
		"//mcp":                 404,
		"/mcp/x":                404,
		"/p//mcp":               404,
		"/p/none/mcp":           404,
		"/p/office":             404,
		"/p/office/../mcp":      404,
		"/s//mcp":               404,
		"/s/two/mcp":            404,
		"/s/../mcp":             404,
		"/s/%2e%2e/mcp":         404,
		"/s/one%2fmcp":          400, // is /s/one/mcp
		"/s/one%2f..%2ftwo/mcp": 404,
		"/s/one%00/mcp":         404,
		"/s/one/s/one/mcp":      404,
		"/p/office/s/one/mcp":   404,
		"/s/ONE/mcp":            404,
		"/s/" + strings.Repeat("x", 100_000) + "/mcp": 404,
	} {
		t.Run(cut(path), func(t *testing.T) {
			if r := s.do(t, shot{path: path, user: "a", body: callOf(1, "ping", "{}")}); r.status != want {
				t.Errorf("got %d %s, want %d", r.status, cut(r.body), want)
			}
		})
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
		"/healthz": 200, "/readyz": 200, "/mcp": 401, "/mcp/tools/list": 401,
		"/s/secretive/mcp": 401, "/s/none/mcp": 401, "/s/secretive/readyz": 401, "/s/none/readyz": 401,
	} {
		r := s.do(t, shot{method: http.MethodGet, path: path})
		assert.Equal(t, r.status, want, "%s", path)
		assert.Lacks(t, r.body, "secretive", "%s", path)
	}
	if r := s.do(t, shot{method: http.MethodGet, path: "/readyz", user: "a"}); !strings.Contains(r.body, "secretive") {
		t.Errorf("/readyz of a user: got %s, want the servers", r.body)
	}
}

// A body that does not come, and an answer that is not read, end after a while.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		slow := assert.Value(s.dial())(t)
		defer slow.Close()
		began := time.Now()
		fmt.Fprintf(slow, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		resp := assert.Value(http.ReadResponse(bufio.NewReader(slow), nil))(t)
		assert.Equal(t, resp.StatusCode, http.StatusBadRequest, "slow body")
		assert.Equal(t, time.Since(began), 2*time.Minute, "slow body: the end after")

		mute := assert.Value(s.dial())(t)
		defer mute.Close()
		began = time.Now()
		body := modern("", "", "tools/call", "one__big", `"name":"one__big","arguments":{"n":1000000}`).body
		fmt.Fprintf(mute, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json\r\nMcp-Method: tools/call\r\nMcp-Name: one__big\r\nMcp-Protocol-Version: 2026-07-28\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.gateway.Shutdown(ctx); err != nil { // which waits for the answer
			t.Errorf("Shutdown: got %v, want no error", err)
		}
		assert.Equal(t, time.Since(began), 30*time.Second, "answer that is not read: the end after")
	})
}
