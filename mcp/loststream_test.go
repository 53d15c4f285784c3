package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// What can become of the stream of an answer in revision 2026-07-28, where none
// can be resumed. It has begun, and the events may have ids.
var streamEnds = map[string]func(*visit){
	"ends": func(v *visit) { v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}`) },
	"cut": func(v *visit) {
		v.stream(`{"jsonrpc":"2.0","method":"notifications/x"}` + "\nid: event-1")
		panic(http.ErrAbortHandler)
	},
	"cut in the answer": func(v *visit) {
		v.ResponseWriter.Header().Set("Content-Length", "500")
		v.reply(200, `"result":{}`)
	},
	"no response": func(*visit) { panic(http.ErrAbortHandler) },
}

// A request whose stream is lost is issued anew, once, on the same connection
// and with another id, if it does no harm twice; else its outcome is unknown.
func TestLostStream(t *testing.T) {
	for name, end := range streamEnds {
		t.Run(name, func(t *testing.T) {
			var s *site
			firstThen := func(method string, then func(*visit)) func(*visit) {
				return func(v *visit) {
					if len(s.of(method)) == 1 {
						end(v)
					} else {
						then(v)
					}
				}
			}
			s = newSite(t, mcp.Revision20260728, map[string]func(*visit){
				"tools/list": firstThen("tools/list", result(strings.Replace(toolPages, "{", `{"resultType":"complete",`, 1))),
				"tools/call": firstThen("tools/call", result(`{"resultType":"complete","content":[]}`)),
			})
			for _, trust := range []bool{false, true} {
				s.mu.Lock()
				s.visits = nil
				s.mu.Unlock()
				c := newClient(t, &s.HTTP, &mcp.ClientOptions{TrustAnnotations: trust})
				wantTools(t, c, "plain reads sets")
				wantReissued(t, s, "tools/list", 2)
				_, err := call(t, c, "reads")
				if trust {
					assert.OK(t, err, "a harmless call")
					wantReissued(t, s, "tools/call", 2)
				} else {
					wantOutcome(t, err, mcp.Unknown)
					assert.Is(t, err, mcp.ErrAnswerLost)
					wantReissued(t, s, "tools/call", 1)
				}
				if n := c.State().Connections; n != 1 || len(s.of("GET")) > 0 {
					t.Errorf("%d connections, %d streams opened by GET", n, len(s.of("GET")))
				}
			}
		})
	}
}

// wantReissued fails the test unless a request was made n times, each with an id
// of its own, with the same params but for the token of progress, and as if there
// had been no other.
func wantReissued(t *testing.T, s *site, method string, n int) {
	t.Helper()
	ids := map[string]bool{}
	visits := s.of(method)
	for _, v := range visits {
		ids[string(v.ID)] = true
		assert.Equal(t, v.Header.Get("Last-Event-Id"), "", "%s: Last-Event-Id", method)
		var first, again struct{ Name, Cursor string }
		assert.OK(t, json.Unmarshal(visits[0].Params, &first), "%s", method)
		assert.OK(t, json.Unmarshal(v.Params, &again), "%s", method)
		assert.Equal(t, first, again, "%s: first", method)
	}
	assert.Equal(t, [...]any{len(visits), len(ids)}, [...]any{n, n})
}

// It is issued anew only once.
func TestLostAgain(t *testing.T) {
	s := newSite(t, mcp.Revision20260728, map[string]func(*visit){"tools/list": streamEnds["ends"]})
	c := newClient(t, &s.HTTP, nil)
	wantOutcome(t, errOf(c.Tools(t.Context())), mcp.Unknown)
	wantReissued(t, s, "tools/list", 2)
}
