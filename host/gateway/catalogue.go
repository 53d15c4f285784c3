package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/listing"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// A catalogueKey says whose list of tools it is.
type catalogueKey struct {
	user  string
	grant string
	form  listForm
}

// A listForm is what a list of the same tools depends on.
type listForm struct {
	room   int    // bytes of a name
	late   bool   // with await_call
	mode   string // direct, search or code
	manage bool   // with upstream_servers
	size   int    // anthropic/maxResultSizeChars in _meta; 0: the client knows no such members
	shown  uint64 // which tools: a hash of their names and of which a person is asked; 0 in a catalogueKey
}

// A catalogue is the list of tools of a view, as it is sent.
type catalogue struct {
	hash    uint64
	tools   []json.RawMessage
	result  json.RawMessage                 // {"tools":[...]}, if it is one page
	names   map[string]string               // of the registry, by those of the view that are others
	headers map[string][]paramheader.Header // of the tools that have any, by their names in the view
}

// maxCatalogues bounds the users whose lists a view keeps.
const maxCatalogues = 256

// catalogues are the lists of a view for one version of the registry's snapshot. Users have lists of
// their own, since a policy may hide tools from them; those who see the same share one.
type catalogues struct {
	version uint64
	of      map[catalogueKey]*catalogue
	built   map[listForm]*catalogue
}

