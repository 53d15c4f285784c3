package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// ErrResourceNotFound is wrapped by the error of [Client.ReadResource] if the server
// has no such resource. The [*ServerError] has the server's message.
//
//cure:list the resources again: the address is wrong, or the resource is gone
var ErrResourceNotFound = errors.New("mcp: resource not found")

func offersResources(conn *connection) bool {
	return conn.info.capabilities.Resources != nil
}

// Resources yields the server's resources, in its order. Pages are read as they
// are needed, each bounded by ctx and the client's limits. A server without
// resources is not asked.
//
// A resource that is none, without a URI for one, is left out and logged. The
// first error is the last yield: that of a page, or of a list that ends beyond a
// limit of [ClientOptions] or goes round in circles.
func (c *Client) Resources(ctx context.Context) iter.Seq2[*Resource, error] {
	return each(ctx, c, &list[Resource]{
		method:  protocol.ListResources,
		member:  "resources",
		noun:    "resource",
		offered: offersResources,
		decode:  func(raw []byte, _ bool) (*Resource, bool, error) { return decodeItem[Resource](raw, "uri") },
		key:     func(r *Resource) string { return r.URI },
	})
}

// ResourceTemplates yields the server's resource templates as [Client.Resources]
// does its resources.
func (c *Client) ResourceTemplates(ctx context.Context) iter.Seq2[*ResourceTemplate, error] {
	return each(ctx, c, &list[ResourceTemplate]{
		method:  protocol.ListTemplates,
		member:  "resourceTemplates",
		noun:    "resourceTemplate",
		offered: offersResources,
		decode: func(raw []byte, _ bool) (*ResourceTemplate, bool, error) {
			return decodeItem[ResourceTemplate](raw, "uriTemplate")
		},
		key: func(t *ResourceTemplate) string { return t.URITemplate + "\x00" + t.Name },
	})
}

// ReadResource reads a resource. The error is [ErrResourceNotFound] if the server has no such
// resource, and otherwise as for [Client.CallTool].
func (c *Client) ReadResource(ctx context.Context, uri string, opts *RequestOptions) (*ReadResourceResult, error) {
	if err := c.enter(); err != nil {
		return nil, c.explain(&request{method: protocol.ReadResource}, err)
	}
	defer c.leave()
	read := &exchange{}
	read.begin(c, protocol.ReadResource, opts, member{"uri", appendQuoted(nil, uri)})
	var res *ReadResourceResult
	err := read.run(ctx, func(raw json.RawMessage, conn *connection) (need *inputRequired, err error) {
		if res, need, err = decodeReadResult(raw, conn.modern()); res != nil {
			opts.handRaw(raw)
		}
		return need, err
	})
	switch {
	case err == nil:
		return res, nil
	case read.missing(err):
		err = &notFoundError{err}
	}
	return nil, err
}

// missing reports whether a server says that it has no such resource.
func (x *exchange) missing(err error) bool {
	code := refusalCode(err)
	return code == protocol.CodeResourceNotFound || code == jsonrpc.CodeInvalidParams && x.conn != nil && x.conn.modern()
}

// A notFoundError is an error that is ErrResourceNotFound.
type notFoundError struct{ error }

func (e *notFoundError) Unwrap() error { return e.error }

func (e *notFoundError) Is(target error) bool { return target == ErrResourceNotFound }

// Prompts yields the server's prompts as [Client.Resources] does its resources.
// A server without prompts is not asked.
func (c *Client) Prompts(ctx context.Context) iter.Seq2[*Prompt, error] {
	return each(ctx, c, &list[Prompt]{
		method:  protocol.ListPrompts,
		member:  "prompts",
		noun:    "prompt",
		offered: func(conn *connection) bool { return conn.info.capabilities.Prompts != nil },
		decode:  decodePrompt,
		key:     func(p *Prompt) string { return p.Name },
	})
}

// GetPrompt fills in a prompt. What it returns is text of the server's, meant for
// a model: the user should have chosen the prompt. The errors are those of
// [Client.CallTool].
func (c *Client) GetPrompt(ctx context.Context, name string, args map[string]string, opts *RequestOptions) (*GetPromptResult, error) {
	if err := c.enter(); err != nil {
		return nil, c.explain(&request{method: protocol.GetPrompt}, err)
	}
	defer c.leave()
	var arguments json.RawMessage
	if len(args) > 0 {
		arguments, _ = json.Marshal(args) // strings always encode
	}
	get := &exchange{}
	get.begin(c, protocol.GetPrompt, opts, member{"name", appendQuoted(nil, name)}, member{"arguments", arguments})
	var res *GetPromptResult
	err := get.run(ctx, func(raw json.RawMessage, conn *connection) (need *inputRequired, err error) {
		if res, need, err = decodePromptResult(raw, conn.modern()); res != nil {
			opts.handRaw(raw)
		}
		return need, err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}
