package transport_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// shakenAgain makes two connections one after the other with one Session, of which the
// first is told to keep it, and returns the second.
func shakenAgain(t *testing.T, first, second *transport.HTTP, session *transport.Session) mcp.Caller {
	t.Helper()
	first.Session, second.Session = session, session
	l := shake(t, first)
	wantResult(t, l, okResult)
	session.Keep()
	assert.OK(t, l.Close())
	return shake(t, second)
}

// A connection goes on with the session of the one before it: it sends nothing in the
// handshake, and its requests have numbers that were not used before.
func TestSessionIsResumed(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	s := &script{call: func(p *post) {
		mu.Lock()
		ids = append(ids, string(p.ID))
		mu.Unlock()
		p.json(200, answer)
	}}
	url := listen(t, s)
	var session transport.Session
	l := shakenAgain(t, &transport.HTTP{URL: url}, &transport.HTTP{URL: url}, &session)
	assert.False(t, session.Kept(), "kept while it is in use")
	assert.Equal(t, l.SessionID(), sessionID, "the session")
	wantResult(t, l, okResult)
	assert.OK(t, l.Close())    // and ends its session, for nobody has said Keep
	s.wantRequests(t, 4, 2, 1) // initialize, initialized, and a request each
	for _, r := range s.requests(http.MethodPost)[1:] {
		assert.Equal(t, r.Header.Get("Mcp-Session-Id"), sessionID, "a post of session")
		assert.Equal(t, r.Header.Get("Mcp-Protocol-Version"), "2025-11-25", "a post of revision")
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(ids)
	assert.Equal(t, len(slices.Compact(ids)), 2, "different ids of 2 requests")
}

// A session is ended, and not gone on with, by a connection with other fields.
func TestSessionIsOfOneLogin(t *testing.T) {
	s := &script{}
	url := listen(t, s)
	field := func(value string) http.Header { return http.Header{"Authorization": {value}} }
	var session transport.Session
	l := shakenAgain(t, &transport.HTTP{URL: url, Header: field("Bearer a")}, &transport.HTTP{URL: url, Header: field("Bearer b")}, &session)
	assert.OK(t, l.Close())
	assert.Equal(t, len(s.requests(http.MethodPost)), 5, "posts of two handshakes and a request")
	var ended []string
	for _, r := range s.requests(http.MethodDelete) {
		ended = append(ended, r.Header.Get("Authorization"))
	}
	slices.Sort(ended)
	assert.Equal(t, strings.Join(ended, ", "), "Bearer a, Bearer b", "sessions ended with")
}

// A session that nobody goes on with is ended once.
func TestKeptSessionIsEnded(t *testing.T) {
	s := &script{}
	var session transport.Session
	l := shake(t, &transport.HTTP{URL: listen(t, s), Session: &session})
	session.Keep()
	assert.OK(t, l.Close())
	assert.True(t, session.Kept(), "kept")
	assert.Equal(t, len(s.requests(http.MethodDelete)), 0, "sessions ended before End")
	session.End()
	session.End()
	assert.Equal(t, len(s.requests(http.MethodDelete)), 1, "sessions ended")
}

// A server that does not know the session any more says so to the first request, which was
// not carried out; the connection after that has a session of its own.
func TestResumedSessionIsUnknown(t *testing.T) {
	var forgets atomic.Bool
	s := &script{call: func(p *post) {
		if forgets.Load() {
			p.WriteHeader(http.StatusNotFound)
			return
		}
		p.json(200, answer)
	}}
	url := listen(t, s)
	var session transport.Session
	recipe := &transport.HTTP{URL: url}
	l := shakenAgain(t, &transport.HTTP{URL: url}, recipe, &session)
	forgets.Store(true)
	assert.Is(t, wantFailure(t, l, mcp.NotSent), mcp.ErrSessionLost)
	session.Keep()
	assert.OK(t, l.Close())
	assert.False(t, session.Kept(), "kept although it is lost")
	before := len(s.requests(http.MethodPost))
	_ = shake(t, recipe).Close()
	assert.Equal(t, len(s.requests(http.MethodPost))-before, 2, "posts of the handshake")
}

// A session whose revision is another one than the client now wants is not gone on with.
func TestSessionIsOfOneHandshake(t *testing.T) {
	s := &script{}
	url := listen(t, s)
	var session transport.Session
	l := shake(t, &transport.HTTP{URL: url, Session: &session})
	session.Keep()
	assert.OK(t, l.Close())
	l = dial(t, &transport.HTTP{URL: url, Session: &session})
	params := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`
	assert.Value(l.Call(bounded(t), "initialize", json.RawMessage(params), nil))(t)
	assert.OK(t, l.Close())
	assert.Equal(t, len(s.requests(http.MethodPost)), 3, "posts")
	assert.Equal(t, len(s.requests(http.MethodDelete)), 2, "sessions ended")
}
