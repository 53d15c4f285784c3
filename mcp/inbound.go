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
func (conn *connection) echoes(m jsonrpc.Message) bool {
	req, ok := m.(*jsonrpc.Request)
	if !ok || req.Method != protocol.Initialize && req.Method != protocol.Discover {
		return false
	}
	id, ok := req.ID.Raw().(int64)
	return ok && id == conn.handshaking.Load()
}

// receive takes a message of the server, which came on the answer stream of the call with
// the given id, or 0. It never blocks.
func (conn *connection) receive(m jsonrpc.Message, call int64) {
	conn.receiving.Lock()
	defer conn.receiving.Unlock()
	if conn.echoes(m) {
		conn.noteEnd(echoError{})
		return
	}
	conn.pulse.Beat()
	switch m := m.(type) {
	case *jsonrpc.Response:
		if !conn.listened(m) {
			conn.strayed(m.ID)
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
			conn.serve(m, call, flaw)
			return
		}
		if flaw != nil {
			conn.client.opts.Logger.Warn("mcp: a notification cannot be read", "server", conn.client.name, "method", harmless([]byte(m.Method)), "error", flaw)
		}
		_, o := conn.open(conn.ctx, m, true, true)
		if m.Method == protocol.NoteMessage {
			conn.logged(m, call)
		} else {
			conn.notice(m.Method, m.Params)
		}
		o.end(nil, nil)
	}
}

// notice takes a notification.
func (conn *connection) notice(method string, params json.RawMessage) {
	switch method {
	case protocol.NoteCancelled:
		conn.cancelled(params)
	case protocol.NoteToolsChanged:
		conn.changes.Add(1)
		conn.client.listChanged(listTools)
	case protocol.NoteResourcesChanged:
		conn.client.listChanged(listResources)
	case protocol.NotePromptsChanged:
		conn.client.listChanged(listPrompts)
	case protocol.NoteResourceUpdated:
		conn.client.resourceUpdated(params)
	case protocol.NoteAcknowledged:
		conn.acknowledged(params)
	case protocol.NoteElicited:
		conn.client.pages.complete(params)
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
	tasks := conn.client.awaiting.Load()
	if of.awaits {
		tasks--
	}
	return tasks > 0 || conn.pulse.MayBeBusy()
}

// strayed notes an answer to a request that nobody made.
func (conn *connection) strayed(id jsonrpc.ID) {
	text := []byte("null")
	if id.IsValid() {
		text, _ = json.Marshal(id.Raw()) // a string or number always encodes
	}
	said := harmless(text)
	conn.strayID.Store(&said)
	if conn.strays.Add(1) == 1 {
		conn.client.opts.Logger.Warn("mcp: the server answers a request that nobody made", "server", conn.client.name, "id", said)
	}
}

// withStrays adds to the error of a wait for an answer that other answers have come instead.
func (conn *connection) withStrays(err error) error {
	id := conn.strayID.Load()
	if id == nil {
		return err
	}
	return fmt.Errorf("%w; the server has answered requests that nobody made %d times, the last with id %s", err, conn.strays.Load(), *id)
}

// serve answers a request of the server, on a goroutine of its own. Flaw says why its params
// cannot be read; nil if they can.
func (conn *connection) serve(req *jsonrpc.Request, call int64, flaw error) {
	if conn.ready.Load() && conn.modern() {
		// Revision 2026-07-28 has no such requests, and forbids answers.
		conn.client.opts.Logger.Warn("mcp: ignoring a request of the server", "server", conn.client.name, "method", harmless([]byte(req.Method)))
		return
	}
	base := conn.ctx
	of, caller := conn.causeOf(req, call)
	if caller != nil {
		base = causedContext{conn.ctx, caller}
	}
	ctx, cancel := context.WithCancel(base)
	s := &service{cancel}
	conn.mu.Lock()
	_, twice := conn.serving[req.ID]
	full := len(conn.serving) >= max(maxServing, conn.client.maxHandlers())
	if !twice && !full {
		conn.serving[req.ID] = s
	}
	conn.mu.Unlock()
	serve := func() {
		defer cancel()
		conn.answer(ctx, req, s, of, flaw)
	}
	if twice || full || !conn.run(serve) {
		cancel()
	}
}

// answer answers a request that was made in the course of the request that of belongs to;
// nil if that is not known.
func (conn *connection) answer(ctx context.Context, req *jsonrpc.Request, s *service, of *asked, flaw error) {
	resp := &jsonrpc.Response{ID: req.ID}
	ctx, o := conn.open(ctx, req, true, false)
	var result json.RawMessage
	var err error
	if flaw != nil {
		err = &JSONRPCError{Code: jsonrpc.CodeParseError, Message: "the request cannot be read: " + flaw.Error()}
	} else {
		result, err = conn.runHandler(ctx, req.Method, req.Params, of)
	}
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errTooManyQuestions) { // of which it was told
			conn.client.opts.Logger.Warn("mcp: a request of the server failed", "server", conn.client.name, "method", harmless([]byte(req.Method)), "error", err)
		}
		resp.Error = refuse(err)
	} else {
		resp.Result = relate(result, req.Params)
	}
	if err := conn.client.fits(int64(len(resp.Result))); err != nil {
		conn.client.opts.Logger.Warn("mcp: an answer to the server is too large", "server", conn.client.name, "error", err)
		resp.Result, resp.Error = nil, refuse(err)
	}
	conn.mu.Lock()
	wanted := conn.serving[req.ID] == s // or the server does not want to know any more
	conn.mu.Unlock()
	if wanted {
		_ = conn.wire.Write(ctx, resp)
		o.end(resp.Result, resp.Error)
	} else {
		o.end(nil, context.Canceled)
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.serving[req.ID] == s {
		delete(conn.serving, req.ID)
	}
}

// runHandler runs the handler for a request. While it runs, no request to the server
// grows impatient: the server may be waiting for the user.
func (conn *connection) runHandler(ctx context.Context, method string, params json.RawMessage, of *asked) (json.RawMessage, error) {
	if method == protocol.Ping {
		return json.RawMessage(`{}`), nil
	}
	if isQuestion(method) && conn.client.declares(method) && !conn.mayAsk(method, nil) {
		return declinedAnswer(method)
	}
	conn.mu.Lock()
	conn.answering++
	conn.mu.Unlock()
	defer func() {
		conn.mu.Lock()
		defer conn.mu.Unlock()
		conn.answering--
		conn.answeredAt = time.Now()
	}()
	return conn.client.handleRequest(ctx, method, params, true, of)
}

// patience returns for how much longer a request may be without an answer that
// has been so for idle, because the server had to wait for an answer itself.
func (conn *connection) patience(idle time.Duration) time.Duration {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.answering > 0 {
		return idle
	}
	return time.Until(conn.answeredAt.Add(idle))
}

// cancelled ends the service of a request that the server does not wait for any
// more. It is not answered.
func (conn *connection) cancelled(params json.RawMessage) {
	var raw any
	_ = json.Unmarshal(jsonscan.Member(params, "requestId"), &raw) // what is none leaves nil, which is no id
	id, err := jsonrpc.MakeID(raw)
	if err != nil || !id.IsValid() {
		return
	}
	conn.mu.Lock()
	s := conn.serving[id]
	delete(conn.serving, id)
	conn.mu.Unlock()
	if s != nil {
		s.cancel()
		return
	}
	conn.endListening(id, nil)
}
