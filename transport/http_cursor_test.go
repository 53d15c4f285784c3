package transport_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// longestEventID is how long the id of an event may be to be sent back, in bytes.
const longestEventID = 4 << 10

// An answer is not resumed behind an event whose id is too long to be sent back,
// nor behind an earlier one.
func TestHTTPResumesByShortIDsOnly(t *testing.T) {
	for size, want := range map[int]int32{longestEventID: 1, longestEventID + 1: 0, 1 << 20: 0} {
		var resumes atomic.Int32
		var request atomic.Pointer[post]
		last := strings.Repeat("i", size)
		l := shake(t, &transport.HTTP{URL: listen(t, &script{
			call: func(p *post) {
				request.Store(&post{ID: p.ID})
				p.stream("id: e1\nretry: 1\ndata: \n\nid: " + last + "\ndata: \n\n")
			},
			get: func(w http.ResponseWriter, r *http.Request) {
				id := r.Header.Get("Last-Event-Id")
				if id == "" {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				resumes.Add(1)
				assert.Equal(t, id, last, "id of %d bytes: the id of %d bytes back", size, len(id))
				(&post{ResponseWriter: w, r: r}).stream(event(request.Load().fill(answer)))
			},
		})})
		_, err := ask(t, l)
		assert.Equal(t, resumes.Load(), want, "id of %d bytes: attempts to resume", size)
		if want == 0 {
			wantOutcome(t, err, mcp.Unknown)
		} else if err != nil {
			t.Errorf("id of %d bytes: got error %v, want none", size, err)
		}
	}
}

// The listening stream is opened again without an id that is too long.
func TestHTTPListeningStreamForgetsLongID(t *testing.T) {
	var gets atomic.Int32
	s := &script{get: func(w http.ResponseWriter, r *http.Request) {
		p := &post{ResponseWriter: w, r: r}
		if gets.Add(1) == 1 {
			p.stream("id: g1\nretry: 1\ndata: \n\nid: " + strings.Repeat("i", 1<<20) + "\n" + event(`{"jsonrpc":"2.0","method":"notifications/first"}`))
			return
		}
		if got := r.Header.Get("Last-Event-Id"); got != "" {
			t.Errorf("got an id of %d bytes back, want none", len(got))
		}
		p.stream(event(`{"jsonrpc":"2.0","method":"notifications/second"}`))
		p.hangs()
	}}
	l := shake(t, &transport.HTTP{URL: listen(t, s)})
	for _, want := range []string{"notifications/first", "notifications/tools/list_changed", "notifications/second"} {
		m := assert.Value(l.Read(bounded(t)))(t)
		if req, ok := m.(*jsonrpc.Request); !ok || req.Method != want {
			t.Fatalf("got %v, want %s", m, want)
		}
	}
}
