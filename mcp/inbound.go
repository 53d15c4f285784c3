package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// maxServing bounds the requests of the server that are served at a time, unless the program
// handles more. Further ones are not answered.
const maxServing = 64

// An echoError ends the connection to a program that is no server, such as cat.
type echoError struct{}

func (echoError) Error() string { return "it does not speak MCP: it sends back what it is sent" }

// NotMCP tells package host what the error means.
func (echoError) NotMCP() bool { return true }

// echoes reports whether the server sends the handshake's request back, which is
// one that no server makes.
func (l *life) echoes(m jsonrpc.Message) bool {
	req, ok := m.(*jsonrpc.Request)
	if !ok || req.Method != protocol.Initialize && req.Method != protocol.Discover {
		return false
	}
	id, ok := req.ID.Raw().(int64)
	return ok && id == l.handshaking.Load()
}

// take takes a message of the server, which came on the answer stream of the call with
// the given id, or 0. It never blocks.
func (l *life) take(m jsonrpc.Message, call int64) {
	l.taking.Lock()
	defer l.taking.Unlock()
	if l.echoes(m) {
		l.broke(echoError{})
		return
	}
	l.pulse.Beat()
	switch m := m.(type) {
	case *jsonrpc.Response:
		if !l.listened(m) {
			l.strayed(m.ID)
		}
	case *jsonrpc.Request:
		var flaw error
		if len(m.Params) > 0 {
			flaw = jsonscan.Valid(m.Params)
		}
		if flaw != nil {
			m.Params = nil
		}
		if m.IsCall() {
			l.serve(m, call, flaw)
			return
		}
		if flaw != nil {
			l.client.opts.Logger.Warn("mcp: a notification cannot be read", "server", l.client.name, "method", harmless([]byte(m.Method)), "error", flaw)
		}
		_, o := l.open(l.alive, m, true, true)
		if m.Method == protocol.NoteMessage {
			l.logged(m, call)
		} else {
			l.notice(m.Method, m.Params)
		}
		o.end(nil, nil)
	}
}

// notice takes a notification.
func (l *life) notice(method string, params json.RawMessage) {
	switch method {
	case protocol.NoteCancelled:
		l.cancelled(params)
	case protocol.NoteToolsChanged:
		l.changes.Add(1)
		l.client.listChanged(listTools)
	case protocol.NoteResourcesChanged:
		l.client.listChanged(listResources)
	case protocol.NotePromptsChanged:
		l.client.listChanged(listPrompts)
	case protocol.NoteResourceUpdated:
		l.client.resourceUpdated(params)
	case protocol.NoteAcknowledged:
		l.acknowledged(params)
	case protocol.NoteElicited:
		l.client.pages.complete(params)
	}
}

