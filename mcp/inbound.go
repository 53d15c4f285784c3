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
			conn.shared.opts.Logger.Warn("mcp: a notification cannot be read", "server", conn.shared.name, "method", harmless([]byte(m.Method)), "error", flaw)
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
		conn.shared.listChanged(listTools)
	case protocol.NoteResourcesChanged:
		conn.shared.listChanged(listResources)
	case protocol.NotePromptsChanged:
		conn.shared.listChanged(listPrompts)
	case protocol.NoteResourceUpdated:
		if uri, ok := jsonscan.String(jsonscan.Member(params, "uri")); ok {
			conn.shared.topics.Tell(uri)
		}
	case protocol.NoteAcknowledged:
		conn.acknowledged(params)
	case protocol.NoteElicited:
		id, _ := jsonscan.String(jsonscan.Member(params, "elicitationId"))
		conn.shared.pages.Complete(id)
	}
}

// serve answers a request of the server, on a goroutine of its own. Flaw says why its params
// cannot be read; nil if they can.
func (conn *connection) serve(req *jsonrpc.Request, call int64, flaw error) {
	if conn.ready.Load() && conn.modern() {
		// Revision 2026-07-28 has no such requests, and forbids answers.
		conn.shared.opts.Logger.Warn("mcp: ignoring a request of the server", "server", conn.shared.name, "method", harmless([]byte(req.Method)))
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
	full := len(conn.serving) >= max(maxServing, conn.shared.opts.maxHandlers())
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
			conn.shared.opts.Logger.Warn("mcp: a request of the server failed", "server", conn.shared.name, "method", harmless([]byte(req.Method)), "error", err)
		}
		resp.Error = refuse(err)
	} else {
		resp.Result = relate(result, req.Params)
	}
	if err := conn.shared.opts.fits(int64(len(resp.Result))); err != nil {
		conn.shared.opts.Logger.Warn("mcp: an answer to the server is too large", "server", conn.shared.name, "error", err)
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
	conn.mu.Lock()
	conn.answering++
	conn.mu.Unlock()
	defer func() {
		conn.mu.Lock()
		defer conn.mu.Unlock()
		conn.answering--
		conn.answeredAt = time.Now()
	}()
	return conn.handle(ctx, method, params, true, of)
}

// handle runs the handler for a request of the server, if it may ask. Of is the request of the
// client that caused it; nil if that is not known.
func (conn *connection) handle(ctx context.Context, method string, params json.RawMessage, waits bool, of *asked) (json.RawMessage, error) {
	switch {
	case !isQuestion(method) || !conn.shared.opts.declares(method) || conn.mayAsk(method, of):
		return conn.shared.handleRequest(ctx, method, params, waits, of)
	case method == protocol.Elicit:
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	return nil, errTooManyQuestions
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

// logged takes a log message that came on the answer stream of the call with the given id, or
// 0. It does not wait.
func (conn *connection) logged(req *jsonrpc.Request, call int64) {
	m, err := decodeLogMessage(req.Params)
	if err != nil {
		conn.shared.opts.Logger.Warn("mcp: ignoring an invalid log message", "server", conn.shared.name, "error", err)
		return
	}
	m.Server = conn.shared.name
	if _, caller := conn.causeOf(req, call); caller != nil {
		if fn, ok := caller.Value(logKey{}).(func(*LogMessage)); ok {
			fn(m)
		}
	}
	if q := &conn.shared.logs; q.add(m) && !conn.run(conn.shared.handLogsOn) {
		q.stop()
	}
}

// handleInput handles the requests that came with a result of revision 2026-07-28, one
// after the other, and returns the results by the ids that the server gave. Of counts the
// questions among them.
func (conn *connection) handleInput(ctx context.Context, of *asked, requests json.RawMessage) (json.RawMessage, error) {
	if requests == nil {
		return nil, nil
	}
	var responses []member
	for id, raw := range jsonscan.Fields(requests) {
		if len(responses) == maxServerRequests {
			return nil, at("inputRequests", fmt.Errorf("more than %d", maxServerRequests))
		}
		path := fmt.Sprintf("inputRequests[%q]", id)
		method, params, err := decodeServerRequest(raw)
		if err == nil && !conn.shared.opts.declares(method) {
			err = at("method", fmt.Errorf("%q was not declared by this client", method))
		}
		if err != nil {
			return nil, at(path, err)
		}
		work, o := conn.open(ctx, &jsonrpc.Request{Method: method, Params: params}, true, true)
		response, err := conn.handle(work, method, params, false, of)
		o.end(response, err)
		if _, ok := refusalOf(err); ok || errors.As(err, new(*ProtocolError)) {
			return nil, at(path, err) // the request is wrong, and so is the answer with which it came
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		responses = append(responses, member{string(id), response})
	}
	return object(responses...), nil
}

// mayAsk counts a question of the server. It reports whether it may be asked, and tells
// the program if not. Of is the request that it belongs to; nil if that is not known.
func (conn *connection) mayAsk(method string, of *asked) bool {
	limit := conn.shared.opts.maxQuestions()
	if (of == nil || of.n.Add(1) <= limit) && conn.allowance.take(questionBurst*limit) {
		return true
	}
	conn.shared.declined(method)
	return false
}
