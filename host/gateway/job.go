package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A job is the work for one request that may take long, and may need input of the client before
// it ends. It runs on a goroutine of its own, and goes on where its request is answered before
// it ends: with an id, as a task, or with a question.
type job struct {
	id       string
	peer     *peer
	name     string    // of the tool, for people
	first    *request  // that began it
	began    time.Time // by the clock of this machine
	cancel   context.CancelFunc
	done     chan struct{}
	asked    chan struct{} // capacity 1: a question has come
	progress progress

	// The following are set before done is closed.
	result json.RawMessage
	err    *mcp.JSONRPCError
	ended  time.Time

	mu        sync.Mutex // guards the following
	out       *stream    // of the request that waits for the job; nil: none does
	questions []*question
	numbered  int
	state     string // the requestState that continues it; empty: none does
	parked    bool   // it can be asked for by its id
	keep      time.Duration
	cancelled bool
}

// A question is a server request in the course of a job.
type question struct {
	id     string
	method string
	params json.RawMessage
	sent   bool
	answer chan answer // capacity 1
}

// An answer is what a client says to a question.
type answer struct {
	result json.RawMessage
	err    *mcp.JSONRPCError
}

// resultKept is how long the result of a job is kept that was not fetched.
const resultKept = 10 * time.Minute

// start begins a job.
func (g *Gateway) start(ctx context.Context, r *request, name string, run func(ctx context.Context, j *job) (json.RawMessage, *mcp.JSONRPCError)) *job {
	j := &job{
		id: newID(), peer: r.peer, first: r, name: name, began: time.Now(),
		done: make(chan struct{}), asked: make(chan struct{}, 1), out: r.out, keep: resultKept,
	}
	j.progress.job, j.progress.every = j, g.opts.Heartbeat
	j.progress.wants(r)
	ctx, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(g.ctx, j.cancel)
	ctx = context.WithValue(r.peer.context(ctx), jobKey{}, j)
	ctx = mcp.WithLog(ctx, r.logs(j))
	g.work.Go(func() {
		defer stop()
		defer j.cancel()
		result, err := run(ctx, j)
		j.mu.Lock()
		j.result, j.err, j.ended = result, err, time.Now()
		j.mu.Unlock()
		close(j.done)
	})
	return j
}

// ownState begins a requestState that is the gateway's own: the call goes on in a job.
const ownState = "mcpbelt."

// same reports whether a request asks for the same as another: nothing else can be continued in
// its name.
func (r *request) same(other *request) bool {
	a, b := &r.params, &other.params
	return r.method == other.method && bytes.Equal(a.name, b.name) && bytes.Equal(a.uri, b.uri) && bytes.Equal(a.arguments, b.arguments)
}

// continued returns the job that a request of revision 2026-07-28 continues, with the responses to its
// questions. Ok is false if it continues none.
func (r *request) continued() (j *job, failed *mcp.JSONRPCError, ok bool) {
	if r.params.state == nil || !r.peer.modern() {
		return nil, nil, false
	}
	state := str(r.params.state)
	id, ok := strings.CutPrefix(state, ownState)
	if !ok {
		return nil, nil, false // it is one of the server's
	}
	id, _, _ = strings.Cut(id, ".")
	j = r.gateway.parked(r.peer, id)
	if j == nil || !r.same(j.first) || !j.resume(state, r.params.responses, r.out) {
		return nil, invalidParams("params.requestState is not one of this call, was used, or has expired"), true
	}
	j.progress.wants(r)
	return j, nil, true
}

type jobKey struct{}

// jobOf returns the job that a server request belongs to, or nil if that is not known.
func jobOf(ctx context.Context) *job {
	j, _ := ctx.Value(jobKey{}).(*job)
	return j
}

// park keeps the job for a client that will ask for it by its id. It reports false if there are too
// many.
func (g *Gateway) park(j *job, keep time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.jobs[j.id]; !ok && len(g.jobs) >= maxParked {
		return false
	}
	g.jobs[j.id] = j
	j.mu.Lock()
	defer j.mu.Unlock()
	j.parked = true
	if keep > 0 {
		j.keep = keep
	}
	return true
}

// maxParked bounds the jobs that wait to be asked for.
const maxParked = 10_000

// unpark forgets a job whose result was fetched.
func (g *Gateway) unpark(j *job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.jobs, j.id)
}

