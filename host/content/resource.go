package content

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/session"
)

// A Resource is a resource of one of the servers.
type Resource struct {
	// Server is the name of the server.
	Server string
	// Name is the server's name of the resource with the server before it, such as
	// "github__readme", by the [names.Scheme] of the registry as that of a [Prompt]. It is
	// for lists: two resources of a server may have the same name.
	Name string
	// Address is what the resource is read by, see [Address]. It holds what the server says
	// and is not safe to print.
	Address string
	// Resource is what the server says of it: text of an untrusted party, passed on
	// as it is.
	Resource *mcp.Resource
	// Findings are what its texts hide or urge a model to do, at most 16. Look at
	// them before you show them to a model: nothing is held back because of one.
	Findings []gate.Finding
}

// A ResourceTemplate stands for resources of one of the servers.
type ResourceTemplate struct {
	// Server is the name of the server.
	Server string
	// Name is as in [Resource].
	Name string
	// Address is the server's URI template with the server before it, see [Address].
	// It expands (RFC 6570) to the address of a resource.
	Address string
	// Template is what the server says of it: text of an untrusted party, passed on
	// as it is.
	Template *mcp.ResourceTemplate
	// Findings are as in [Resource].
	Findings []gate.Finding
}

// Resources asks all servers for their resources, at the same time and as ctx's user
// where users have connections of their own. It returns when each has answered or
// failed, or its time was up; see [ListOptions]. Servers without resources are not
// asked, nor are lazy ones that do not run. Of resources of a server with the same
// URI the first counts.
func (c *Content) Resources(ctx context.Context, opts *ListOptions) *Listing[Resource] {
	names := c.naming()
	return listAll(ctx, c, opts, "resources", (*mcp.Client).Resources, func(server string, r *mcp.Resource) (string, Resource) {
		found := gate.Merge(gate.Text("/uri", r.URI, false), findings("", r.Name, r.Title, r.Description), gate.Text("/mimeType", r.MIMEType, false))
		return r.URI, Resource{Server: server, Name: names.Name(server, r.Name), Address: Address(server, r.URI), Resource: r, Findings: found}
	})
}

// ResourceTemplates asks all servers for their resource templates, as
// [Content.Resources] does for resources.
func (c *Content) ResourceTemplates(ctx context.Context, opts *ListOptions) *Listing[ResourceTemplate] {
	names := c.naming()
	return listAll(ctx, c, opts, "resource templates", (*mcp.Client).ResourceTemplates, func(server string, t *mcp.ResourceTemplate) (string, ResourceTemplate) {
		found := gate.Merge(gate.Text("/uriTemplate", t.URITemplate, false), findings("", t.Name, t.Title, t.Description), gate.Text("/mimeType", t.MIMEType, false))
		return t.URITemplate, ResourceTemplate{Server: server, Name: names.Name(server, t.Name), Address: Address(server, t.URITemplate), Template: t, Findings: found}
	})
}

// ReadResource reads a resource of one of the servers, as ctx's user where users have
// connections of their own. A lazy server is started for it. The URIs in the result
// are the server's own.
//
// The error is an [*AddressError] if there is no such address, and otherwise that of
// [host.Host.Client] or [mcp.Client.ReadResource].
func (c *Content) ReadResource(ctx context.Context, address string, opts *mcp.RequestOptions) (res *mcp.ReadResourceResult, err error) {
	err = c.at(ctx, address, func(ctx context.Context, c *mcp.Client, uri string) error {
		res, err = c.ReadResource(ctx, uri, opts)
		return err
	})
	return res, err
}

// CompleteTemplate asks the server how the value of a variable of a resource template
// may go on. Address is that of the template, and known has the values of the
// variables that have one; it may be nil. The errors are those of [Content.ReadResource]
// and [mcp.Client.Complete].
func (c *Content) CompleteTemplate(ctx context.Context, address string, variable mcp.CompleteArgument, known map[string]string, opts *mcp.RequestOptions) (res *mcp.CompleteResult, err error) {
	err = c.at(ctx, address, func(ctx context.Context, c *mcp.Client, template string) error {
		res, err = c.Complete(ctx, completion(&mcp.CompleteReference{Type: "ref/resource", URI: template}, variable, known), opts)
		return err
	})
	return res, err
}

// findings returns what is seen in the texts of an item that are meant to be read.
func findings(at, name, title, description string) []gate.Finding {
	return slices.Concat(gate.Text(at+"/name", name, true), gate.Text(at+"/title", title, true), gate.Text(at+"/description", description, true))
}

func completion(ref *mcp.CompleteReference, argument mcp.CompleteArgument, known map[string]string) *mcp.CompleteParams {
	params := &mcp.CompleteParams{Ref: ref, Argument: argument}
	if len(known) > 0 {
		params.Context = &mcp.CompleteContext{Arguments: known}
	}
	return params
}

// at calls f with the client of the server of an address, and the URI there.
func (c *Content) at(ctx context.Context, address string, f func(ctx context.Context, c *mcp.Client, uri string) error) error {
	server, uri, err := ParseAddress(address)
	if err != nil {
		return err
	}
	err = c.host.WithClient(ctx, session.Key{Server: server}, func(ctx context.Context, c *mcp.Client) error { return f(ctx, c, uri) })
	return noSuchServer(address, server, uri, err)
}

// noSuchServer makes an AddressError of the error about an unknown server.
func noSuchServer(address, server, uri string, err error) error {
	unknown, ok := errors.AsType[*host.UnknownServerError](err)
	if !ok {
		return err
	}
	wrong := &AddressError{Address: address, problem: "there is no server " + shown(server), err: err}
	for _, name := range nearest(server, unknown.Known) {
		wrong.Suggestions = append(wrong.Suggestions, Address(name, uri))
	}
	return wrong
}
