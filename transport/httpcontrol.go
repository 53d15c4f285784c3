package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	listenHeadersWait = time.Second
	listenLater       = 100 * time.Millisecond // after the handshake, where nothing is to be missed
)

// isHandshake reports whether a method is of the handshake, whose requests must not be
// cancelled.
func isHandshake(method string) bool {
	return method == protocol.Initialize || method == protocol.Discover
}

// Write implements mcp.Conn. Requests are posted in the background and fail
// through Read, as an answer with an error would.
func (c *httpConn) Write(ctx context.Context, m jsonrpc.Message) error {
	c.keep()
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if c.ended.Err() != nil {
		return mcp.WithOutcome(context.Cause(c.ended), mcp.NotSent)
	}
	ctx, stop := context.WithTimeout(ctx, controlTimeout)
	defer stop()
	req, isRequest := m.(*jsonrpc.Request)
	switch {
	case !isRequest:
		// The answer to a server's request. If it cannot be delivered the
		// server has to live without it; the session is none the worse.
		_ = c.send(ctx, frame, c.statelessHeader())
		return nil
	case req.IsCall():
		fields := mcp.HTTPHeader(ctx)
		c.run(func() { c.request(req, frame, fields) })
		return nil
	case req.Method == protocol.NoteCancelled:
		c.cancelExchange(req)
	}
	header := c.statelessHeader()
	if header != nil && req.Method == protocol.NoteCancelled {
		return nil // ending the request's stream was the cancellation
	}
	if header != nil {
		header.Set(protocol.HeaderMethod, req.Method)
	}
	err = c.send(ctx, frame, header)
	switch req.Method {
	case protocol.NoteCancelled:
		return nil // the server may have answered, and forgotten the request
	case protocol.NoteInitialized:
		if status, ok := errors.AsType[*StatusError](err); ok && !errors.Is(err, mcp.ErrSessionLost) && !needsLogin(err) && status.Code != http.StatusForbidden {
			err = nil // it asks for nothing; the first request shows what the server is worth
		}
		if err == nil {
			c.listen()
		}
	}
	return err
}

// statelessHeader returns the fields of a notification of a stateless revision, nil if there is a session.
func (c *httpConn) statelessHeader() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stateless == "" {
		return nil
	}
	return http.Header{protocol.HeaderVersion: {c.stateless}}
}

func (c *httpConn) cancelExchange(note *jsonrpc.Request) {
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(note.Params, &params) != nil {
		return
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	if err != nil {
		return
	}
	c.mu.Lock()
	cancel := c.exchanges[id]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// request runs one request of the control plane to its end.
func (c *httpConn) request(req *jsonrpc.Request, frame []byte, fields http.Header) {
	ctx, cancel := context.WithCancel(mcp.WithHTTPHeader(c.ended, fields))
	c.mu.Lock()
	c.exchanges[req.ID] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.exchanges, req.ID)
		c.mu.Unlock()
		cancel()
	}()
	var err error
	if req.Method == protocol.Listen {
		err = c.keepListening(ctx, req, frame)
	} else {
		err = c.control(ctx, req, frame, c.deliver)
	}
	switch {
	case err == nil, ctx.Err() != nil:
	case needsLogin(err) && !(req.Method == protocol.Listen && needsRights(err)):
		c.enter()
		c.lose(ctx, err)
		c.leave()
	default:
		c.deliver(&jsonrpc.Response{ID: req.ID, Error: err})
	}
}

// needsLogin reports whether an error says that nothing is let in before a login.
func needsLogin(err error) bool {
	var status *StatusError
	return errors.As(err, new(*authorizeError)) || errors.As(err, &status) && status.Code == http.StatusUnauthorized
}

// control exchanges one request. Messages go to deliver.
func (c *httpConn) control(ctx context.Context, req *jsonrpc.Request, frame []byte, deliver func(jsonrpc.Message)) error {
	answered := false
	note := func(m jsonrpc.Message) {
		if resp, ok := m.(*jsonrpc.Response); ok && resp.ID == req.ID {
			answered = true
		}
		deliver(m)
	}
	return c.exchange(ctx, frame, requestHeader(req.Method, req.Params), note, func() bool { return answered })
}

// keepInitialized notes what initialize has agreed on: the revision, and whether anything could come by itself, for
// which the client takes requests, or the server announces changes or has what is not known here.
func (c *httpConn) keepInitialized(params, result json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range jsonscan.Fields(result) {
		switch string(key) {
		case "protocolVersion":
			if version, ok := jsonscan.String(value); ok && httpfield.ValidValue(version) {
				c.version, c.fields = version, nil
			}
		case "capabilities":
			declares := len(value) > len("{}")
			for key := range jsonscan.Fields(value) {
				declares = declares && slices.Contains([]string{"tools", "prompts", "resources", "completions"}, string(key))
			}
			c.silent.Store(declares && !bytes.Contains(value, []byte("true")) && string(jsonscan.Member(params, "capabilities")) == "{}")
		}
	}
}

// keepListening holds a subscriptions/listen stream open: a stream that breaks
// is opened again, with a notification that the lists may have changed.
func (c *httpConn) keepListening(ctx context.Context, req *jsonrpc.Request, frame []byte) error {
	opened := false
	var stream listening
	deliver := func(m jsonrpc.Message) {
		stream.note(m)
		if stream.tell() { // what is read now is not read before the server announces again
			c.listChanged()
		}
		c.deliver(m)
	}
	for {
		stream.open(time.Now())
		err := c.control(ctx, req, frame, deliver)
		if err == nil || ctx.Err() != nil || !errors.Is(err, errNoAnswer) && mcp.OutcomeOf(err) == mcp.Answered {
			return err
		}
		var status *StatusError
		if !opened && (needsRights(err) || errors.As(err, &status) && !status.passing()) {
			return err
		}
		if opened = opened || errors.Is(err, errNoAnswer); !errors.Is(err, errNoAnswer) {
			stream.opened = time.Time{}
		}
		if !awaitLogin(ctx, err) || feed.Sleep(ctx, stream.next(0)) != nil {
			return err
		}
	}
}

// listChanged makes the client read its lists again, since a notification may have
// been lost while no stream was open.
func (c *httpConn) listChanged() {
	for _, list := range []string{"tools", "prompts", "resources"} {
		c.deliver(&jsonrpc.Request{Method: "notifications/" + list + "/list_changed"})
	}
}
