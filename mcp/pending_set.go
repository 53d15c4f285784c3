package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// add binds a pending request to the connection.
func (conn *connection) add(p *pendingRequest) error {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.endErr != nil {
		return conn.endErr
	}
	conn.pending[p] = struct{}{}
	conn.started++
	p.number = conn.started
	p.started = conn.setDeadlineLocked(p, p.request.idle)
	return nil
}

// setDeadline has a pending request expire after a time or when its total is over, unless that is set
// anew before.
func (conn *connection) setDeadline(p *pendingRequest, idle time.Duration) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if _, flies := conn.pending[p]; flies {
		conn.setDeadlineLocked(p, idle)
	}
}

// setDeadlineLocked sets the timer only for the first of many requests: calls are short, and
// times to wait are long.
func (conn *connection) setDeadlineLocked(p *pendingRequest, idle time.Duration) (now time.Duration) {
	at := time.Now()
	now = at.Sub(conn.opened)
	wait := min(idle, p.request.until.Sub(at))
	p.deadline = max(now+wait, 1)
	conn.armTimerLocked(p.deadline, wait)
	return now
}

// clearDeadline ends setDeadline.
func (conn *connection) clearDeadline(p *pendingRequest) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	p.deadline = 0
}

// armTimerLocked has the timer expire at a time that is due, in wait, or before.
func (conn *connection) armTimerLocked(due, wait time.Duration) {
	if conn.deadlineAt != 0 && conn.deadlineAt <= due {
		return
	}
	conn.deadlineAt = due
	if conn.deadlineTimer == nil {
		conn.deadlineTimer = time.AfterFunc(wait, conn.expireDue)
	} else {
		conn.deadlineTimer.Reset(wait)
	}
}

// expireDue ends the pending requests whose time is over.
func (conn *connection) expireDue() {
	conn.mu.Lock()
	conn.deadlineAt = 0
	var late []*pendingRequest
	now := time.Since(conn.opened)
	for p := range conn.pending {
		switch {
		case p.deadline == 0:
		case p.deadline <= now:
			late = append(late, p)
			p.deadline = 0
		default:
			conn.armTimerLocked(p.deadline, p.deadline-now)
		}
	}
	conn.mu.Unlock()
	for _, p := range late {
		conn.expire(p)
	}
}

func (conn *connection) remove(p *pendingRequest) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	delete(conn.pending, p)
	if conn.endErr != nil && len(conn.pending) == 0 {
		poke(conn.drained)
	}
}

// A causedContext ends as its Context does, and has the values of the context of the
// request that caused what the server asks.
type causedContext struct {
	context.Context
	values context.Context
}

// Value returns values of its own Context first, in which package context finds what a
// derived context ends with.
func (c causedContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// protocol.MetaTask names the task that a request of a server of revision 2025-11-25 belongs to.

// causeOf returns the questions and the caller's context of the request in the course of
// which the server makes req, or nil if it is not known: that on whose answer stream req
// came, if call is not 0, or that which waits for the task that req names, or else the
// only one that the server can be at work for. If there are several, but all with the same asker,
// the context is that of one of them.
func (conn *connection) causeOf(req *jsonrpc.Request, call int64) (*asked, context.Context) {
	task, _ := jsonscan.String(jsonscan.Member(req.Params, "_meta", protocol.MetaTask, "taskId"))
	conn.mu.Lock()
	defer conn.mu.Unlock()
	var cause *request
	many := false
	for p := range conn.pending {
		r := p.request
		switch {
		case r.asked == nil, call != 0 && p.id != call, call == 0 && task != "" && r.task() != task:
			continue
		case cause != nil && cause.asked != r.asked:
			if asker := r.caller.Value(askerKey{}); asker == nil || asker != cause.caller.Value(askerKey{}) {
				return nil, nil
			}
			many = true
		}
		cause = r
	}
	switch {
	case cause == nil, call == 0 && task == "" && conn.elsewhereLocked(cause.asked):
		return nil, nil
	case many:
		return nil, cause.caller
	}
	return cause.asked, cause.caller
}

// elsewhereLocked reports whether the server may be at work for a request of a caller that is
// none of the pending requests: one that was given up, or another one's task.
func (conn *connection) elsewhereLocked(of *asked) bool {
	tasks := conn.shared.awaiting.Load()
	if of.awaits {
		tasks--
	}
	return tasks > 0 || conn.pulse.MayBeBusy()
}

// start prepares p to be the context of a request. Without an error finish must
// follow.
func (conn *connection) start(ctx context.Context, p *pendingRequest, r *request) error {
	p.Context, p.conn, p.request = ctx, conn, r
	p.opts.Header = r.header
	if r.call != nil {
		p.opts.ProgressToken = conn.shared.tokens.Add(1)
		p.opts.Progress = func(params json.RawMessage) { conn.progress(p, params) }
	}
	if err := ctx.Err(); err != nil {
		return WithOutcome(err, NotSent)
	}
	if err := conn.add(p); err != nil {
		return WithOutcome(err, NotSent)
	}
	return nil
}

// noteID has the transport tell the id of the request, by which questions and log messages of
// the server are matched to it. There are no questions in revision 2026-07-28, nor without a
// handler, and the log messages matter to a caller with [WithLog] alone.
func (conn *connection) noteID(p *pendingRequest) {
	r, opts := p.request, &conn.shared.opts
	if r.asked == nil {
		return
	}
	questions := !conn.modern() && (opts.declares(protocol.Elicit) || opts.declares(protocol.Sample))
	if !questions && r.caller.Value(logKey{}) == nil {
		return
	}
	traced := p.opts.Numbered
	p.opts.Numbered = func(id int64) {
		conn.mu.Lock()
		p.id = id
		conn.mu.Unlock()
		if traced != nil {
			traced(id)
		}
	}
}

// expire is called when that time is over.
func (conn *connection) expire(p *pendingRequest) {
	if rest := conn.patience(p.request.idle); rest > 0 && time.Now().Before(p.request.until) {
		conn.setDeadline(p, rest)
		return
	}
	timeout := &TimeoutError{"idle", p.request.idle}
	if !time.Now().Before(p.request.until) {
		timeout = &TimeoutError{"total", p.request.total}
	}
	p.cancel(context.Canceled, conn.withStrays(timeout))
}

// progress hands a notification on. What the caller does with it takes none of
// the server's time.
func (conn *connection) progress(p *pendingRequest, params json.RawMessage) {
	conn.pulse.Beat()
	conn.clearDeadline(p)
	p.request.call.report(params)
	conn.setDeadline(p, p.request.idle)
}
