package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/listing"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/metatools"
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
	apps   bool   // with tools for apps
	size   int    // anthropic/maxResultSizeChars in _meta; 0: the client knows no such members
	shown  uint64 // which tools: a hash of their names and of which a person is asked; 0 in a catalogueKey
}

// A catalogue is the list of tools of a view, as it is sent.
type catalogue struct {
	tools   []json.RawMessage
	result  json.RawMessage                 // {"tools":[...]}, the first page
	names   map[string]*registry.Definition // by the names of the view that are others than those of the registry
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
	var tools []*registry.Definition // that the user may call
	for _, t := range v.gateway.host.Registry().Callable(ctx) {
		if d := t.Definition(); p.sees(d) {
			tools = append(tools, d)
		}
	}
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

// build makes the list of the given tools, of which those of the gateway itself come last. In another mode than direct
// these are all.
func (v *view) build(tools []*registry.Definition, asked map[*registry.Definition]bool, own []ownTool, form listForm) *catalogue {
	c := &catalogue{names: map[string]*registry.Definition{}, headers: map[string][]paramheader.Header{}}
	for _, d := range tools {
		name := v.toolName(d, form.room)
		if name != d.Name {
			c.names[name] = d
		}
		if form.mode != modes.Direct {
			continue
		}
		if headers, _ := paramheader.Find(d.InputSchema); headers != nil {
			c.headers[name] = headers
		}
		item := metatools.JSON(d, name)
		if v.server == "" && d.Origin.Server != "" {
			item = message.WithPage(item, func(uri string) string { return content.Address(d.Origin.Server, uri) })
		}
		item = v.mark(item, form, asked[d])
		c.tools = append(c.tools, item)
	}
	for _, t := range own {
		if form.mode != modes.Direct {
			t.definition = metatools.AlwaysLoad(t.definition)
		}
		c.tools = append(c.tools, t.definition)
	}
	c.result, _ = listing.Page("tools", c.tools, v.gateway.seed, "", v.gateway.limits.PageBytes) // without a cursor it never fails
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

// find returns the tool, listed, hidden or in quarantine, that the client calls by a name, which may be a near one, and by
// what name the registry is asked for it; or why there is none. The registry itself knows what to say of a name that is not
// in the list, such as that of a server that is not ready. A server that p does not see is not asked, nor told of.
func (p *peer) find(ctx context.Context, name string) (d *registry.Definition, known string, err error) {
	v, r := p.view, p.gateway.host.Registry()
	if d := v.catalogue(ctx, p).names[name]; d != nil {
		return d, d.Name, nil
	}
	held := func(is func(*registry.Definition) bool) *registry.Definition {
		for _, q := range r.Snapshot().Quarantined() {
			if is(q.Tool) {
				return q.Tool
			}
		}
		return nil
	}
	known = name
	if v.server != "" {
		// Of a tool whose name in the registry is the server's own, or that is held back.
		d = held(func(d *registry.Definition) bool {
			return d.Origin.Server == v.server && d.Origin.Tool == name && p.sees(d)
		})
		if d != nil {
			return d, d.Name, nil
		}
		known = r.Names().Name(v.server, name)
	}
	if d, _ = r.Resolve(known); d == nil && p.mayAskFor(known) {
		t, err := r.Find(ctx, known)
		if err == nil {
			d = t.Definition()
		} else if q, ok := errors.AsType[*registry.QuarantinedError](err); ok {
			d = held(func(d *registry.Definition) bool { return d.Name == q.Name })
		}
		if d == nil {
			return nil, "", err
		}
	}
	if d == nil || !p.sees(d) || v.server != "" && d.Origin.Tool != name {
		return nil, "", &registry.UnknownToolError{Name: name}
	}
	return d, known, nil
}

// mayAskFor reports whether the host may look for a tool that no one has: it would start the server that the
// name begins with, or say what is wrong with it.
func (p *peer) mayAskFor(name string) bool {
	if p.hasAllServers() {
		return true
	}
	asked, some := toolname.Fold(name), p.server != ""
	begins := maps.Collect(asked.Splits())
	maps.Insert(begins, asked.WithoutMCP().Splits())
	for _, s := range p.gateway.host.Servers() {
		if _, ok := begins[toolname.Fold(s.Name).Folded]; ok {
			if some = true; !p.hasServer(s.Name) {
				return false
			}
		}
	}
	return some
}

// listTools answers tools/list.
func (r *request) listTools(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	c := r.peer.catalogue(ctx, r.peer)
	if message.String(r.params.Cursor) == "" {
		return r.cacheable(c.result), nil
	}
	return r.page("tools", c.tools)
}

// page returns the page of a list that begins at the cursor of the request.
func (r *request) page(member string, items []json.RawMessage) (json.RawMessage, *mcp.JSONRPCError) {
	list, err := listing.Page(member, items, r.gateway.seed, message.String(r.params.Cursor), r.gateway.limits.PageBytes)
	if err != nil {
		return nil, message.InvalidParams("%v", err)
	}
	return r.cacheable(list), nil
}