// parked returns the job of that id if the peer may have it.
func (g *Gateway) parked(p *peer, id string) *job {
	g.mu.Lock()
	j := g.jobs[id]
	g.mu.Unlock()
	if j == nil || !p.owns(j.peer) {
		return nil
	}
	return j
}

// forgettable reports whether nobody has fetched the result for too long.
func (j *job) forgettable(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.ended.IsZero() && now.Sub(j.ended) > j.keep
}

// isDone reports whether the job has ended.
func (j *job) isDone() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// attach makes a request wait for the job, and sends it the questions that nobody has seen.
func (j *job) attach(out *stream) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.out = out
	j.sendLocked()
}

// detach says that the request waits no more.
func (j *job) detach(out *stream) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.out == out {
		j.out = nil
	}
}

// send sends a notification about the job to the request that waits for it.
func (j *job) send(m json.RawMessage) {
	j.mu.Lock()
	out := j.out
	j.mu.Unlock()
	if out != nil {
		out.put(m, true)
	}
}

// sendLocked sends the questions that were not sent yet to a client with a session.
func (j *job) sendLocked() {
	if j.peer.modern() || j.out == nil {
		return
	}
	for _, q := range j.questions {
		if q.sent {
			continue
		}
		q.sent = true
		params := q.params
		if j.parked {
			params = withRelatedTask(params, j.id)
		}
		j.out.put(notification(q.method, params, q.id), false)
	}
}

// ask asks the client, and returns what it answers. It ends with ctx, with the client's
// session, or when the client has been away for too long.
func (j *job) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *mcp.JSONRPCError) {
	q := &question{method: method, params: params, answer: make(chan answer, 1)}
	p := j.peer
	j.mu.Lock()
	j.numbered++
	q.id = j.id + "-" + strconv.Itoa(j.numbered)
	if p.session != nil && !p.session.expect(q) {
		j.mu.Unlock()
		return nil, failure(codeBusy, "the client has too many questions to answer")
	}
	j.questions = append(j.questions, q)
	j.sendLocked()
	out := j.out
	j.mu.Unlock()
	select {
	case j.asked <- struct{}{}:
	default:
	}
	defer j.drop(q)
	timer := time.NewTimer(p.view.gateway.opts.InputWait)
	defer timer.Stop()
	var lost, over <-chan struct{}
	if p.session != nil {
		over = p.session.over
		if out != nil {
			lost = out.lost()
		}
	}
	select {
	case a := <-q.answer:
		return a.result, a.err
	case <-ctx.Done():
		return nil, failure(codeInternal, "the call has ended")
	case <-timer.C:
		return nil, failure(codeInternal, "the client did not answer within %v", p.view.gateway.opts.InputWait)
	case <-lost:
	case <-over:
	}
	return nil, failure(codeInternal, "the client is gone")
}

// drop forgets a question.
func (j *job) drop(q *question) {
	if s := j.peer.session; s != nil {
		s.forget(q)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.questions = slices.DeleteFunc(j.questions, func(other *question) bool { return other == q })
}

// needsInput returns the result that asks a client of revision 2026-07-28 for all that the job
// waits for, or nil if that is nothing that the client has not seen.
func (j *job) needsInput() json.RawMessage {
	j.mu.Lock()
	defer j.mu.Unlock()
	fresh := false
	requests := map[string]any{}
	for _, q := range j.questions {
		fresh = fresh || !q.sent
		requests[q.id] = struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}{q.method, q.params}
	}
	if !fresh {
		return nil
	}
	for _, q := range j.questions {
		q.sent = true
	}
	j.state = ownState + j.id + "." + newID()
	j.out = nil
	return marshal(struct {
		Type     string         `json:"resultType"`
		Requests map[string]any `json:"inputRequests"`
		State    string         `json:"requestState"`
	}{"input_required", requests, j.state})
}

// resume continues the job with the responses of the client. State is what needsInput returned, and is good
// for once.
func (j *job) resume(state string, responses json.RawMessage, out *stream) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state == "" || j.state != state {
		return false
	}
	j.state, j.out = "", out
	j.questions = slices.DeleteFunc(j.questions, func(q *question) bool {
		a := member(responses, q.id)
		if q.sent = false; a != nil { // else it is asked again
			q.answer <- answer{result: a}
		}
		return a != nil
	})
	return true
}