// catalogue returns the list of tools for a client.
func (v *view) catalogue(ctx context.Context, p *peer) *catalogue {
	version := v.gateway.host.Registry().Snapshot().Version()
	user, _ := session.UserOf(ctx)
	key := catalogueKey{user, p.may.key, p.listForm()}
	v.mu.Lock()
	if v.lists.version < version || len(v.lists.of) >= maxCatalogues {
		v.lists = catalogues{version, map[catalogueKey]*catalogue{}, map[listForm]*catalogue{}}
	}
	c := v.lists.of[key]
	v.mu.Unlock()
	if c != nil {
		return c
	}
	tools := p.callable(ctx)
	form, asked := key.form, v.gateway.asked(ctx, key.form, tools)
	form.shown = listing.Hash(v.gateway.seed, tools, func(d *registry.Definition) string {
		if asked[d] {
			return d.Name + "?"
		}
		return d.Name
	})
	v.mu.Lock()
	if v.lists.version == version {
		c = v.lists.built[form]
	}
	v.mu.Unlock()
	if c == nil {
		c = v.build(tools, asked, p.ownTools(tools), form)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lists.version == version {
		v.lists.of[key], v.lists.built[form] = c, c
	}
	return c
}

// callable returns the tools shown that the user of ctx may call.
func (v shown) callable(ctx context.Context) (all []*registry.Definition) {
	for _, t := range v.gateway.host.Registry().Callable(ctx) {
		if d := t.Definition(); v.sees(d) {
			all = append(all, d)
		}
	}
	return all
}

// build makes the list of the given tools, of which those of the gateway itself come last. In another mode than direct
// these are all.
func (v *view) build(tools []*registry.Definition, asked map[*registry.Definition]bool, own []json.RawMessage, form listForm) *catalogue {
	c := &catalogue{names: map[string]string{}, headers: map[string][]paramheader.Header{}}
	size := len(`{"tools":[]}`)
	for _, d := range tools {
		name := v.toolName(d, form.room)
		if name != d.Name {
			c.names[name] = d.Name
		}
		if form.mode != modes.Direct {
			continue
		}
		if headers, _ := paramheader.Find(d.InputSchema); headers != nil {
			c.headers[name] = headers
		}
		item := v.mark(toolJSON(d, name), form, asked[d])
		c.tools = append(c.tools, item)
		size += len(item) + 1
	}
	for _, item := range own {
		c.tools = append(c.tools, item)
		size += len(item) + 1
	}
	c.hash = listing.Hash(v.gateway.seed, c.tools, func(item json.RawMessage) string { return string(item) })
	if size <= v.gateway.limits.PageBytes {
		c.result = listing.Join("tools", c.tools, "", size)
	}
	return c
}

// toolName is what the view calls a tool: what its server does in the view of the server, and
// else what the registry or the profile does, cut to the room that the client leaves.
func (v *view) toolName(d *registry.Definition, room int) string {
	if v.server != "" {
		return d.Origin.Tool
	}
	name := d.Name
	if other := v.profile.Names[name]; other != "" {
		name = other
	}
	return listing.Name(name, room)
}

// registryName returns what the registry calls the tool that a client calls by name. The registry itself knows
// what to say of a name that is not in the list: that of a tool in quarantine, or of a server that is
// not ready.
func (p *peer) registryName(ctx context.Context, name string) (string, error) {
	v := p.view
	c := v.catalogue(ctx, p)
	if known, ok := c.names[name]; ok {
		return known, nil
	}
	r := v.gateway.host.Registry()
	full := name
	if v.server != "" {
		// Of a tool whose name in the registry is the server's own, or that is held back.
		for _, q := range r.Snapshot().Quarantined() {
			if o := q.Tool.Origin; o.Server == v.server && o.Tool == name && p.sees(q.Tool) {
				return q.Tool.Name, nil
			}
		}
		full = r.Names().Name(v.server, name)
	}
	d, err := p.meant(ctx, full)
	switch {
	case err != nil:
		return "", err
	case !p.sees(d) || v.server != "" && d.Origin.Tool != name:
		return "", &registry.UnknownToolError{Name: name}
	}
	return full, nil
}

// meant returns the tool, listed, hidden or in quarantine, that the registry takes a name for, which may be a near one,
// or why there is none. A server that p does not see is not asked, nor told of.
func (p *peer) meant(ctx context.Context, name string) (*registry.Definition, error) {
	r := p.gateway.host.Registry()
	if d, ok := r.Resolve(name); ok {
		return d, nil
	}
	if !p.mayAskFor(name) {
		return nil, &registry.UnknownToolError{Name: name}
	}
	t, err := r.Find(ctx, name)
	if err == nil {
		return t.Definition(), nil
	}
	var held *registry.QuarantinedError
	if errors.As(err, &held) {
		for _, q := range r.Snapshot().Quarantined() {
			if q.Tool.Name == held.Name {
				return q.Tool, nil
			}
		}
	}
	return nil, err
}

// mayAskFor reports whether the host may look for a tool that no one has: it would start the server that the
// name begins with, or say what is wrong with it.
func (p *peer) mayAskFor(name string) bool {
	if p.hasAllServers() {
		return true
	}
	asked := toolname.Fold(name)
	begins := map[string]bool{}
	for _, asked := range []toolname.Name{asked, asked.WithoutMCP()} {
		for server := range asked.Splits() {
			begins[server] = true
		}
	}
	some := false
	for _, s := range p.gateway.host.Servers() {
		if begins[toolname.Fold(s.Name).Folded] {
			if some = true; !p.hasServer(s.Name) {
				return false
			}
		}
	}
	return some || p.server != ""
}

// toolJSON returns a tool as it is listed: as its server sent it, with another name where that
// is needed, if nothing of it was changed here.
func toolJSON(d *registry.Definition, name string) json.RawMessage {
	if d.Raw != nil {
		if name == d.Origin.Tool {
			return d.Raw
		}
		return message.WithMember(d.Raw, "name", message.Quoted(name))
	}
	return message.Marshal(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  any             `json:"annotations,omitempty"`
	}{name, d.Title, d.Description, d.InputSchema, d.OutputSchema, annotationsOf(d)})
}

func annotationsOf(d *registry.Definition) any {
	switch {
	case d.RawAnnotations != nil:
		return d.RawAnnotations
	case d.Annotations != nil:
		return d.Annotations
	}
	return nil
}

// listTools answers tools/list.
func (r *request) listTools(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	c := r.peer.catalogue(ctx, r.peer)
	if message.String(r.params.Cursor) == "" && c.result != nil {
		return r.cacheable(c.result), nil
	}
	return r.page("tools", c.tools, c.hash)
}

// page returns the page of a list that begins at the cursor of the request.
func (r *request) page(member string, items []json.RawMessage, hash uint64) (json.RawMessage, *mcp.JSONRPCError) {
	list, err := listing.Page(member, items, hash, message.String(r.params.Cursor), r.gateway.limits.PageBytes)
	if err != nil {
		return nil, message.InvalidParams("%v", err)
	}
	return r.cacheable(list), nil
}
