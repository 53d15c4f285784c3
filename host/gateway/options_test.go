package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

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
			header := map[string]string{"Host": c.host, "Origin": c.origin}
			want := c.want
			if method == http.MethodOptions && want == 200 {
				want = 204
			}
			r := s.do(t, shot{method: method, user: "a", header: header, body: callOf(1, "initialize", `{}`)})
			assert.Equal(t, r.status, want, "%s from %q to %s", method, c.origin, c.host)
			assert.Equal(t, r.header.Get("Access-Control-Allow-Origin"), c.allowed, "%s from %q to %s: the origin allowed", method, c.origin, c.host)
		}
	}
}

// A tool's name leaves the room that clients take, and leads to the tool; the gateway says of itself what the
// options say.
func TestNames(t *testing.T) {
	for prefix, most := range map[int]int{0: 53, 20: 44, -1: 64, 60: 24} {
		s := openSite(t, &gateway.Options{ClientPrefix: prefix, Implementation: &mcp.Implementation{Name: "me", Version: "7"}, Instructions: "Be kind."})
		long := strings.Repeat("a", 70)
		addEmptyTool(s.server, long+"1")
		addEmptyTool(s.server, long+"2")
		m := s.wantCode(t, "initialize", shot{user: "a", body: callOf(1, "initialize", `{}`)}, 0)
		assert.Equal(t, m.at("serverInfo", "name")+m.at("serverInfo", "version")+m.at("instructions"), "me7Be kind.")
		var names []string
		eventually(t, "the long names are listed", func() bool {
			var list struct{ Tools []struct{ Name string } }
			m := s.wantCode(t, "list", modern("a", "", "tools/list", "", ""), 0)
			assert.OK(t, json.Unmarshal(m.Result, &list))
			names = nil
			for _, tool := range list.Tools {
				if strings.Contains(tool.Name, "aaa") {
					names = append(names, tool.Name)
				}
			}
			return len(names) == 2
		})
		for _, name := range names {
			if len(name) > most {
				t.Errorf("prefix %d: got the name %q of %d bytes, want at most %d", prefix, name, len(name), most)
			}
			s.wantCode(t, name, modern("a", "", "tools/call", name, `"name":"`+name+`","arguments":{}`), 0)
		}
		if names[0] == names[1] {
			t.Errorf("prefix %d: got one name for two tools, want two", prefix)
		}
	}
}

// A list above PageBytes comes in pages that have each tool once, and a cursor is good for its list alone.
func TestPageBytes(t *testing.T) {
	s := openSite(t, &gateway.Options{PageBytes: 300, Profiles: map[string]gateway.Profile{"echo": {Tools: []string{"*echo", "*big"}}}})
	id := s.begin(t, "/mcp", "a", "2025-11-25")
	names := map[string]int{}
	cursor, pages := "", 0
	for {
		params := `{}`
		if cursor != "" {
			params = fmt.Sprintf(`{"cursor":%q}`, cursor)
		}
		m := s.wantCode(t, "page", shot{user: "a", session: id, body: callOf(2, "tools/list", params)}, 0)
		var tools []struct{ Name string }
		if err := json.Unmarshal([]byte(m.at("tools")), &tools); err != nil || len(tools) == 0 {
			t.Fatalf("got %s, want tools", m.Result)
		}
		for _, tool := range tools {
			names[tool.Name]++
		}
		pages++
		if next := m.at("nextCursor"); next != "" {
			cursor = next
			continue
		}
		break
	}
	if pages < 2 || len(names) != 5 {
		t.Errorf("got %d pages with %v, want some with 5 tools", pages, names)
	}
	other := s.begin(t, "/p/echo/mcp", "a", "2025-11-25")
	s.wantCode(t, "cursor of another view", shot{path: "/p/echo/mcp", user: "a", session: other, body: callOf(3, "tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor))}, -32602)
	addEmptyTool(s.server, "later")
	eventually(t, "the cursor is old", func() bool {
		return s.do(t, shot{user: "a", session: id, body: callOf(3, "tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor))}).message(t).Error != nil
	})
}

// A session is forgotten when it was idle for SessionIdle, and not while a stream of it is open.
func TestSessionIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, &gateway.Options{SessionIdle: 10 * time.Minute})
		idle, listens := s.begin(t, "/mcp", "", "2025-11-25"), s.begin(t, "/mcp", "", "2025-11-25")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var open []*http.Response
		for _, in := range []shot{{method: http.MethodGet, session: listens, header: events}, {method: http.MethodGet, header: events}} {
			resp := assert.Value(s.send(ctx, in))(t)
			open = append(open, resp)
		}
		sse := &listener{Response: open[1], cancel: cancel}
		endpoint := sse.first(t, "data: ")
		s.do(t, shot{path: endpoint, body: callOf(1, "initialize", `{}`)})
		var all sync.WaitGroup
		for _, resp := range open { // which have comments every 30 s
			all.Go(func() { drain(resp) })
		}
		time.Sleep(13 * time.Minute)
		for _, c := range []struct {
			what string
			in   shot
			want int
		}{{"idle", shot{session: idle}, 404}, {"listening", shot{session: listens}, 200}, {"SSE", shot{path: endpoint}, 202}} {
			c.in.body = callOf(9, "ping", `{}`)
			if r := s.do(t, c.in); r.status != c.want {
				t.Errorf("%s: got %d, want %d", c.what, r.status, c.want)
			}
		}
		cancel()
		all.Wait()
	})
}

// A caller that asked for progress hears something every Heartbeat; a question that is not answered within
// InputWait is one that the client did not answer; a call that takes AnswerWithin is answered.
func TestTimesOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, &gateway.Options{Heartbeat: time.Minute, InputWait: 3 * time.Minute})
		id := s.begin(t, "/mcp", "", "2025-11-25")
		began := time.Now()
		r := s.do(t, shot{session: id, body: callOf(2, "tools/call", `{"name":"one__ask","arguments":{},"_meta":{"progressToken":"p"}}`)})
		assert.Equal(t, time.Since(began), 3*time.Minute, "the end after")
		if got := strings.Count(r.body, "notifications/progress"); got != 2 && got != 3 { // the last may come with the end
			t.Errorf("got %d signs of life, want one a minute", got)
		}
		if m := r.message(t); !strings.Contains(string(m.Result), "did not answer") {
			t.Errorf("got %s, want that the client did not answer", m.Result)
		}
	})
}

// Progress of a call that was continued or awaited comes with the token of the request that waits.
func TestTokenOfTheRequestThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, &gateway.Options{AnswerWithin: 20 * time.Second, Heartbeat: 5 * time.Second})
		id := s.begin(t, "/mcp", "", "2025-11-25")
		call := func(n int, name, args, token string) *reply {
			return s.do(t, shot{session: id, body: callOf(n, "tools/call", `{"name":"`+name+`","arguments":`+args+`,"_meta":{"progressToken":"`+token+`"}}`)})
		}
		first := call(2, "one__wait", `{}`, "first")
		if !strings.Contains(first.body, `"progressToken":"first"`) {
			t.Errorf("got %s, want progress", cut(first.body))
		}
		second := call(3, "await_call", `{"id":"`+first.message(t).at("_meta", "mcpbelt/call")+`"}`, "second")
		if strings.Contains(second.body, `"progressToken":"first"`) || !strings.Contains(second.body, `"progressToken":"second"`) {
			t.Errorf("got %s, want progress for the second token alone", cut(second.body))
		}
	})
}
