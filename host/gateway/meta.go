package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/metatools"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// listForm is what the client's list of tools depends on.
func (p *peer) listForm() listForm {
	f := listForm{room: p.room(), late: p.awaits(), mode: cmp.Or(p.mode, modes.Direct), manage: p.manages(), apps: p.can.apps}
	if f.mode == modes.Direct {
		f.size = p.quirks.MaxResultSizeChars
	}
	return f
}

// asked returns the tools that a client is to ask its user about: those that the policy asks about or, if no
// policy says, that say they may destroy something.
func (g *Gateway) asked(ctx context.Context, form listForm, tools []*registry.Definition) map[*registry.Definition]bool {
	if form.size == 0 {
		return nil
	}
	all := map[*registry.Definition]bool{}
	for _, d := range tools {
		verdict, known := g.host.Registry().Decide(ctx, d.Name)
		if hints := d.Hints(); verdict == approval.Ask || !known && hints.Annotated && hints.Destructive {
			all[d] = true
		}
	}
	return all
}

// mark returns a tool with the members of _meta that its client knows. What its server says stays.
func (v *view) mark(tool json.RawMessage, form listForm, asked bool) json.RawMessage {
	// Only the registry's own limit keeps results from filling the client's context without the first.
	if _, bounded := v.gateway.host.Registry().Snapshot().Lookup(result.ReaderName); bounded && form.size > 0 {
		tool = metatools.Mark(tool, "anthropic/maxResultSizeChars", strconv.AppendInt(nil, int64(form.size), 10))
	}
	if asked {
		tool = metatools.Mark(tool, "anthropic/requiresUserInteraction", []byte("true"))
	}
	return tool
}

// ownTools returns the tools of the gateway itself, as the client's list has them. Tools are those that the
// client may call.
func (p *peer) ownTools(tools []*registry.Definition) (all []json.RawMessage) {
	add := func(names ...string) {
		for _, name := range names {
			all = append(all, metatools.Listed(name))
		}
	}
	if p.mode == modes.Search {
		add(metatools.RetrieveTools, metatools.DescribeTool, metatools.CallTool, metatools.CallRead, metatools.CallWrite, metatools.CallDestroy)
	}
	if p.mode == modes.Code {
		if t := p.view.gateway.opts.Code(p.sees); t != nil {
			all = append(all, metatools.AlwaysLoad(metatools.JSON(t.Definition(), t.Definition().Name)))
		}
		add(metatools.RetrieveTools, metatools.DescribeTool)
	}
	if p.mode == modes.Search || p.mode == modes.Code {
		if i := slices.IndexFunc(tools, func(d *registry.Definition) bool { return d.Origin.Server == "" && d.Name == result.ReaderName }); i >= 0 {
			all = append(all, metatools.AlwaysLoad(metatools.JSON(tools[i], result.ReaderName)))
		}
	}
	if p.manages() {
		add(metatools.ServersTool)
	}
	if p.awaits() {
		await := metatools.Listed(metatools.AwaitCall)
		if p.mode != modes.Direct {
			await = metatools.AlwaysLoad(await)
		}
		all = append(all, await)
	}
	return all
}

// ownCall returns what makes a call of a tool of the gateway itself, within a job; nil if it is no such call.
func (r *request) ownCall(name string) func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	p, o := r.peer, &r.gateway.opts
	code := p.mode == modes.Code
	switch finds := code || p.mode == modes.Search; {
	case name == metatools.ServersTool && p.manages():
		servers := &metatools.Servers{Manager: o.Manager, Sees: p.hasServer, Logger: o.Logger, User: p.caller.User, Credential: p.caller.Credential, Off: &r.gateway.switchedOff}
		return servers.Call
	case name == metatools.RetrieveTools && finds:
		return r.belt().Retrieve
	case name == metatools.DescribeTool && finds:
		return r.belt().Describe
	case code:
		if t := o.Code(p.sees); t != nil && t.Definition().Name == name {
			return func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
				if args == nil {
					args = json.RawMessage(`{}`)
				}
				return t.Call(r.gateway.desk.Asking(ctx, jobOf(ctx).client()), args)
			}
		}
	}
	return nil
}

// belt returns what the client of a request may find.
func (r *request) belt() *metatools.Belt {
	p := r.peer
	return &metatools.Belt{
		Finder:    r.gateway.opts.Finder,
		Server:    p.view.server,
		HasServer: p.hasServer,
		Sees:      p.sees,
		Name:      func(d *registry.Definition) string { return p.view.toolName(d, p.room()) },
		Known:     p.find,
		Unknown:   p.unknownTool,
	}
}
