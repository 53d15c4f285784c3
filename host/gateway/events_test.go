// Tests of events.go and sse.go: answers as events, and clients that do not read them.

package gateway_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An answer is an event from revision 2025-11-25 on, and has a length if nothing was said before.
func TestFormOfAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		for revision, want := range map[string]string{
			"2025-03-26": "application/json", mcp.Revision20251125: "text/event-stream", mcp.Revision20260728: "text/event-stream",
		} {
			c := s.connect(t, &client{revision: revision})
			r := s.do(t, c.query("tools/call", toolParams("one__big", `{"n":100000}`)))
			assert.Equal(t, r.header.Get("Content-Type"), want, "%s: the type", revision)
			assert.Equal(t, r.header.Get("Content-Length"), strconv.Itoa(len(r.body)), "%s: the length", revision)
			assert.Equal(t, len(r.message(t).text()), 100_000, "%s: bytes of text", revision)
		}
	})
}

// A client that does not read its stream holds up no other, nor the server whose notifications it does not read.
func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		unread := s.connect(t, &client{revision: "2025-06-18"})
		l := s.listen(t, unread.query("tools/call", toolParams("one__flood", `{"n":1500}`)+`,"_meta":{"progressToken":"p"}`)) // more than may wait
		other := s.connect(t, &client{user: "b"})
		for range 50 {
			other.wantText(t, "one__echo", `{"text":"x"}`, "x")
		}
		synctest.Wait()
		assert.Equal(t, s.server.flooded.Load(), 1, "floods that have ended")
		l.close()
	})
}

// A stream is resumed by its own session alone.
func TestStreamOfAnother(t *testing.T) {
	s := openSite(t, nil)
	mine := s.connect(t, &client{})
	l := s.listen(t, mine.query("tools/call", toolParams("one__echo", `{"text":"hello"}`)))
	event := l.next("id")
	for _, other := range []*client{{user: "a"}, {user: "b"}} {
		s.wantStatus(t, http.StatusNotFound, s.connect(t, other).get().with("Last-Event-ID", event), "another session of %s", other.user)
	}
	assert.Contains(t, string(l.message(t).Result), "hello")
	// Behind the event that has no message there is all that was sent.
	assert.Contains(t, s.do(t, mine.get().with("Last-Event-ID", event)).message(t).text(), "hello", "resumed")
}

// A client of HTTP with SSE that does not read is refused further requests, not given more memory.
func TestSSEThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		s.gateway.SetMaxWaiting(16_000)
		l := s.listen(t, query{method: http.MethodGet, header: acceptEvents})
		endpoint := l.next("data")
		post := func(body string) int { return s.do(t, query{path: endpoint, body: body}).status }
		post(callOf(1, "initialize", `{"protocolVersion":"2024-11-05","capabilities":{}}`))
		taken := 0
		for post(callOf(10+taken, "tools/call", "{"+toolParams("one__big", `{"n":6000}`)+"}")) == http.StatusAccepted && taken < 10 {
			taken++
			synctest.Wait() // the answer has come
		}
		assert.Equal(t, taken, 3, "requests taken, whose answers have 18,000 bytes")
		assert.Equal(t, string(l.message(t).ID), "1", "the first answer, when it reads")
	})
}

// What is said on a connection of HTTP with SSE: it begins once, hears of changes, and finishes what is
// under way when the gateway is shut down.
func TestSSE(t *testing.T) {
	s := openSite(t, nil)
	l := s.listen(t, query{method: http.MethodGet, user: "a", header: acceptEvents})
	endpoint := l.next("data")
	post := func(method, params string) {
		t.Helper()
		s.wantStatus(t, http.StatusAccepted, query{path: endpoint, user: "a", body: callOf(1, method, params)})
	}
	s.wantStatus(t, http.StatusNotFound, query{path: endpoint, user: "b", body: callOf(1, "ping", "{}")}, "another user")
	post("tools/list", `{}`)
	assert.Equal(t, l.message(t).code(), -32600, "before initialize")
	post("initialize", `{"protocolVersion":"2024-11-05","capabilities":{"elicitation":{}}}`)
	assert.Equal(t, l.message(t).at("protocolVersion"), "2024-11-05")
	post("initialize", `{"protocolVersion":"2024-11-05","capabilities":{}}`)
	assert.Equal(t, l.message(t).code(), -32600, "initialize twice")
	addTool(s.server.Server, "later", nil)
	assert.Equal(t, l.message(t).Method, "notifications/tools/list_changed")
	post("tools/call", "{"+toolParams("one__ask", `{}`)+"}")
	assert.Equal(t, l.message(t).Method, "elicitation/create")
	shut := make(chan error, 1)
	go func() { shut <- s.gateway.Shutdown(hosttest.Watchdog(t)) }()
	hosttest.Eventually(t, "the gateway shuts down", func() bool {
		return s.do(t, query{method: http.MethodGet, user: "a", path: "/readyz"}).status == http.StatusServiceUnavailable
	})
	select {
	case err := <-shut:
		t.Fatalf("got %v, want Shutdown to wait for the call", err)
	default:
	}
	assert.Equal(t, s.gateway.Close(), nil) // a POST is refused now, so that the call ends by its cancellation alone
	<-shut
}
