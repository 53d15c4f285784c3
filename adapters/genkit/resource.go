package genkit

import (
	"context"
	"slices"
	"strings"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// A ResourceReader reads resources: a content.Content by their addresses among those of all
// servers, an [mcp.Client] by their URIs at its server.
type ResourceReader interface {
	// ReadResource reads the resource of an address.
	ReadResource(ctx context.Context, address string, opts *mcp.RequestOptions) (*mcp.ReadResourceResult, error)
}

// Read reads a resource, as parts of a message of the user: texts, and images with a
// line before each that says what it is. Of the options Provider and Turn.TextOnly count.
// The words are the server's. The error is the reader's.
func Read(ctx context.Context, from ResourceReader, address string, opts *Options) ([]*ai.Part, error) {
	res, err := from.ReadResource(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	content := make([]mcp.Content, 0, len(res.Contents))
	for _, c := range res.Contents {
		if c != nil {
			content = append(content, &mcp.EmbeddedResource{Resource: c})
		}
	}
	if len(content) == 0 {
		return []*ai.Part{ai.NewTextPart("The resource is empty.")}, nil
	}
	return contentParts(content, opts, ai.RoleUser), nil
}

// contentParts returns content as parts of a message. Models do not speak in images.
func contentParts(content []mcp.Content, opts *Options, role ai.Role) []*ai.Part {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Provider == "" {
		o.Provider = profile.OpenAI
	}
	var parts []*ai.Part
	for _, p := range o.parts(&mcp.CallToolResult{Content: content}) {
		parts = append(parts, ai.NewTextPart(p.Text))
		if p.Data != nil && role == ai.RoleUser {
			parts = append(parts, mediaPart(p.Type, p.DataURL(), ""))
		}
	}
	return parts
}

// Resource returns a resource of Genkit that stands for all whose addresses begin with
// a scheme and "://": with a content.Content the scheme is the name of a server, and an address is
// that of content.Address. Give those of a program to [ai.WithResources] or
// genkit.RegisterAction; [ai.NewResourcePart] with an address then stands for what the
// server has there when the request is made. Nothing is listed or kept.
//
// Genkit looks for resources with its own idea of a URI, and says no more than the text
// of an error. [Read] takes every address, and has errors that tell of a login. Of the
// options Provider and Turn.TextOnly count.
func Resource(from ResourceReader, scheme string, opts *Options) ai.Resource {
	var o Options
	if opts != nil {
		o = *opts
	}
	return &resource{from: from, scheme: scheme, opts: o}
}

// A resource stands for those of a scheme. It is made anew for each registry: Genkit's
// own cannot be used by two requests at the same time.
type resource struct {
	from   ResourceReader
	scheme string
	opts   Options
}

// schemes returns how the scheme may be written in what Genkit compares: in small
// letters if the address happens to be a URL.
func (r *resource) schemes() []string {
	return slices.Compact([]string{r.scheme, strings.ToLower(r.scheme)})
}

// all returns Genkit's own resources for it.
func (r *resource) all() []ai.Resource {
	var all []ai.Resource
	for _, scheme := range r.schemes() {
		all = append(all, ai.NewResource("mcpbelt:"+scheme, &ai.ResourceOptions{
			Template:    scheme + "://{+uri}",
			Description: "The resources of " + r.scheme + ".",
		}, r.Execute))
	}
	return all
}

// Name implements [ai.Resource].
func (r *resource) Name() string { return "mcpbelt:" + r.scheme }

// Matches implements [ai.Resource].
func (r *resource) Matches(address string) bool { return r.match(address) != nil }

func (r *resource) match(address string) ai.Resource {
	for _, one := range r.all() {
		if one.Matches(address) {
			return one
		}
	}
	return nil
}

// ExtractVariables implements [ai.Resource].
func (r *resource) ExtractVariables(address string) (map[string]string, error) {
	if one := r.match(address); one != nil {
		return one.ExtractVariables(address)
	}
	return r.all()[0].ExtractVariables(address)
}

// Execute implements [ai.Resource].
func (r *resource) Execute(ctx context.Context, in *ai.ResourceInput) (*ai.ResourceOutput, error) {
	parts, err := Read(ctx, r.from, in.URI, &r.opts)
	if err != nil {
		return nil, err
	}
	return &ai.ResourceOutput{Content: parts}, nil
}

// Register implements [ai.Resource].
func (r *resource) Register(to api.Registry) {
	for _, one := range r.all() {
		one.Register(to)
	}
}
