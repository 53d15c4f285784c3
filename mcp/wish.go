package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

// A server's wish is what it wants of the user or of the program: an
// elicitation, words of a model, the roots. To the older revisions it is a
// request of the server's own; in 2026-07-28 it comes with a result. Both are
// granted here.

const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
	// maxWishes is how many wishes of one server can be under way, and how many
	// it can express in one answer.
	maxWishes = 16
)

// declares reports whether the server was told that such wishes are granted.
func (c *Client) declares(method string) bool {
	switch method {
	case methodElicit:
		return c.opts.Elicit != nil || c.opts.ElicitURL != nil
	case methodSample:
		return c.opts.Sample != nil
	case methodRoots:
		return c.opts.Roots != nil
	}
	return false
}

// grant fulfils one wish. The parameters were checked by jsonscan, or are nil.
// Waits says that the server waits for the answer.
func (c *Client) grant(ctx context.Context, method string, params json.RawMessage, waits bool) (result json.RawMessage, err error) {
	if !c.declares(method) {
		return nil, &JSONRPCError{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("this client has no %.80s", method)}
	}
	err = c.attendTo(method, func() error {
		switch method {
		case methodElicit:
			result, err = c.elicit(ctx, params, waits)
		case methodSample:
			result, err = c.sample(ctx, params)
		case methodRoots:
			result, err = c.listRoots()
		}
		return err
	})
	return result, err
}

// attendTo runs a handler of the program's, unless too many run already.
func (c *Client) attendTo(method string, handle func() error) (err error) {
	select {
	case c.wishes <- struct{}{}:
		defer func() { <-c.wishes }()
	default:
		return refused("more than %d wishes at one time", maxWishes)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of %s panicked: %v", method, r)
		}
	}()
	return handle()
}

// A refusal says why a wish cannot be granted, in words that the server may see.
type refusal string

func (r refusal) Error() string { return string(r) }

// refusalOf finds a refusal in an error.
func refusalOf(err error) (string, bool) {
	var reason refusal
	var schema *form.SchemaError
	var field *form.FieldError
	switch {
	case errors.As(err, &reason):
		return string(reason), true
	case errors.As(err, &schema):
		return schema.Error(), true
	case errors.As(err, &field):
		return field.Error(), true
	}
	return "", false
}

func refused(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// refuse turns an error into an answer for the server. Of an error that a
// handler returned the server learns nothing, unless it is meant for it.
func refuse(err error) *JSONRPCError {
	var invalid *ProtocolError
	var meant *JSONRPCError
	reason, meantForServer := refusalOf(err)
	switch {
	case errors.As(err, &meant):
		return meant
	case meantForServer:
		return &JSONRPCError{Code: jsonrpc.CodeInvalidParams, Message: reason}
	case errors.As(err, &invalid):
		return &JSONRPCError{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s: %v", invalid.Path, invalid.Err)}
	}
	return &JSONRPCError{Code: jsonrpc.CodeInternalError, Message: "the client could not do that"}
}

// fulfil grants the wishes that came with a result of revision 2026-07-28, by
// the ids that the server gave them, one after the other. Of counts the questions among
// them.
func (c *Client) fulfil(ctx context.Context, l *life, of *asked, requests json.RawMessage) (json.RawMessage, error) {
	if requests == nil {
		return nil, nil
	}
	var responses []member
	for id, raw := range jsonscan.Fields(requests) {
		if len(responses) == maxWishes {
			return nil, at("inputRequests", fmt.Errorf("more than %d", maxWishes))
		}
		path := fmt.Sprintf("inputRequests[%q]", id)
		method, params, err := decodeWish(raw)
		if err == nil && !c.declares(method) {
			err = at("method", fmt.Errorf("%q was not declared by this client", method))
		}
		if err != nil {
			return nil, at(path, err)
		}
		work, o := l.tap.open(ctx, &jsonrpc.Request{Method: method, Params: params}, true)
		var response json.RawMessage
		if isQuestion(method) && !l.tap.mayAsk(method, of) {
			response, err = declinedAnswer(method)
		} else {
			response, err = c.grant(work, method, params, false)
		}
		o.end(response, err)
		if err != nil {
			return nil, ungranted(path, err)
		}
		responses = append(responses, member{string(id), response})
	}
	return object(responses...), nil
}

// ungranted says which wish could not be granted. What is wrong with the wish
// itself makes the answer invalid that it came with.
func ungranted(path string, err error) error {
	var invalid *ProtocolError
	if _, ok := refusalOf(err); ok || errors.As(err, &invalid) {
		return at(path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func decodeWish(raw []byte) (method string, params json.RawMessage, err error) {
	err = decodeObject(raw,
		field{name: "method", into: &method},
		field{name: "params", into: func(value []byte) error {
			if !isObject(value) && !isNull(value) {
				return wrongKind(value, anObject)
			}
			params = value
			return nil
		}},
	)
	return method, params, err
}
