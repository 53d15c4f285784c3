// Tests of events.go: answers as events, and clients that do not read them.

package gateway_test

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
