// Tests of events.go: answers as events, and clients that do not read them.

package gateway_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// From revision 2025-11-25 on a short answer is an event, a longer one JSON, and one that a client may lose in the middle an
// event if it can be resumed. It has a length if nothing was said before.
func TestFormOfAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		for _, c := range []struct {
			revision string
			size     int
			want     string
		}{
			{"2025-03-26", 100_000, "application/json"}, {mcp.Revision20251125, 300_000, "text/event-stream"},
			{mcp.Revision20251125, 100_000, "application/json"},
			{mcp.Revision20251125, 1000, "text/event-stream"}, {mcp.Revision20260728, 1000, "text/event-stream"}, {mcp.Revision20260728, 100_000, "application/json"},
		} {
			r := s.do(t, s.connect(t, &client{revision: c.revision}).query("tools/call", toolParams("one__big", fmt.Sprintf(`{"n":%d}`, c.size))))
			assert.Equal(t, r.header.Get("Content-Type"), c.want, "%v: the type", c)
			assert.Equal(t, r.header.Get("Content-Length"), strconv.Itoa(len(r.body)), "%v: the length", c)
			assert.Equal(t, len(r.message(t).text()), c.size, "%v: bytes of text", c)
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

// A stream on which nothing happens stays open.
func TestIdleStream(t *testing.T) {
	//report: Gateway | agentgateway/agentgateway#3393, langfuse/langfuse#15100, scrypster/muninndb#332, IBM/mcp-context-forge#689 | what stands between client and gateway closes a stream on which nothing is sent for a minute, and clients take a sign of life in an event for a message | every 30 s there is a comment, which is no event
	synctest.Test(t, func(t *testing.T) {
		s := openInMemory(t, nil)
		for _, revision := range both {
			l := s.connect(t, &client{revision: revision}).listen(t)
			begun, lines := time.Now(), 0
			for lines == 0 && l.scanner.Scan() {
				if line := l.scanner.Text(); strings.HasPrefix(line, ":") {
					lines++
				} else if strings.HasPrefix(line, "event: ") || strings.HasPrefix(line, "data: {") {
					t.Errorf("%s: got the line %q, want comments alone", revision, line)
				}
			}
			assert.Equal(t, lines, 1, "%s: comments", revision)
			assert.True(t, time.Since(begun) <= 30*time.Second, "%s: the comment came after %v of virtual time", revision, time.Since(begun))
			l.close()
		}
	})
}

// A stream is resumed by its own session alone.
func TestStreamOfAnother(t *testing.T) {
	s := openSite(t, nil)
	mine := s.connect(t, &client{})
	l := s.listen(t, mine.query("tools/call", toolParams("one__big", `{"n":300000}`)))
	event := l.next("id")
	for _, other := range []*client{{user: "a"}, {user: "b"}} {
		s.wantStatus(t, http.StatusNotFound, s.connect(t, other).get().with("Last-Event-ID", event), "another session of %s", other.user)
	}
	said := l.message(t).text()
	assert.Equal(t, len(said), 300_000, "bytes of text")
	// Behind the event that has no message there is all that was sent.
	assert.Equal(t, s.do(t, mine.get().with("Last-Event-ID", event)).message(t).text(), said, "resumed")
}
