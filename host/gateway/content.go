package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/listing"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// withServer calls f with the client of the view's one server.
func (r *request) withServer(ctx context.Context, f func(context.Context, *mcp.Client) error) error {
	return r.gateway.host.WithClient(ctx, session.Key{User: r.peer.caller.User, Server: r.peer.view.server}, f)
}

// options returns those of a request to a server, whose result is put into raw.
func (r *request) options(j *job, raw *json.RawMessage) *mcp.RequestOptions {
	return &mcp.RequestOptions{Raw: raw, Meta: r.meta(), Input: r.input(), Progress: j.report}
}

// getPrompt answers prompts/get.
func (r *request) getPrompt(ctx context.Context) *job {
	name := message.String(r.params.Name)
	if name == "" {
		return refused(message.InvalidParams("params.name is missing"))
	}
	var args map[string]string
	if given := r.params.Arguments; given != nil && json.Unmarshal(given, &args) != nil {
		return refused(message.InvalidParams("params.arguments is not an object of strings"))
	}
	if j := r.continued(); j != nil {
		return j
	}
	v := r.peer.shown
	return r.gateway.start(ctx, r, name, func(ctx context.Context, j *job) (json.RawMessage, *mcp.JSONRPCError) {
		var raw json.RawMessage
		opts := r.options(j, &raw)
		err := j.withLogin(ctx, func(ctx context.Context) error {
			if v.server != "" {
				return r.withServer(ctx, func(ctx context.Context, c *mcp.Client) error {
					_, err := c.GetPrompt(ctx, name, args, opts)
					return err
				})
			}
			if !v.hasPrompt(ctx, name) {
				return &content.UnknownPromptError{Name: name}
			}
			_, err := r.gateway.content.GetPrompt(ctx, name, args, opts)
			return err
		})
		return r.answered(raw, err)
	})
}

// answered is the answer to a request that a server answered, or that failed.
func (r *request) answered(raw json.RawMessage, err error) (json.RawMessage, *mcp.JSONRPCError) {
	if needs, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return r.inputRequired(needs)
	}
	if err != nil {
		return nil, requestError(err)
	}
	return r.complete2026(raw), nil
}

// hasPrompt reports whether a prompt is one of the view's servers, of which there is more than one.
func (v shown) hasPrompt(ctx context.Context, name string) bool {
	return v.hasAllServers() ||
		slices.ContainsFunc(v.gateway.content.Prompts(ctx, v.listOptions()).Items, func(p content.Prompt) bool { return p.Name == name })
}

// readResource answers resources/read.
func (r *request) readResource(ctx context.Context) *job {
	address := message.String(r.params.URI)
	if address == "" {
		return refused(message.InvalidParams("params.uri is missing"))
	}
	if j := r.continued(); j != nil {
		return j
	}
	v := r.peer.shown
	return r.gateway.start(ctx, r, address, func(ctx context.Context, j *job) (json.RawMessage, *mcp.JSONRPCError) {
		var raw json.RawMessage
		server, uri, err := v.uri(address)
		read := func(ctx context.Context) error {
			_, err := r.gateway.content.ReadResource(ctx, content.Address(server, uri), r.options(j, &raw))
			return err
		}
		if err == nil {
			err = j.withLogin(ctx, read)
		}
		if v.server == "" && isNotFound(err) {
			its, itsURI, failed := r.serverWith(ctx, address)
			switch names := address == content.Address(server, uri) && r.gateway.statusOf(server) != nil; {
			case failed != nil:
				return nil, failed
			case its != "":
				server, uri = its, itsURI
				err = j.withLogin(ctx, read)
			case !names: // a result has named it, of whichever server
				var found []string
				for _, its := range v.withResources() {
					var answer json.RawMessage
					plain := &mcp.RequestOptions{Raw: &answer, Meta: r.meta()}
					if _, e := r.gateway.content.ReadResource(ctx, content.Address(its, address), plain); e == nil {
						found = append(found, content.Address(its, address))
						server, uri, raw, err = its, address, answer, nil
					}
				}
				if len(found) > 1 {
					return nil, severalHave(found)
				}
			}
		}
		if errors.Is(err, mcp.ErrResourceNotFound) || errors.As(err, new(*content.AddressError)) {
			return nil, r.noResource(address)
		}
		raw, failed := r.answered(raw, err)
		if failed != nil {
			return nil, failed
		}
		if uri != address {
			raw = withAddresses(raw, server, uri, address)
		}
		return r.cacheable(raw), nil
	})
}

