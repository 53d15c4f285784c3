package gateway

import (
	"net/http"
	"net/url"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// serveSSE serves the HTTP with SSE of revision 2024-11-05: all answers come on one stream, whose first
// event says where to post.
func (x *exchange) serveSSE() {
	s, failed := x.newSession(&peer{shown: x.shown, caller: x.caller, asked: x.asked}, stream.New(""))
	if failed != nil {
		writeText(x.w, http.StatusServiceUnavailable, failed.Message)
		return
	}
	reader, _ := s.posted.Attach(-1)
	defer x.gateway.endSession(s.id)
	defer s.posted.Detach(reader)
	e := x.events(s.posted, reader)
	e.text("event: endpoint\ndata: " + x.r.URL.EscapedPath() + "?sessionId=" + url.QueryEscape(s.id) + "\n\n")
	e.write(false)
	tick := time.NewTicker(commentEvery)
	defer tick.Stop()
	drains := x.gateway.drains
	for !e.drain() {
		select {
		case <-s.posted.Ready:
		case <-tick.C:
			if !x.stillAllowed() {
				return
			}
			e.comment()
		case <-x.r.Context().Done():
			return
		case <-drains: // no further request comes
			drains = nil
			x.gateway.spawn(func() { s.calls.Wait(); s.posted.End() })
		}
	}
}

// postSSE takes a message of a client whose answers come on one stream.
func (x *exchange) postSSE(s *clientSession, m *jsonscan.Message) {
	request := m.ID != nil && !m.IsResponse()
	if request && s.posted.IsFull(x.gateway.maxWaiting) {
		x.w.Header().Set("Retry-After", "1")
		x.fail(http.StatusServiceUnavailable, m.ID, message.Failure(message.CodeBusy, "the client has to read the answers that wait for it"))
		return
	}
	begun := s.peer.revision != ""
	switch {
	case m.IsResponse():
		s.answered(m)
	case !request:
		s.noted(m)
	case m.Method == protocol.Initialize && !begun:
		x.beginSSE(s, m)
	case m.Method == protocol.Initialize:
		s.posted.Answer(message.Response(m.ID, nil, message.Failure(message.CodeInvalidRequest, "the session has begun")))
	case !begun:
		s.posted.Answer(message.Response(m.ID, nil, message.Failure(message.CodeInvalidRequest, "begin with initialize")))
	default:
		x.handleSSE(s, m)
	}
	x.w.WriteHeader(http.StatusAccepted)
}

// beginSSE puts a session in the place of the one that waited for an initialize request.
func (x *exchange) beginSSE(waited *clientSession, m *jsonscan.Message) {
	p := x.newPeer(x.caller, m.Params).from(x.r)
	p.choose(waited.peer.asked)
	s := newSession(waited.id, p)
	s.posted, s.calls = waited.posted, waited.calls
	g := x.gateway
	g.mu.Lock()
	ok := g.sessions[s.id] == waited // else it has ended, or has begun
	if ok {
		g.sessions[s.id] = s
	}
	g.mu.Unlock()
	if !ok {
		s.cancel()
		return
	}
	waited.cancel()
	s.posted.Answer(message.Response(m.ID, x.initializeResult(s.peer.revision), nil))
}

// handleSSE answers a request, which Shutdown waits for.
func (x *exchange) handleSSE(s *clientSession, m *jsonscan.Message) {
	g := x.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining {
		s.posted.Answer(message.Response(m.ID, nil, message.Failure(message.CodeBusy, "the gateway is shutting down")))
		return
	}
	s.calls.Add(1)
	g.work.Go(func() {
		defer s.calls.Done()
		s.handle(g.ctx, x.peerOf(s), m, s.posted)
	})
}
