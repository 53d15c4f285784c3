package main

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The states of a task. Of the last three there is no way on.
const (
	working       = "working"
	inputRequired = "input_required"
	completed     = "completed"
	failed        = "failed"
	cancelled     = "cancelled"
)

const (
	maxTasks   = 100
	defaultTTL = 10 * time.Minute
	maxTTL     = time.Hour
)

// tasks are the tool calls that outlive their requests. They live in memory for
// their time to live, and no longer than the server.
type tasks struct {
	tools map[string]string // what a tool says about tasks; fixed when serving begins

	ctx  context.Context // ends with close
	stop context.CancelFunc
	wg   sync.WaitGroup // one for each task that runs

	mu   sync.Mutex
	kept []*task // in the order of their creation
}

func newTasks() *tasks {
	ctx, stop := context.WithCancel(context.Background())
	return &tasks{tools: make(map[string]string), ctx: ctx, stop: stop}
}

// may lets the client decide whether a call of the tool runs as a task.
func (ts *tasks) may(tool string) { ts.tools[tool] = "optional" }

// must makes every call of the tool a task.
func (ts *tasks) must(tool string) { ts.tools[tool] = "required" }

// close cancels the tasks that run and waits for them.
func (ts *tasks) close() {
	ts.stop()
	ts.wg.Wait()
}

// start runs a tool call as a task that goes on when the request ends, and returns the
// task as it was when it began: the protocol wants a new task to be working.
func (ts *tasks) start(owner *mcp.ServerSession, ttl time.Duration, call func(context.Context) (mcp.Result, error), describe func(*task) mcp.Result) (mcp.Result, error) {
	now := time.Now()
	t := &task{
		id: rand.Text(), owner: owner, created: now, ttl: ttl,
		changed: make(chan struct{}), status: working, updated: now,
	}
	// Not the request's context: what is sent with that belongs to the request.
	ctx, cancel := context.WithTimeout(context.WithValue(ts.ctx, taskKey{}, t), ttl)
	t.cancel = cancel

	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.kept = slices.DeleteFunc(ts.kept, (*task).expired)
	if len(ts.kept) == maxTasks || ts.ctx.Err() != nil {
		cancel()
		return nil, errors.New("there are too many tasks; try again later")
	}
	ts.kept = append(ts.kept, t)
	begun := describe(t)
	ts.wg.Go(func() {
		defer cancel()
		t.finish(call(ctx))
	})
	return begun, nil
}

// get returns a task that is kept. Whoever knows the id may have it: it cannot
// be guessed.
func (ts *tasks) get(id string) (*task, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.kept {
		if t.id == id && !t.expired() {
			return t, nil
		}
	}
	return nil, invalid("there is no such task, or its time is over")
}

// of returns the tasks that a session started.
func (ts *tasks) of(owner *mcp.ServerSession) []*task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var own []*task
	for _, t := range ts.kept {
		if t.owner == owner && !t.expired() {
			own = append(own, t)
		}
	}
	return own
}

// A task is one tool call that runs or has run.
type task struct {
	id      string
	owner   *mcp.ServerSession
	created time.Time
	ttl     time.Duration
	cancel  context.CancelFunc // ends the call's context

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when one of the following changes
	status    string
	message   string // what the task is doing, for people
	updated   time.Time
	result    *mcp.CallToolResult // when completed
	err       error               // when failed
	questions []*question         // that wait for an answer
}

// A question is what a task wants to know from the user.
type question struct {
	key     string
	params  *mcp.ElicitParams
	answer  chan *mcp.ElicitResult // holds one
	claimed bool                   // by a request that asks it
}

type taskKey struct{}

// taskOf returns the task that ctx belongs to, or nil.
func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	return t
}

func (t *task) expired() bool { return time.Since(t.created) > t.ttl }

// update changes the task, unless it has ended.
func (t *task) update(change func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended() {
		return false
	}
	change()
	t.updated = time.Now()
	close(t.changed)
	t.changed = make(chan struct{})
	return true
}

func (t *task) ended() bool {
	return t.status == completed || t.status == failed || t.status == cancelled
}

// say tells what the task is doing.
func (t *task) say(message string) { t.update(func() { t.message = message }) }

// finish ends the task with what the tool returned. A tool's own error is a
// result; a task fails only if there is none.
func (t *task) finish(result mcp.Result, err error) {
	t.update(func() {
		t.questions, t.message = nil, ""
		if res, ok := result.(*mcp.CallToolResult); ok && err == nil {
			t.status, t.result = completed, res
			return
		}
		t.status, t.err = failed, err
	})
}

// abandon ends the task by the client's wish, if it has not ended.
func (t *task) abandon() bool {
	defer t.cancel()
	return t.update(func() { t.status, t.questions, t.message = cancelled, nil, "cancelled by the client" })
}

// ask asks the user and waits for the answer. The key must be a new one for each
// question of a task.
func (t *task) ask(ctx context.Context, key string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	q := &question{key: key, params: params, answer: make(chan *mcp.ElicitResult, 1)}
	t.update(func() {
		t.questions = append(t.questions, q)
		t.status, t.message = inputRequired, "waiting for the user"
	})
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer gives an answer to the question with this key. An answer that nobody
// waits for is ignored.
func (t *task) answer(key string, res *mcp.ElicitResult) {
	t.update(func() {
		i := slices.IndexFunc(t.questions, func(q *question) bool { return q.key == key })
		if i < 0 {
			return
		}
		t.questions[i].answer <- res
		t.questions = slices.Delete(t.questions, i, i+1)
		if len(t.questions) == 0 {
			t.status, t.message = working, ""
		}
	})
}

// claim returns a question that nobody asks yet, or nil.
func (t *task) claim() (q *question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.questions, func(q *question) bool { return !q.claimed }); i >= 0 {
		q = t.questions[i]
		q.claimed = true
	}
	return q
}

// unclaim leaves the question to another request.
func (t *task) unclaim(q *question) { t.update(func() { q.claimed = false }) }