// isNotFound reports whether an error says that there is no such resource, as servers say it.
func isNotFound(err error) bool {
	refused, _ := errors.AsType[*mcp.ServerError](err)
	return errors.Is(err, mcp.ErrResourceNotFound) || errors.As(err, new(*content.AddressError)) ||
		refused != nil && refused.Err.Code == message.CodeInvalidParams
}

// withResources returns the servers of the view that run and have resources.
func (v shown) withResources() (servers []string) {
	for _, s := range v.gateway.host.Servers() {
		if caps := s.State.Capabilities; v.hasServer(s.Name) && caps != nil && caps.Resources != nil {
			servers = append(servers, s.Name)
		}
	}
	return servers
}

// locate returns the server of a resource, and the URI that it has there. See serverWith.
func (r *request) locate(ctx context.Context, address string) (server, uri string, failed *mcp.JSONRPCError) {
	v := r.peer.shown
	server, uri, err := v.uri(address)
	if v.server != "" || err == nil && r.gateway.statusOf(server) != nil {
		return server, uri, nil
	}
	if server, uri, failed = r.serverWith(ctx, address); server == "" && failed == nil {
		failed = r.noResource(address)
	}
	return server, uri, failed
}

// serverWith returns the one server of the view that has a resource by its own URI, as results of tools name it, or by an
// address that the client has written anew. It returns no server if none has it, and fails if several have.
func (r *request) serverWith(ctx context.Context, address string) (server, uri string, failed *mcp.JSONRPCError) {
	o := r.peer.listOptions()
	if o != nil && len(o.Servers) == 0 || len(address) > maxURI {
		return "", "", nil
	}
	found := r.gateway.content.FindResource(ctx, address, o)
	if len(found) > 1 {
		return "", "", severalHave(found)
	}
	for _, its := range found {
		server, uri, _ = content.ParseAddress(its)
	}
	return server, uri, nil
}

// severalHave is the answer to a request for a resource that several servers have, at the given addresses.
func severalHave(addresses []string) *mcp.JSONRPCError {
	for i, its := range addresses {
		addresses[i] = fmt.Sprintf("%.500q", its)
	}
	return message.InvalidParams("several servers have this resource: read one of %s", strings.Join(addresses, ", "))
}

// noResource is the answer to a request for a resource that does not exist.
func (r *request) noResource(address string) *mcp.JSONRPCError {
	code := int64(message.CodeNotFound)
	if r.peer.modern() {
		code = message.CodeInvalidParams
	}
	e := message.Failure(code, "Resource not found: %.500s", address)
	e.Data = message.Marshal(map[string]string{"uri": address})
	return e
}

// withAddresses puts addresses in the place of a server's URIs: of the one that was read, that by which the client did.
func withAddresses(result json.RawMessage, server, read, address string) json.RawMessage {
	var contents []json.RawMessage
	for item := range jsonscan.Elements(jsonscan.Member(result, "contents")) {
		if uri, ok := message.Text(item, "uri"); ok {
			its := address
			if uri != read {
				its = content.Address(server, uri)
			}
			item = message.WithMember(item, "uri", message.Quoted(its))
		}
		contents = append(contents, item)
	}
	if contents == nil {
		return result
	}
	list := listing.Join("contents", contents, "", len(result))
	return message.WithMember(result, "contents", jsonscan.Member(list, "contents"))
}

// requestError is the answer to a request that failed otherwise than by the server's own error.
// It says nothing that may hold a secret.
func requestError(err error) *mcp.JSONRPCError {
	if refused, ok := errors.AsType[*mcp.ServerError](err); ok {
		return refused.Err
	}
	if prompt, ok := errors.AsType[*content.UnknownPromptError](err); ok {
		return message.InvalidParams("unknown prompt: %.200q", prompt.Name)
	}
	e := message.Failure(message.CodeInternal, "%s", strings.TrimSpace((&mcp.CallToolResult{Content: registry.ErrorResult(err).Content}).Text()))
	if made := madeOf(err); made != "" {
		e.Data = message.Marshal(map[string]string{MetaOutcome: made})
	}
	return e
}

