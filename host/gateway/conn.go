package gateway

import (
	"context"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// handle answers a request whose answer goes into a stream, as all messages of a connection do.
func (s *clientSession) handle(ctx context.Context, m *jsonscan.Message, out *stream) {
	under, failed := s.enter(m.ID)
	if failed != nil {
		out.put(response(m.ID, nil, failed), false)
		return
	}
	defer s.leave(m.ID, under)
	defer context.AfterFunc(ctx, func() { s.leftAlone(under) })()
	s.peer.newRequest(m, out).respond(ctx, under.withdrawn)
}

// respond answers a request into its stream, unless it is withdrawn.
func (r *request) respond(ctx context.Context, withdrawn <-chan struct{}) {
	j, result, failed := r.serve(ctx)
	if j == nil {
		r.out.put(response(r.id, result, failed), false)
		return
	}
	c := r.clock(j, false)
	defer c.timer.Stop()
	for {
		select {
		case <-j.asked:
			if !r.peer.modern() {
				continue
			}
			if need := j.needsInput(); need != nil {
				if !r.gateway.park(j, 0) {
					j.cancel()
					r.out.put(response(r.id, nil, failure(codeBusy, "too many calls wait for input")), false)
					return
				}
				r.out.put(response(r.id, need, nil), false)
				return
			}
		case now := <-c.timer.C:
			if !c.limit.IsZero() && !now.Before(c.limit) {
				if c.limit = (time.Time{}); r.gateway.park(j, 0) {
					j.detach(r.out)
					r.out.put(response(r.id, j.stillRuns(), nil), false)
					return
				}
			}
			c.timer.Reset(c.rest(now))
		case <-withdrawn:
			j.cancel()
			return
		case <-j.done:
			result := j.result
			if j.err == nil && r.method == "tasks/result" {
				result = withRelatedTask(result, j.id)
			}
			if r.method != "tasks/result" {
				r.gateway.unpark(j)
			}
			r.out.put(response(r.id, result, j.err), false)
			return
		}
	}
}
