package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A job is the work for one request that may take long, and may need input of the client before
// it ends. It runs on a goroutine of its own, and goes on where its request is answered before
// it ends: with an id, as a task, or with a question.
type job struct {
	id     string
	peer   *peer
	name   string    // of the tool, for people
	tool   string    // its name in the registry; empty: it is the job of another request
	first  *request  // that began it, if it can be continued; else nil
	began  time.Time // by the clock of this machine
	cancel context.CancelFunc
	done   chan struct{}
	asked  chan struct{} // capacity 1: a question has come

	// The following are set before done is closed.
	result json.RawMessage
	err    *mcp.JSONRPCError
	ended  time.Time

	weight int // of what it holds, as far as that counts in parkedJobs.bytes; guarded by that

	mu        sync.Mutex      // guards the following
	out       *stream.Stream  // of the request that waits for the job; nil: none does
	token     json.RawMessage // by which this request gets progress notifications; nil: it wants none
	reported  float64         // the progress that was sent last, without the beats
	beats     int             // since then
	silent    time.Time       // since when nothing was sent
	questions []*question
	numbered  int
	state     string // the requestState that continues it; empty: none does
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

// start begins a job, which ends with its session at the latest.
func (g *Gateway) start(ctx context.Context, r *request, name string, run func(ctx context.Context, j *job) (json.RawMessage, *mcp.JSONRPCError)) *job {
	j := &job{
		id: g.opts.newPlacedID(), peer: r.peer, name: name, began: time.Now(),
		done: make(chan struct{}), asked: make(chan struct{}, 1),
	}
	j.waitsLocked(r)
	if r.peer.modern() {
		j.first = r
	}
	ctx, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
	over := g.ctx
	if s := r.peer.session; s != nil {
		over = s.ctx
	}
	stop := context.AfterFunc(over, j.cancel)
	ctx = context.WithValue(r.peer.context(ctx), jobKey{}, j)
	if s := r.peer.session; s != nil {
		ctx = mcp.WithAsker(ctx, s)
	}
	if !r.peer.modern() || r.peer.level != "" {
		ctx = mcp.WithLog(ctx, r.logs(j))
	}
	end := func(result json.RawMessage, err *mcp.JSONRPCError) {
		stop()
		j.cancel()
		j.mu.Lock()
		j.result, j.err, j.ended = result, err, time.Now()
		j.mu.Unlock()
		close(j.done)
		g.weigh(j)
	}
	if !g.spawn(func() {
		growStack()
		end(run(ctx, j))
	}) {
		end(nil, message.Failure(message.CodeInternal, "the gateway is closed"))
	}
	return j
}

// growStack gives the goroutine the stack that a call takes: to grow it step by step, in the depth of the call, takes a
// quarter of the time of a small one.
//
//go:noinline
func growStack() {
	var room [12 << 10]byte
	runtime.KeepAlive(&room)
}

// done returns a job that has ended.
func done(result json.RawMessage, err *mcp.JSONRPCError) *job {
	j := &job{result: result, err: err, cancel: func() {}, done: make(chan struct{})}
	close(j.done)
	return j
}

// refused returns a job that has failed.
func refused(err *mcp.JSONRPCError) *job { return done(nil, err) }

// ownState begins a requestState that is the gateway's own: the call goes on in a job. After it come the id of
// the job and a random text, both of 130 bits, and the state is forgotten with its first use. It says nothing by
// itself, so there is nothing in it to be sealed.
const ownState = "mcpbelt."

// same reports whether a request asks for the same as another: nothing else can be continued in
// its name.
func (r *request) same(other *request) bool {
	a, b := &r.params, &other.params
	return r.method == other.method && bytes.Equal(a.Name, b.Name) && bytes.Equal(a.URI, b.URI) && bytes.Equal(a.Arguments, b.Arguments)
}

// continued returns the job that a request of revision 2026-07-28 continues, with the responses to its
// questions; nil if it continues none.
func (r *request) continued() *job {
	if r.params.State == nil || !r.peer.modern() {
		return nil
	}
	state := message.String(r.params.State)
	id, ok := strings.CutPrefix(state, ownState)
	if !ok {
		return nil // it is one of the server's
	}
	id, _, _ = strings.Cut(id, ".")
	j := r.gateway.parked(r.peer, id)
	if j == nil || !r.same(j.first) || !j.resume(state, r) {
		return refused(message.InvalidParams("params.requestState is not one of this call, was used, or has expired"))
	}
	return j
}

type jobKey struct{}

// jobOf returns the job that a server request belongs to, or nil if that is not known.
func jobOf(ctx context.Context) *job {
	j, _ := ctx.Value(jobKey{}).(*job)
	return j
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

// attach makes a request wait for the job, and sends it the questions that were not sent yet.
func (j *job) attach(r *request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waitsLocked(r)
	j.sendLocked()
}

// waitsLocked says which request waits for the job.
func (j *job) waitsLocked(r *request) {
	j.out, j.token, j.reported, j.beats, j.silent = r.out, jsonscan.Member(r.params.Meta, "progressToken"), 0, 0, time.Now()
	if !message.ValidID(j.token) {
		j.token = nil
	}
}

// detach says that the request waits no more.
func (j *job) detach(out *stream.Stream) {
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
		out.Put(m, true)
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
		j.out.Put(message.Notification(q.method, q.params, q.id), false)
	}
}

// lookEvery is how often a question looks whether its client is still there.
const lookEvery = time.Second

// ask asks the client, and returns what it answers. It ends with ctx, with the client's
// session, after InputWait, or when the client has been away for too long.
func (j *job) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *mcp.JSONRPCError) {
	q := &question{method: method, params: params, answer: make(chan answer, 1)}
	p := j.peer
	j.mu.Lock()
	j.numbered++
	q.id = j.id + "-" + strconv.Itoa(j.numbered)
	if len(j.questions) >= maxQuestions || p.session != nil && !p.session.expect(q) {
		j.mu.Unlock()
		return nil, message.Failure(message.CodeBusy, "the client has too many questions to answer")
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
	waiting, stop := context.WithTimeout(ctx, p.view.gateway.limits.InputWait)
	defer stop()
	if p.session != nil {
		defer context.AfterFunc(p.session.ctx, stop)()
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case a := <-q.answer:
			return a.result, a.err
		case <-waiting.Done():
			if errors.Is(waiting.Err(), context.DeadlineExceeded) {
				return nil, message.Failure(message.CodeInternal, "the client did not answer within %v", p.view.gateway.limits.InputWait)
			}
			return nil, message.Failure(message.CodeInternal, "the call has ended, or the client is gone")
		case <-look.C:
			if p.session != nil && out != nil && out.State().IsLost {
				return nil, message.Failure(message.CodeInternal, "the client is gone, or has no stream on which it can be asked")
			}
		}
	}
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
	isNew := false
	for _, q := range j.questions {
		isNew, q.sent = isNew || !q.sent, true
	}
	if !isNew {
		return nil
	}
	j.state = ownState + j.id + "." + newID()
	j.out = nil
	return askedFor(message.Marshal(j.requestsLocked()), message.Quoted(j.state))
}

// requestsLocked returns what the job waits for, as revision 2026-07-28 has it.
func (j *job) requestsLocked() map[string]any {
	requests := map[string]any{}
	for _, q := range j.questions {
		requests[q.id] = struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params,omitempty"`
		}{q.method, q.params}
	}
	return requests
}

// answerLocked takes the responses of a client of revision 2026-07-28. Those to no open question are ignored.
func (j *job) answerLocked(responses json.RawMessage) {
	j.questions = slices.DeleteFunc(j.questions, func(q *question) bool {
		a := jsonscan.Member(responses, q.id)
		if q.sent = false; a != nil { // else it is asked again
			q.answer <- answer{result: a}
		}
		return a != nil
	})
}

// resume continues the job with the responses of the client. State is what needsInput returned, and is good
// for once.
func (j *job) resume(state string, r *request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state == "" || j.state != state {
		return false
	}
	j.state = ""
	j.waitsLocked(r)
	j.answerLocked(r.params.Responses)
	return true
}