// listOptions names the servers that the view shows.
func (v shown) listOptions() *content.ListOptions {
	if v.hasAllServers() {
		return nil
	}
	o := &content.ListOptions{Servers: []string{}}
	for _, s := range v.gateway.host.Servers() {
		if v.hasServer(s.Name) && s.Enabled {
			o.Servers = append(o.Servers, s.Name)
		}
	}
	return o
}

// listContent answers the lists of resources, resource templates, prompts and skills: under the names of the view, if that has several
// servers, of which one that fails takes nothing from the others. A view of one server passes on what that sent.
func (r *request) listContent(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	v, c := r.peer.shown, r.gateway.content
	o := v.listOptions()
	if o != nil && len(o.Servers) == 0 {
		return r.page(r.lists, nil)
	}
	if v.server != "" {
		o.Start = true
	}
	ctx, raw := message.AsSaid(ctx)
	var items []json.RawMessage
	add := func(item any, name, member, value string) {
		said := raw(item)
		if v.server == "" {
			said = message.WithMember(message.WithMember(said, "name", message.Quoted(name)), member, message.Quoted(value))
		}
		items = append(items, said)
	}
	var err error
	switch r.method {
	case protocol.ListPrompts:
		l := c.Prompts(ctx, o)
		for _, p := range l.Items {
			add(p.Prompt, p.Name, "name", p.Name)
		}
		err = l.Err()
	case protocol.ListResources:
		l := c.Resources(ctx, o)
		for _, res := range l.Items {
			add(res.Resource, res.Name, "uri", res.Address)
		}
		err = l.Err()
	case protocol.ListTemplates:
		l := c.ResourceTemplates(ctx, o)
		for _, t := range l.Items {
			add(t.Template, t.Name, "uriTemplate", t.Address)
		}
		err = l.Err()
	default: // of what was accepted
		l := r.gateway.skills.List(ctx, o)
		for i := range l.Items {
			if r.gateway.serves(&l.Items[i]) {
				items = append(items, message.Marshal(v.skillEntry(&l.Items[i])))
			}
		}
		err = l.Err()
	}
	if err != nil && v.server != "" {
		return nil, requestError(err)
	}
	return r.page(r.lists, items)
}

// complete answers completion/complete.
func (r *request) complete(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	v, c := r.peer.shown, r.gateway.content
	var result json.RawMessage
	var err error
	if v.server != "" {
		err = r.withServer(ctx, func(ctx context.Context, c *mcp.Client) (err error) {
			result, err = c.Request(ctx, r.method, canonjson.Without(r.params.All, "_meta"), &mcp.RequestOptions{Meta: r.meta()})
			return err
		})
	} else {
		var p mcp.CompleteParams
		if json.Unmarshal(r.params.All, &p) != nil || p.Ref == nil {
			return nil, message.InvalidParams("params.ref is missing, or not one of ref/prompt and ref/resource")
		}
		var known map[string]string
		if p.Context != nil {
			known = p.Context.Arguments
		}
		opts := &mcp.RequestOptions{Raw: &result, Meta: r.meta()}
		switch {
		case p.Ref.Type == "ref/prompt" && v.hasPrompt(ctx, p.Ref.Name):
			_, err = c.CompletePrompt(ctx, p.Ref.Name, p.Argument, known, opts)
		case p.Ref.Type == "ref/prompt":
			err = &content.UnknownPromptError{Name: p.Ref.Name}
		default:
			server, uri, failed := r.locate(ctx, p.Ref.URI)
			if failed != nil {
				return nil, failed
			}
			_, err = c.CompleteTemplate(ctx, content.Address(server, uri), p.Argument, known, opts)
		}
	}
	if err != nil {
		return nil, requestError(err)
	}
	return message.FirstCompletions(result), nil
}
