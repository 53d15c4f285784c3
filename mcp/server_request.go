package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// handleRequest runs the handler for a server request and returns its result. The
// parameters were checked by jsonscan, or are nil. Waits says that the server waits for
// the answer. Of belongs to the request that caused it; nil if that is not known.
func (s *shared) handleRequest(ctx context.Context, method string, params json.RawMessage, waits bool, of *asked) (result json.RawMessage, err error) {
	if !s.opts.declares(method) {
		return nil, &JSONRPCError{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("this client has no %.80s", method)}
	}
	err = s.runHandler(method, func() error {
		switch method {
		case protocol.Elicit:
			result, err = s.elicit(ctx, params, waits, of)
		case protocol.Sample:
			result, err = s.sample(ctx, params, of)
		case protocol.ListRoots:
			result, err = s.listRoots(ctx)
		}
		return err
	})
	return result, err
}

// runHandler runs a handler of the program, unless too many run already.
func (s *shared) runHandler(method string, handle func() error) (err error) {
	limit := s.opts.maxHandlers()
	defer s.handling.Add(-1)
	if int(s.handling.Add(1)) > limit {
		return refused("more than %d requests at one time", limit)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the handler of %s panicked: %v", method, r)
		}
	}()
	return handle()
}

// decodeServerRequest decodes a request that came with a result.
func decodeServerRequest(raw []byte) (method string, params json.RawMessage, err error) {
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
