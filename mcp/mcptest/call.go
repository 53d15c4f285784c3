package mcptest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A Call is one request or notification of the client, with the means to answer
// it. Its methods are safe for concurrent use; those that send do nothing once
// the connection has ended.
type Call struct {
	Received

	link *link
	id   jsonrpc.ID
	ctx  context.Context
}

// Context ends when the client cancels the request or the connection ends.
func (c *Call) Context() context.Context { return c.ctx }

// ID returns the request's id as JSON.
func (c *Call) ID() string {
	id, _ := json.Marshal(c.id.Raw()) // a string or a number always encodes
	return string(id)
}

// Result answers the request with a result, given as JSON.
func (c *Call) Result(result string) {
	c.answer(&jsonrpc.Response{ID: c.id, Result: raw(result)})
}

// Error answers the request with an error.
func (c *Call) Error(code int64, message string) {
	c.answer(&jsonrpc.Response{ID: c.id, Error: &mcp.JSONRPCError{Code: code, Message: message}})
}

// ErrorData answers the request with an error that carries data, given as JSON.
func (c *Call) ErrorData(code int64, message, data string) {
	c.answer(&jsonrpc.Response{ID: c.id, Error: &mcp.JSONRPCError{Code: code, Message: message, Data: raw(data)}})
}

func (c *Call) answer(r *jsonrpc.Response) {
	if c.id.IsValid() {
		c.link.write(r)
	}
}

// Notify sends a notification with the given params, as JSON or empty.
func (c *Call) Notify(method, params string) {
	c.link.write(&jsonrpc.Request{Method: method, Params: raw(params)})
}

// Progress sends a progress notification for the request, if it asked for them.
func (c *Call) Progress(progress float64) {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(c.Params, &params) == nil && params.Meta.Token != nil {
		c.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%v}`, params.Meta.Token, progress))
	}
}

// Ask sends the client a request and returns its answer: a [*mcp.JSONRPCError]
// if it refuses, and Context's error if that ends first.
func (c *Call) Ask(method, params string) (json.RawMessage, error) {
	return c.link.ask(c.ctx, method, raw(params))
}

// Disconnect ends the connection, as the server's death would.
func (c *Call) Disconnect() { c.link.close() }
