package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// serveSSE serves the HTTP with SSE of revision 2024-11-05: all answers come on one stream, whose first
// event says where to post.
func (x *exchange) serveSSE() {
	s, failed := x.newSession(json.RawMessage(`{"protocolVersion":"2024-11-05"}`))
	if failed != nil {
		writeText(x.w, http.StatusServiceUnavailable, failed.Message)
		return
	}
	defer func() {
		x.gateway.mu.Lock()
		delete(x.gateway.sessions, s.id)
		x.gateway.mu.Unlock()
		s.end()
	}()
	s.posted = newStream("")
	reader, _ := s.posted.attach(-1)
	e := x.events(s.posted, reader)
	if e == nil {
		return
	}
	defer e.close()
	e.buf = append(e.buf, "event: endpoint\ndata: "+x.r.URL.EscapedPath()+"?sessionId="+url.QueryEscape(s.id)+"\n\n"...)
	e.write()
	tick := time.NewTicker(commentEvery)
	defer tick.Stop()
	for !e.drain() {
		select {
		case <-s.posted.ready:
		case <-tick.C:
			e.comment()
		case <-x.r.Context().Done():
			return
		case <-x.gateway.drains:
			return
		}
	}
}

// postSSE takes a message of a client whose answers come on one stream.
func (x *exchange) postSSE(s *clientSession, m *jsonscan.Message) {
	x.w.WriteHeader(http.StatusAccepted)
	switch {
	case m.IsResponse():
		s.answered(m)
	case m.ID == nil:
		s.noted(m)
	case m.Method == "initialize":
		s.mu.Lock()
		p := x.view.newPeer(x.user, m.Params)
		p.session = s
		s.peer = p
		s.mu.Unlock()
		s.posted.put(response(m.ID, x.view.initialize(p.revision), nil), false)
	default:
		x.gateway.work.Go(func() { s.handle(x.gateway.ctx, m, s.posted) })
	}
}
