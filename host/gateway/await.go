package gateway

import (
	"net/http"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// openAfter is after what time of silence the answer to a request becomes a stream, which a client
// with a session can resume.
const openAfter = 5 * time.Second

// A clock says when something is due while a request waits for its job.
type clock struct {
	job    *job
	limit  time.Time // when the request has to be answered; zero: never
	opens  time.Time // when a stream is opened; zero: never
	timer  *time.Timer
	missed bool // the limit was reached, and the job could not be kept
}

func (r *request) clock(j *job, opens bool) *clock {
	now := time.Now()
	c := &clock{job: j}
	if within := r.peer.answerWithin(); within > 0 && r.method == "tools/call" {
		c.limit = now.Add(within)
	}
	if opens {
		c.opens = now.Add(openAfter)
	}
	c.timer = time.NewTimer(c.rest(now))
	return c
}

// rest is the time until something is due. It sends a sign of life if one is due.
func (c *clock) rest(now time.Time) time.Duration {
	rest := time.Hour
	if !c.limit.IsZero() {
		rest = min(rest, c.limit.Sub(now))
	}
	if !c.opens.IsZero() {
		rest = min(rest, c.opens.Sub(now))
	}
	return max(min(rest, c.job.progress.beat(now)), 0)
}

// await answers an HTTP request when its job has ended: by JSON or, if there is something to say before,
// by a stream. Under is nil in revision 2026-07-28.
func (x *exchange) await(r *request, j *job, reader int, under *running) {
	var e *eventWriter
	refused := false
	open := func() {
		if e != nil || refused || reader == 0 {
			return
		}
		if e = x.openEvents(r, reader); e == nil {
			refused = true
			j.cancel()
		}
	}
	defer func() {
		if e != nil {
			e.close()
		}
	}()
	c := r.clock(j, reader != 0 && !r.peer.modern())
	defer c.timer.Stop()
	var withdrawn <-chan struct{}
	if under != nil {
		withdrawn = under.withdrawn
	}
	gone := x.r.Context().Done()
	ready := r.out.ready
	if reader == 0 {
		ready = nil // another one takes what is there
	}
	for {
		select {
		case <-ready:
			if r.out.hasMore() {
				if open(); e != nil {
					e.drain()
				}
			}
			continue
		case <-j.asked:
			if !r.peer.modern() {
				continue
			}
			need := j.needsInput()
			if need == nil {
				continue
			}
			if !r.gateway.park(j, 0) {
				j.cancel()
				x.finish(r, e, response(r.id, nil, failure(codeBusy, "too many calls wait for input")), http.StatusServiceUnavailable)
				return
			}
			x.finish(r, e, response(r.id, need, nil), http.StatusOK)
			return
		case now := <-c.timer.C:
			if !c.limit.IsZero() && !now.Before(c.limit) {
				if c.limit = (time.Time{}); r.gateway.park(j, 0) {
					j.detach(r.out)
					x.finish(r, e, response(r.id, j.stillRuns(), nil), http.StatusOK)
					return
				}
			}
			if !c.opens.IsZero() && !now.Before(c.opens) {
				c.opens = time.Time{}
				if open(); e != nil {
					e.write()
				}
			}
			c.timer.Reset(c.rest(now))
			continue
		case <-gone:
			gone = nil
			if r.peer.modern() {
				j.cancel()
				return
			}
			if reader != 0 {
				r.out.detach(reader) // the client may resume the stream
			}
			r.peer.session.leftAlone(under)
			continue
		case <-withdrawn:
			j.cancel()
			if open(); e != nil {
				e.write() // a response without an answer
			}
			r.out.end()
			return
		case <-j.done:
		}
		break
	}
	if refused {
		return
	}
	if reader != 0 && (r.out.hasMore() || r.peer.revision >= newestSession && j.err == nil) {
		open()
	}
	x.deliver(r, j, e)
}

// deliver answers a request with the result of its job.
func (x *exchange) deliver(r *request, j *job, e *eventWriter) {
	result := j.result
	if j.err == nil && r.method == "tasks/result" {
		result = withRelatedTask(result, j.id)
	}
	if r.method != "tasks/result" { // a task can be asked for its result again
		r.gateway.unpark(j)
	}
	status := http.StatusOK
	if j.err != nil && r.peer.modern() {
		status = statusOf(j.err)
	}
	x.finish(r, e, response(r.id, result, j.err), status)
}

// finish sends the answer to a request, and nothing more.
func (x *exchange) finish(r *request, e *eventWriter, answer []byte, status int) {
	if e == nil {
		x.json(status, answer)
		return
	}
	r.out.put(answer, false)
	r.out.end()
	e.drain()
}

// batch serves a batch of messages, which revision 2025-03-26 has.
func (x *exchange) batch(body []byte) {
	s := x.session()
	if s == nil {
		return
	}
	if s.peer.revision != "2025-03-26" {
		x.fail(http.StatusBadRequest, nil, failure(codeInvalidRequest, "revision %s has no batches", s.peer.revision))
		return
	}
	if err := jsonscan.Valid(body); err != nil {
		x.fail(http.StatusBadRequest, nil, failure(codeParse, "the batch cannot be read: %v", err))
		return
	}
	var messages []jsonscan.Message
	for item := range jsonscan.Elements(body) {
		m, err := jsonscan.Scan(item)
		if err != nil || len(messages) == maxBatch {
			x.fail(http.StatusBadRequest, nil, failure(codeInvalidRequest, "a batch is an array of at most %d messages", maxBatch))
			return
		}
		if failed := checkMessage(&m); failed != nil {
			x.fail(http.StatusBadRequest, validOr(m.ID), failed)
			return
		}
		messages = append(messages, m)
	}
	out := newStream(newID())
	reader, _ := out.attach(-1)
	defer out.detach(reader)
	open := 0
	answered := make(chan struct{}, len(messages))
	for i := range messages {
		m := &messages[i]
		switch {
		case m.IsResponse():
			s.answered(m)
		case m.ID == nil:
			s.noted(m)
		default:
			open++
			x.gateway.work.Go(func() {
				defer func() { answered <- struct{}{} }()
				s.handle(x.r.Context(), m, out)
			})
		}
	}
	if open == 0 {
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	s.keep(out)
	e := x.events(out, reader)
	if e == nil {
		out.detach(reader)
	} else {
		defer e.close()
	}
	gone := x.r.Context().Done()
	for open > 0 {
		select {
		case <-answered:
			open--
		case <-gone:
			gone = nil
			out.detach(reader) // the client may resume the stream
		case <-out.ready:
			if e != nil {
				e.drain()
			}
		}
	}
	out.end()
	if e != nil {
		e.drain()
	}
}
