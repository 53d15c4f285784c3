package host

import (
	"context"
	"errors"
	"iter"

	"github.com/mcpbelt/mcpbelt/internal/textguard"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A Resource is a resource of one of the servers.
type Resource struct {
	// Server is the name of the server.
	Server string
	// Address is what it is called among the resources of all servers, see
	// [Address]. It holds what the server says and is not safe to print.
	Address string
	// Resource is what the server says of it: text of an untrusted party, passed on
	// as it is.
	Resource *mcp.Resource
	// Findings are what its texts hide or urge a model to do, at most 8. Look at
	// them before you show them to a model: nothing is held back because of one.
	Findings []registry.Finding
}

// A ResourceTemplate stands for resources of one of the servers.
type ResourceTemplate struct {
	// Server is the name of the server.
	Server string
	// Address is the server's URI template with the server before it, see [Address].
	// What it expands to (RFC 6570) is the address of a resource.
	Address string
	// Template is what the server says of it: text of an untrusted party, passed on
	// as it is.
	Template *mcp.ResourceTemplate
	// Findings are as in [Resource].
	Findings []registry.Finding
}

// Resources asks all servers for their resources, at the same time and as ctx's user
// where users have connections of their own. It returns when each has answered or
// failed, or its time was up; see [ListOptions]. Servers without resources are not
// asked, nor are lazy ones that do not run. Of resources of a server with the same
// URI the first counts.
func (h *Host) Resources(ctx context.Context, opts *ListOptions) *Listing[Resource] {
	guard := textguard.NewGuard()
	return listAll(ctx, h, opts, "resources", (*mcp.Client).Resources, func(server string, r *mcp.Resource) (string, Resource) {
		g := &itemGate{guard: guard}
		g.text("/uri", r.URI, false)
		g.text("/name", r.Name, true)
		g.text("/title", r.Title, true)
		g.text("/description", r.Description, true)
		g.text("/mimeType", r.MIMEType, false)
		return r.URI, Resource{Server: server, Address: Address(server, r.URI), Resource: r, Findings: g.found}
	})
}

// ResourceTemplates asks all servers for their resource templates, as
// [Host.Resources] does for resources.
func (h *Host) ResourceTemplates(ctx context.Context, opts *ListOptions) *Listing[ResourceTemplate] {
	guard := textguard.NewGuard()
	return listAll(ctx, h, opts, "resource templates", (*mcp.Client).ResourceTemplates, func(server string, t *mcp.ResourceTemplate) (string, ResourceTemplate) {
		g := &itemGate{guard: guard}
		g.text("/uriTemplate", t.URITemplate, false)
		g.text("/name", t.Name, true)
		g.text("/title", t.Title, true)
		g.text("/description", t.Description, true)
		g.text("/mimeType", t.MIMEType, false)
		return t.URITemplate, ResourceTemplate{Server: server, Address: Address(server, t.URITemplate), Template: t, Findings: g.found}
	})
}

// ReadResource reads a resource of one of the servers, as ctx's user where users have
// connections of their own. A lazy server is started for it. The URIs in the result
// are the server's own.
//
// The error is an [*AddressError] if there is no such address, and otherwise that of
// [Host.Client] or [mcp.Client.ReadResource].
func (h *Host) ReadResource(ctx context.Context, address string, opts *mcp.RequestOptions) (*mcp.ReadResourceResult, error) {
	c, _, uri, err := h.clientAt(ctx, address)
	if err != nil {
		return nil, err
	}
	return c.ReadResource(ctx, uri, opts)
}

// CompleteTemplate asks the server how the value of a variable of a resource template
// may go on. Address is that of the template, and known has the values of the
// variables that have one; it may be nil. The errors are those of [Host.ReadResource]
// and [mcp.Client.Complete].
func (h *Host) CompleteTemplate(ctx context.Context, address string, variable mcp.CompleteArgument, known map[string]string, opts *mcp.RequestOptions) (*mcp.CompleteResult, error) {
	c, _, template, err := h.clientAt(ctx, address)
	if err != nil {
		return nil, err
	}
	return c.Complete(ctx, completion(&mcp.CompleteReference{Type: "ref/resource", URI: template}, variable, known), opts)
}

func completion(ref *mcp.CompleteReference, argument mcp.CompleteArgument, known map[string]string) *mcp.CompleteParams {
	params := &mcp.CompleteParams{Ref: ref, Argument: argument}
	if len(known) > 0 {
		params.Context = &mcp.CompleteContext{Arguments: known}
	}
	return params
}

// ResourceUpdates yields an address whenever the resource may have changed, as
// [mcp.Client.ResourceUpdates] does its URI: first when the server has agreed to
// announce changes, and also when the server was connected or replaced anew. It may
// be the address of a part of the resource.
//
// It ends when ctx ends or the host is closed. Otherwise the last yield is an error:
// those of ReadResource if there is no such server, not any more, or it is disabled,
// and [errors.ErrUnsupported] if the server does not announce changes.
func (h *Host) ResourceUpdates(ctx context.Context, address string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var before *mcp.Client
		for {
			c, server, uri, err := h.clientAfter(ctx, address, before)
			if c == nil && err == nil {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
			for changed, err := range c.ResourceUpdates(ctx, uri) {
				if errors.Is(err, mcp.ErrClosed) {
					break // the server was replaced or stopped
				}
				if err != nil {
					yield("", err)
					return
				}
				if !yield(Address(server, changed), nil) {
					return
				}
			}
			before = c
		}
	}
}

// clientAfter returns the client at an address as soon as it is another one than
// before, which was closed. It returns none if ctx ended or the host was closed.
func (h *Host) clientAfter(ctx context.Context, address string, before *mcp.Client) (c *mcp.Client, server, uri string, err error) {
	for range h.Watch(ctx) {
		c, server, uri, err = h.clientAt(ctx, address)
		if ctx.Err() != nil || h.ctx.Err() != nil {
			return nil, "", "", nil
		}
		if err != nil || c != before {
			return c, server, uri, err
		}
	}
	return nil, "", "", nil
}

// clientAt returns the client of the server of an address, and the URI there.
func (h *Host) clientAt(ctx context.Context, address string) (c *mcp.Client, server, uri string, err error) {
	server, uri, err = ParseAddress(address)
	if err != nil {
		return nil, "", "", err
	}
	c, err = h.clientOf(ctx, server)
	var unknown *UnknownServerError
	if errors.As(err, &unknown) {
		wrong := &AddressError{Address: address, Problem: "there is no server " + shown(server), Err: err}
		for _, name := range nearest(server, h.serverNames()) {
			wrong.Suggestions = append(wrong.Suggestions, Address(name, uri))
		}
		return nil, "", "", wrong
	}
	return c, server, uri, err
}
