package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	read := &exchange{}
	read.begin(c, protocol.ReadResource, opts, member{"uri", appendQuoted(nil, uri)})
	res, err := fetch(ctx, read, opts, decodeReadResult)
	if err != nil && read.missing(err) {
		err = &notFoundError{err}
	}
	return res, err
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
	var arguments json.RawMessage
	if len(args) > 0 {
		arguments, _ = json.Marshal(args) // strings always encode
	}
	get := &exchange{}
	get.begin(c, protocol.GetPrompt, opts, member{"name", appendQuoted(nil, name)}, member{"arguments", arguments})
	return fetch(ctx, get, opts, decodePromptResult)
}

// ResourceUpdates yields a URI whenever the resource may have changed: first when the
// server has accepted the subscription, so that a read from then on misses no change,
// and again after each notification and each new connection. The URI is uri itself or,
// as the server chooses, that of a part of it. A consumer that is slower than the
// changes sees each URI once.
//
// It ends when ctx ends or the client is closed. If the server sends no notifications
// of changes the last yield is an error, which is [errors.ErrUnsupported] if it does
// not support them.
func (c *Client) ResourceUpdates(ctx context.Context, uri string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if c.transport == nil {
			yield("", errZero)
			return
		}
		w := c.topics.Join(uri) // before there is a connection: the next ones know of it
		defer c.topics.Leave(w)
		conn, err := c.acquire(ctx, nil)
		if err == nil && !conn.announcesUpdates() {
			err = c.announcesNothing()
		}
		if err != nil {
			yield("", err)
			return
		}
		for {
			select {
			case <-w.Signal:
			case <-ctx.Done():
				return
			case <-c.closing.Done():
				return
			}
			uris, err := c.topics.Take(w)
			for _, uri := range uris {
				if !yield(uri, nil) {
					return
				}
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

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
	// Servers of older revisions may know the request without saying so.
	if err := x.offered(ctx, "does not complete", func(conn *connection) bool {
		return !protocol.RevisionOf(conn.info.revision).Completions || conn.info.capabilities.Completions != nil
	}); err != nil {
		return nil, err
	}
	return fetch(ctx, x, opts, decodeCompletion)
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
