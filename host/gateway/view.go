package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/filter"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A view is what a client sees at one URL: all servers, those of a profile, or one server
// under its own names.
type view struct {
	gateway *Gateway
	path    string // below which it stands, such as /p/office
	server  string // whose own names it has; empty: those of the registry
	name    string // of the profile; empty: it is none
	profile Profile
	filter  filter.Filter

	mu    sync.Mutex // guards the following
	lists catalogues
}

// makeViews makes the view of everything and those of profiles.
func (g *Gateway) makeViews(profiles map[string]Profile) error {
	g.views[""] = &view{gateway: g}
	for name, p := range profiles {
		v := &view{gateway: g, path: "/p/" + name, name: name, profile: p}
		var err error
		if v.filter, err = filter.New(p.Servers, p.Tools, p.ReadOnly); err != nil {
			return fmt.Errorf("gateway: profile %q: %w", name, err)
		}
		g.views[v.path] = v
	}
	return nil
}

// viewOf returns the view at a URL path, and the rest of the path; nil if there is none. Those of
// servers are made when they are first used, and forgotten when their server is.
func (g *Gateway) viewOf(path string) (*view, string) {
	base := ""
	if strings.HasPrefix(path, "/p/") || strings.HasPrefix(path, "/s/") {
		name, _, _ := strings.Cut(path[len("/p/"):], "/")
		base = path[:len("/p/")+len(name)]
	}
	rest := path[len(base):]
	g.mu.Lock()
	v := g.views[base]
	g.mu.Unlock()
	server, ok := strings.CutPrefix(base, "/s/")
	if v != nil || !ok || g.statusOf(server) == nil {
		return v, rest
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if v = g.views[base]; v == nil {
		v = &view{gateway: g, path: base, server: server}
		g.views[base] = v
	}
	return v, rest
}

// forgetViews forgets the views of servers that are not among those of the given names.
func (g *Gateway) forgetViews(servers map[string]listVersions) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, v := range g.views {
		if _, ok := servers[v.server]; !ok && v.server != "" {
			delete(g.views, path)
		}
	}
}

// statusOf returns where a server stands, or nil if there is none of the name.
func (g *Gateway) statusOf(server string) *host.Status {
	all := g.host.Servers()
	if i := slices.IndexFunc(all, func(s host.Status) bool { return s.Name == server }); i >= 0 {
		return &all[i]
	}
	return nil
}

// uri returns the server of a resource, and what that calls it, by what a client of the view calls it.
func (v shown) uri(address string) (server, uri string, err error) {
	if v.server != "" {
		return v.server, address, nil
	}
	server, uri, err = content.ParseAddress(address)
	if err == nil && !v.hasServer(server) {
		err = &content.AddressError{Address: address}
	}
	return server, uri, err
}

// identity is what the view says of itself: its name, and how to use it.
func (v shown) identity() (*mcp.Implementation, string) {
	g := v.gateway
	impl, instructions := g.opts.Implementation, g.opts.Instructions
	if v.server != "" {
		if s := g.statusOf(v.server); s != nil && s.State.Server != nil {
			impl = s.State.Server
		}
		return impl, g.host.Registry().Instructions(v.server)
	}
	if instructions != "" {
		return impl, instructions
	}
	var all strings.Builder
	for _, s := range g.host.Servers() {
		text := g.host.Registry().Instructions(s.Name)
		if text == "" || !v.hasServer(s.Name) || all.Len()+len(text) > maxInstructions {
			continue
		}
		fmt.Fprintf(&all, "# %s\n\n%s\n\n", s.Name, text)
	}
	return impl, strings.TrimSpace(all.String())
}

// maxInstructions bounds the instructions of all servers together.
const maxInstructions = 32 << 10

// Capabilities are the parts of the protocol that a view has, as its clients are told.
type capabilities struct {
	Tools       lists          `json:"tools"`
	Prompts     lists          `json:"prompts,omitzero"`
	Resources   lists          `json:"resources,omitzero"`
	Completions *struct{}      `json:"completions,omitempty"`
	Logging     *struct{}      `json:"logging,omitempty"`
	Extensions  map[string]any `json:"extensions,omitempty"`
}

// A lists is a part that is listed. The zero lists is not there.
type lists struct {
	Listed    bool `json:"listChanged"`
	Subscribe bool `json:"subscribe,omitempty"`
}

// capabilities returns what the servers of the view offer now. A server that does not run is
// taken to offer all, since it may be started.
func (v shown) capabilities() capabilities {
	c := capabilities{Tools: lists{Listed: true}, Extensions: map[string]any{}}
	hasContent := v.hasContent()
	for _, s := range v.gateway.host.Servers() {
		if !v.hasServer(s.Name) || !s.Enabled {
			continue
		}
		caps, unknown := s.State.Capabilities, s.State.Capabilities == nil && s.State.Phase != mcp.Ready
		if caps == nil {
			caps = &mcp.ServerCapabilities{}
		}
		if unknown || caps.Logging != nil {
			c.Logging = &struct{}{}
		}
		if !hasContent {
			continue
		}
		if unknown || caps.Completions != nil {
			c.Completions = &struct{}{}
		}
		if _, has := caps.Extensions[protocol.ExtensionSkills]; unknown || has {
			c.Extensions[protocol.ExtensionSkills] = struct{}{}
		}
		c.Prompts.Listed = c.Prompts.Listed || unknown || caps.Prompts != nil
		c.Resources.Listed = c.Resources.Listed || unknown || caps.Resources != nil || c.hasSkills()
		c.Resources.Subscribe = c.Resources.Subscribe || unknown || caps.Resources != nil && caps.Resources.Subscribe
	}
	return c
}
