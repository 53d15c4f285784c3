package gateway

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// openAfter is after what time of silence the answer to a request becomes a stream, which a client
// with a session can resume.
const openAfter = 5 * time.Second

// An outlet is how a request says something before it is answered. The zero outlet belongs to a client whose
// messages another goroutine writes.
type outlet struct {
	write func()          // writes what the stream of the request has, on a stream that it opens if need be; nil: it cannot
	gone  <-chan struct{} // closed when the client's connection has ended
	lost  func()          // says that the client may resume the stream
}

// wait waits until a request can be answered: because its job has ended, or needs input, or takes too long. It
// returns the answer and its HTTP status, or 0 if the request was withdrawn.
func (r *request) wait(j *job, o outlet) (answer message.Message, status int) {
	var ready, withdrawn <-chan struct{}
	if r.under != nil {
		withdrawn = r.under.ctx.Done()
	}
	if j.isDone() {
		if r.under != nil && r.under.ctx.Err() != nil {
			return message.Message{}, 0
		}
		return r.outcome(j)
	}
	var late, opens <-chan time.Time // nil: never
	if o.write != nil {
		ready = r.out.Ready
		if !r.peer.modern() {
			opens = time.After(openAfter)
		}
	}
	if within := r.peer.answerWithin(); within > 0 && r.method == protocol.CallTool {
		late = time.After(within)
	}
	beat := time.NewTimer(r.gateway.limits.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ready:
			if r.out.State().HasMore {
				o.write()
			}
		case <-j.asked:
			if !r.peer.modern() {
				continue
			}
			need := j.needsInput()
			switch {
			case need == nil:
			case r.gateway.park(j):
				return message.Response(r.id, need, nil), http.StatusOK
			default:
				j.cancel()
				return message.Response(r.id, nil, message.Failure(message.CodeBusy, "too many calls wait for input")), http.StatusServiceUnavailable
			}
		case <-late:
			if r.gateway.park(j) {
				j.detach(r.out)
				return message.Response(r.id, j.stillRuns(), nil), http.StatusOK
			}
		case <-opens:
			o.write()
		case now := <-beat.C:
			rest := r.gateway.limits.Heartbeat
			if p := j.reporter(); p != nil {
				rest = p.beat(now)
			}
			beat.Reset(rest)
		case <-o.gone:
			if o.gone = nil; r.peer.modern() {
				r.leave(j)
				return message.Message{}, 0
			}
			o.lost()
		case <-withdrawn:
			r.leave(j)
			return message.Message{}, 0
		case <-j.done:
			return r.outcome(j)
		}
	}
}

// leave ends a job that its request waits for no more.
func (r *request) leave(j *job) {
	j.cancel()
	r.gateway.unpark(j)
}

// outcome returns the answer to a request whose job has ended, and its HTTP status.
func (r *request) outcome(j *job) (answer message.Message, status int) {
	r.gateway.unpark(j)
	status = http.StatusOK
	if j.err != nil && r.peer.modern() {
		status = statusOf(j.err)
	}
	return message.Response(r.id, j.result, j.err), status
}

// await answers an HTTP request when its job has ended: by JSON or, if there is something to say before,
// by a stream. In the revisions from 2025-11-25 on results are streams, which a client with a session can resume.
func (x *exchange) await(r *request) {
	var e *eventWriter // nil: the client takes no stream
	if x.accepts(typeEvents) {
		e, _ = x.events(r.out, -1)
		defer r.out.Detach(e.reader)
	}
	j := r.serve(x.r.Context())
	o := outlet{gone: x.r.Context().Done(), lost: func() {
		if e != nil {
			r.out.Detach(e.reader)
		}
		r.peer.session.leftAlone(r.under)
	}}
	if e != nil {
		o.write = func() {
			e.open(r)
			e.drain()
		}
	}
	answer, status := r.wait(j, o)
	switch {
	case status == 0 && e != nil:
		o.write() // a response without an answer
		r.out.End()
	case status == 0:
		x.w.WriteHeader(http.StatusAccepted)
	case e != nil && (e.opened || r.out.State().HasMore || r.peer.revision >= newestSession && j.isDone() && j.err == nil):
		e.open(r)
		r.out.Answer(answer)
		r.out.End()
		e.drain()
		if s := r.peer.session; s != nil {
			s.keep(r.out)
		}
	default:
		x.json(status, answer)
	}
}

// handle answers a request of p, the client of the session, whose answer goes into a stream, as all messages of a connection do.
func (s *clientSession) handle(ctx context.Context, p *peer, m *jsonscan.Message, out *stream.Stream) {
	under, failed := s.enter(m.ID)
	if failed != nil {
		out.Answer(message.Response(m.ID, nil, failed))
		return
	}
	defer s.leave(m.ID)
	defer context.AfterFunc(ctx, func() { s.leftAlone(under) })()
	r := p.newRequest(m, out)
	r.under = under
	r.respond(ctx)
}

// respond answers a request into its stream, unless it is withdrawn.
func (r *request) respond(ctx context.Context) {
	if answer, status := r.wait(r.serve(ctx), outlet{}); status != 0 {
		r.out.Answer(answer)
	}
}

// batch serves a batch of messages, which revision 2025-03-26 has.
func (x *exchange) batch(body []byte) {
	s := x.session()
	if s == nil {
		return
	}
	if s.peer.revision != protocol.Revision20250326 {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "revision %s has no batches", s.peer.revision))
		return
	}
	if err := jsonscan.Valid(body); err != nil {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeParse, "the batch cannot be read: %v", err))
		return
	}
	var requests []*jsonscan.Message
	for item := range jsonscan.Elements(body) {
		m, err := jsonscan.Scan(item)
		if err != nil || len(requests) == maxBatch {
			x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "a batch is an array of at most %d messages", maxBatch))
			return
		}
		if failed := message.Check(&m); failed != nil {
			x.fail(http.StatusBadRequest, message.ValidOr(m.ID), failed)
			return
		}
		requests = append(requests, &m)
	}
	if requests == nil {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "the batch is empty"))
		return
	}
	requests = slices.DeleteFunc(requests, func(m *jsonscan.Message) bool {
		switch {
		case m.IsResponse():
			s.answered(m)
		case m.ID == nil:
			s.noted(m)
		default:
			return false
		}
		return true
	})
	if len(requests) == 0 {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	out, p := stream.New(newID()), x.peerOf(s)
	s.keep(out)
	if !x.gateway.spawn(func() {
		var work sync.WaitGroup
		for _, m := range requests {
			work.Go(func() { s.handle(x.r.Context(), p, m, out) })
		}
		work.Wait()
		out.End()
		s.keep(out)
	}) {
		out.End()
	}
	x.stream(out, -1) // which the client may resume
}
