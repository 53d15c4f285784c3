package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// Complete asks the server to complete an argument of a prompt or a variable of a
// resource template. The Meta of params is sent if the options have none.
//
// An answer holds at most 100 values, as the protocol has it; more are cut off,
// and HasMore is set then. The error is [errors.ErrUnsupported] if the server
// does not complete, and otherwise as for [Client.CallTool].
func (c *Client) Complete(ctx context.Context, params *CompleteParams, opts *RequestOptions) (*CompleteResult, error) {
	x := &exchange{}
	x.request.method = protocol.Complete
	ref, argument, others, err := encodeCompletion(params)
	if err != nil {
		return nil, c.explain(&x.request, WithOutcome(err, NotSent))
	}
	x.begin(c, protocol.Complete, opts, member{"ref", ref}, member{"argument", argument})
	x.request.more = []member{{"context", others}}
	if x.request.meta == nil {
		x.request.meta = params.Meta
	}
	conn, err := c.enterConnected(ctx, &x.request)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	// Servers of older revisions may know the request without saying so.
	if protocol.RevisionOf(conn.info.revision).Completions && conn.info.capabilities.Completions == nil {
		return nil, c.explain(&x.request, WithOutcome(fmt.Errorf("the server does not complete: %w", errors.ErrUnsupported), NotSent))
	}
	var res *CompleteResult
	err = x.run(ctx, func(raw json.RawMessage, _ *connection) (_ *inputRequired, err error) {
		if res, err = decodeCompletion(raw); err == nil {
			opts.handRaw(raw)
		}
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// encodeCompletion writes what is to be completed.
func encodeCompletion(params *CompleteParams) (ref, argument, others json.RawMessage, err error) {
	if params == nil || params.Ref == nil {
		return nil, nil, nil, errors.New("no reference to a prompt or a resource template")
	}
	if ref, err = json.Marshal(params.Ref); err != nil || params.Ref.Name == "" && params.Ref.URI == "" {
		return nil, nil, nil, fmt.Errorf("the reference of type %q needs a name if it is ref/prompt and a URI if it is ref/resource", params.Ref.Type)
	}
	if params.Argument.Name == "" {
		return nil, nil, nil, errors.New("no name of an argument")
	}
	argument, _ = json.Marshal(params.Argument) // strings always encode, with sorted keys
	if params.Context != nil && len(params.Context.Arguments) > 0 {
		others, _ = json.Marshal(params.Context)
	}
	return ref, argument, others, nil
}
