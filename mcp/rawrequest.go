package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Request sends a request of any method, such as one of an extension, and returns the
// result as the server wrote it, whatever its resultType. Params must be a JSON object
// without _meta, or empty; what the revision requires in _meta is added.
//
// The client knows nothing of the method: it does not look for a capability, and
// repeats the request only if it was not sent. The errors are those of
// [Client.CallTool].
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage, opts *RequestOptions) (json.RawMessage, error) {
	more, err := membersOf(params)
	switch {
	case err != nil:
	case method == methodInitialize || method == methodListen || method == "":
		err = errors.New("this method is the client's own")
	default:
		err = c.enter()
	}
	if err != nil {
		return nil, c.explain(&request{method: method}, WithOutcome(err, NotSent))
	}
	defer c.leave()
	x := &exchange{}
	x.begin(c, method, opts)
	x.request.more, x.request.unknown = more, true
	result, _, err := x.send(ctx)
	if err == nil && listsItems(method) {
		if err := jsonscan.Valid(result); err != nil {
			return nil, x.answered(at("result", err))
		}
	}
	return result, err
}

// membersOf takes an object apart.
func membersOf(object json.RawMessage) ([]member, error) {
	if len(object) == 0 {
		return nil, nil
	}
	if err := jsonscan.Valid(object); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	walk := jsonscan.Walk(object)
	if kind := walk.Kind(); kind != '{' {
		return nil, fmt.Errorf("params: %w", &kindError{kind, anObject})
	}
	var members []member
	for key, value := range jsonscan.Fields(object) {
		if string(key) == "_meta" {
			return nil, errors.New("params: _meta belongs into the options")
		}
		members = append(members, member{string(key), value})
	}
	return members, nil
}
