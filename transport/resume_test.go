package transport_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
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
	assert.Value(ask(t, l))(t)
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
	if session.Kept() {
		t.Error("got a kept session although it is in use")
	}
	assert.Equal(t, l.SessionID(), sessionID, "the session")
	if _, err := ask(t, l); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil { // and ends its session, for nobody has said Keep
		t.Error(err)
	}
	if got := len(s.requests(http.MethodPost)); got != 4 { // initialize, initialized, and a request each
		t.Errorf("got %d posts, want 4", got)
	}
	assert.Equal(t, len(s.requests(http.MethodDelete)), 1, "sessions ended")
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
	s := &script{call: func(p *post) { p.json(200, answer) }}
	url := listen(t, s)
	field := func(value string) http.Header { return http.Header{"Authorization": {value}} }
	var session transport.Session
	l := shakenAgain(t, &transport.HTTP{URL: url, Header: field("Bearer a")}, &transport.HTTP{URL: url, Header: field("Bearer b")}, &session)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if got := len(s.requests(http.MethodPost)); got != 5 { // two handshakes, and a request
		t.Errorf("got %d posts, want 5", got)
	}
	var ended []string
	for _, r := range s.requests(http.MethodDelete) {
		ended = append(ended, r.Header.Get("Authorization"))
	}
	slices.Sort(ended)
	if want := []string{"Bearer a", "Bearer b"}; !slices.Equal(ended, want) {
		t.Errorf("got sessions ended with %q, want %q", ended, want)
	}
}

// A session that nobody goes on with is ended once.
func TestKeptSessionIsEnded(t *testing.T) {
	s := &script{call: func(p *post) { p.json(200, answer) }}
	var session transport.Session
	l := shake(t, &transport.HTTP{URL: listen(t, s), Session: &session})
	session.Keep()
	assert.OK(t, l.Close())
	if !session.Kept() {
		t.Error("got no kept session")
	}
	assert.Equal(t, len(s.requests(http.MethodDelete)), 0, "sessions ended before End")
	session.End()
	session.End()
	assert.Equal(t, len(s.requests(http.MethodDelete)), 1, "sessions ended")
}

// A server that does not know the session any more says so to the first request, which was
// not carried out; the connection after that has a session of its own.
func TestResumedSessionIsUnknown(t *testing.T) {
	var mu sync.Mutex
	forgets := false
	s := &script{call: func(p *post) {
		mu.Lock()
		defer mu.Unlock()
		if forgets {
			p.WriteHeader(http.StatusNotFound)
			return
		}
		p.json(200, answer)
	}}
	url := listen(t, s)
	var session transport.Session
	recipe := &transport.HTTP{URL: url}
	l := shakenAgain(t, &transport.HTTP{URL: url}, recipe, &session)
	mu.Lock()
	forgets = true
	mu.Unlock()
	_, err := ask(t, l)
	if !errors.Is(err, mcp.ErrSessionLost) {
		t.Errorf("got %v, want ErrSessionLost", err)
	}
	wantOutcome(t, err, mcp.NotSent)
	session.Keep()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if session.Kept() {
		t.Error("got a kept session, want none: it is lost")
	}
	before := len(s.requests(http.MethodPost))
	_ = shake(t, recipe).Close()
	assert.Equal(t, len(s.requests(http.MethodPost))-before, 2, "posts of the handshake")
}

// A session whose revision is another one than the client now wants is not gone on with.
func TestSessionIsOfOneHandshake(t *testing.T) {
	s := &script{call: func(p *post) { p.json(200, answer) }}
	url := listen(t, s)
	var session transport.Session
	l := shake(t, &transport.HTTP{URL: url, Session: &session})
	session.Keep()
	assert.OK(t, l.Close())
	l = dial(t, &transport.HTTP{URL: url, Session: &session})
	params := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`
	if _, err := l.Call(bounded(t), "initialize", json.RawMessage(params), nil); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	assert.Equal(t, len(s.requests(http.MethodPost)), 3, "posts")
	assert.Equal(t, len(s.requests(http.MethodDelete)), 2, "sessions ended")
}
