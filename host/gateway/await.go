package gateway

import (
	"context"
	"net/http"
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

const (
	// shortEvent is how large an answer is at most for which an event costs nothing: long ones take clients, which look for the
	// ends of lines, twice the time of JSON.
	shortEvent = 16 << 10
	// atOnce is how large an answer is at most that is on its way as soon as it is written: there is hardly a moment in which a
	// client could lose the rest of it.
	atOnce = 256 << 10
)

// wait waits until a request can be answered: because its job has ended, or needs input, or takes too long. It
// returns the answer and its HTTP status, or 0 if the request was withdrawn. What the request says before that e writes; nil:
// another goroutine does. Gone is closed when the client's connection has ended.
func (r *request) wait(j *job, e *eventWriter, gone <-chan struct{}) (answer message.Message, status int) {
	var ready, withdrawn <-chan struct{}
	if r.under != nil {
		defer r.peer.requests.leave(r.id)
		withdrawn = r.under.ctx.Done()
	}
	if j.isDone() {
		if r.under != nil && r.under.ctx.Err() != nil && r.method != protocol.Listen {
			return message.Message{}, 0
		}
		return r.outcome(j)
	}
	var late, opens <-chan time.Time // nil: never
	if e != nil {
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
				e.drain()
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
			e.drain()
		case now := <-beat.C:
			beat.Reset(j.beat(now, r.gateway.limits.Heartbeat))
		case <-gone:
			if gone = nil; r.peer.modern() {
				r.leave(j)
				return message.Message{}, 0
			}
			if e != nil {
				r.out.Detach(e.reader) // the client may resume the stream
			}
			r.peer.requests.leftAlone(r.under)
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
// by a stream. In the revisions from 2025-11-25 on short answers are events, and those that the client may lose in the middle, if
// it can resume the stream then.
func (x *exchange) await(r *request) {
	var e *eventWriter // nil: the client takes no stream
	if x.accepts(typeEvents) {
		reader, _ := r.out.Attach(-1)
		defer r.out.Detach(reader)
		e = &eventWriter{exchange: x, out: r.out, reader: reader, request: r}
	}
	j := r.serve(x.r.Context())
	answer, status := r.wait(j, e, x.r.Context().Done())
	resumable := r.out.ID != "" && answer.Size() > atOnce
	isEvent := protocol.RevisionOf(r.peer.revision).ShortEvents && j.isDone() && j.err == nil && (answer.Size() <= shortEvent || resumable)
	switch {
	case status == 0 && e != nil:
		e.drain() // a response without an answer
		r.out.End()
	case status == 0:
		x.w.WriteHeader(http.StatusAccepted)
	case e != nil && (e.opened || r.out.State().HasMore || isEvent):
		r.out.Answer(answer)
		r.out.End()
		if s := r.peer.session; s != nil && e.opened { // else drain does that
			s.keep(r.out)
		}
		e.drain()
	default:
		x.json(status, answer)
	}
}

// respond answers a request into its stream, on a goroutine of work, unless it is withdrawn.
func (r *request) respond(ctx context.Context, work *sync.WaitGroup) {
	if failed := r.enter(); failed != nil {
		r.out.Answer(message.Response(r.id, nil, failed))
		return
	}
	work.Go(func() {
		if answer, status := r.wait(r.serve(ctx), nil, ctx.Done()); status != 0 {
			r.out.Answer(answer)
		}
	})
}

// respond answers requests by one stream, which ends then.
func (x *exchange) respond(out *stream.Stream, requests ...*request) {
	if !x.gateway.spawn(func() {
		var work sync.WaitGroup
		for _, r := range requests {
			r.respond(x.r.Context(), &work)
		}
		work.Wait()
		out.End()
		if s := requests[0].peer.session; s != nil {
			s.keep(out)
		}
	}) {
		out.End()
	}
	x.stream(out, -1)
}

// batch serves a batch of messages, which revision 2025-03-26 has.
func (x *exchange) batch(body []byte) {
	s := x.session()
	if s == nil {
		return
	}
	if !protocol.RevisionOf(s.peer.revision).Batches {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "revision %s has no batches", s.peer.revision))
		return
	}
	if err := jsonscan.Valid(body); err != nil {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeParse, "the batch cannot be read: %v", err))
		return
	}
	var all []*jsonscan.Message
	for item := range jsonscan.Elements(body) {
		if item[0] != '{' || len(all) == maxBatch {
			all = nil
			break
		}
		m, ok := x.scan(item)
		if !ok {
			return
		}
		all = append(all, &m)
	}
	if all == nil {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "a batch is an array of 1 to %d messages", maxBatch))
		return
	}
	out, p := stream.New(newID()), x.peerOf(s)
	var requests []*request
	for _, m := range all {
		if !s.took(m) {
			requests = append(requests, p.newRequest(m, message.ParamsOf(m.Params), out))
		}
	}
	if requests == nil {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	s.keep(out) // the client may resume it
	x.respond(out, requests...)
}