// A service is one request of the server under way. Its id can come again when
// the server has withdrawn it.
type service struct{ cancel context.CancelFunc }

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
func (l *life) causeOf(req *jsonrpc.Request, call int64) (*asked, context.Context) {
	task, _ := jsonscan.String(jsonscan.Member(req.Params, "_meta", protocol.MetaTask, "taskId"))
	l.mu.Lock()
	defer l.mu.Unlock()
	var cause *request
	many := false
	for f := range l.flights {
		r := f.request
		switch {
		case r.asked == nil, call != 0 && f.id != call, call == 0 && task != "" && r.task() != task:
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
	case cause == nil, call == 0 && task == "" && l.elsewhereLocked(cause.asked):
		return nil, nil
	case many:
		return nil, cause.caller
	}
	return cause.asked, cause.caller
}

// elsewhereLocked reports whether the server may be at work for a request of a caller that is
// none of the flights: one that was given up, or another one's task.
func (l *life) elsewhereLocked(of *asked) bool {
	tasks := l.client.awaiting.Load()
	if of.awaits {
		tasks--
	}
	return tasks > 0 || l.pulse.MayBeBusy()
}

// strayed notes an answer to a request that nobody made.
func (l *life) strayed(id jsonrpc.ID) {
	text := []byte("null")
	if id.IsValid() {
		text, _ = json.Marshal(id.Raw()) // a string or number always encodes
	}
	said := harmless(text)
	l.strayID.Store(&said)
	if l.strays.Add(1) == 1 {
		l.client.opts.Logger.Warn("mcp: the server answers a request that nobody made", "server", l.client.name, "id", said)
	}
}

// withStrays adds to the error of a wait for an answer that other answers have come instead.
func (l *life) withStrays(err error) error {
	id := l.strayID.Load()
	if id == nil {
		return err
	}
	return fmt.Errorf("%w; the server has answered requests that nobody made %d times, the last with id %s", err, l.strays.Load(), *id)
}

// serve answers a request of the server, on a goroutine of its own. Flaw says why its params
// cannot be read; nil if they can.
func (l *life) serve(req *jsonrpc.Request, call int64, flaw error) {
	if l.ready.Load() && l.modern() {
		// Revision 2026-07-28 has no such requests, and forbids answers.
		l.client.opts.Logger.Warn("mcp: ignoring a request of the server", "server", l.client.name, "method", harmless([]byte(req.Method)))
		return
	}
	base := l.alive
	of, caller := l.causeOf(req, call)
	if caller != nil {
		base = causedContext{l.alive, caller}
	}
	ctx, cancel := context.WithCancel(base)
	s := &service{cancel}
	l.mu.Lock()
	_, twice := l.serving[req.ID]
	full := len(l.serving) >= max(maxServing, l.client.maxHandlers())
	if !twice && !full {
		l.serving[req.ID] = s
	}
	l.mu.Unlock()
	serve := func() {
		defer cancel()
		l.answer(ctx, req, s, of, flaw)
	}
	if twice || full || !l.goes(serve) {
		cancel()
	}
}

// answer answers a request that was made in the course of the request that of belongs to;
// nil if that is not known.
func (l *life) answer(ctx context.Context, req *jsonrpc.Request, s *service, of *asked, flaw error) {
	resp := &jsonrpc.Response{ID: req.ID}
	ctx, o := l.open(ctx, req, true, false)
	var result json.RawMessage
	var err error
	if flaw != nil {
		err = &JSONRPCError{Code: jsonrpc.CodeParseError, Message: "the request cannot be read: " + flaw.Error()}
	} else {
		result, err = l.grant(ctx, req.Method, req.Params, of)
	}
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errTooManyQuestions) { // of which it was told
			l.client.opts.Logger.Warn("mcp: a request of the server failed", "server", l.client.name, "method", harmless([]byte(req.Method)), "error", err)
		}
		resp.Error = refuse(err)
	} else {
		resp.Result = relate(result, req.Params)
	}
	if err := l.client.fits(int64(len(resp.Result))); err != nil {
		l.client.opts.Logger.Warn("mcp: an answer to the server is too large", "server", l.client.name, "error", err)
		resp.Result, resp.Error = nil, refuse(err)
	}
	l.mu.Lock()
	wanted := l.serving[req.ID] == s // or the server does not want to know any more
	l.mu.Unlock()
	if wanted {
		_ = l.conn.Write(ctx, resp)
		o.end(resp.Result, resp.Error)
	} else {
		o.end(nil, context.Canceled)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serving[req.ID] == s {
		delete(l.serving, req.ID)
	}
}

// grant runs the handler for a request. While it runs, no request to the server
// grows impatient: the server may be waiting for the user.
func (l *life) grant(ctx context.Context, method string, params json.RawMessage, of *asked) (json.RawMessage, error) {
	if method == protocol.Ping {
		return json.RawMessage(`{}`), nil
	}
	if isQuestion(method) && l.client.declares(method) && !l.mayAsk(method, nil) {
		return declinedAnswer(method)
	}
	l.mu.Lock()
	l.granting++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.granting--
		l.granted = time.Now()
	}()
	return l.client.handleRequest(ctx, method, params, true, of)
}

// patience returns for how much longer a request may be without an answer that
// has been so for idle, because the server had to wait for an answer itself.
func (l *life) patience(idle time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granting > 0 {
		return idle
	}
	return time.Until(l.granted.Add(idle))
}

// cancelled ends the service of a request that the server does not wait for any
// more. It is not answered.
func (l *life) cancelled(params json.RawMessage) {
	var raw any
	_ = json.Unmarshal(jsonscan.Member(params, "requestId"), &raw) // what is none leaves nil, which is no id
	id, err := jsonrpc.MakeID(raw)
	if err != nil || !id.IsValid() {
		return
	}
	l.mu.Lock()
	s := l.serving[id]
	delete(l.serving, id)
	l.mu.Unlock()
	if s != nil {
		s.cancel()
		return
	}
	l.endListening(id, nil)
}
