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

// An ownTool is a tool of the gateway itself.
type ownTool struct {
	name       string
	definition json.RawMessage
	call       func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) // within a job; nil: callTool knows how
}

// ownTools returns the tools of the gateway itself, in the order of the client's list. Tools are those that the client may
// call.
func (p *peer) ownTools(tools []*registry.Definition) (all []ownTool) {
	o := &p.view.gateway.opts
	add := func(name string, call func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)) {
		all = append(all, ownTool{name, metatools.Listed(name), call})
	}
	if p.mode == modes.Code {
		if t := o.Code(p.sees); t != nil {
			d := t.Definition()
			all = append(all, ownTool{d.Name, metatools.JSON(d, d.Name), func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
				if args == nil {
					args = json.RawMessage(`{}`)
				}
				return t.Call(p.view.gateway.desk.Asking(ctx, jobOf(ctx).client()), args)
			}})
		}
	}
	if p.mode == modes.Search || p.mode == modes.Code {
		belt := p.belt()
		add(metatools.RetrieveTools, belt.Retrieve)
		add(metatools.DescribeTool, belt.Describe)
		if p.mode == modes.Search {
			for _, name := range []string{metatools.CallTool, metatools.CallRead, metatools.CallWrite, metatools.CallDestroy} {
				add(name, nil)
			}
		}
		if i := slices.IndexFunc(tools, func(d *registry.Definition) bool { return d.Origin.Server == "" && d.Name == result.ReaderName }); i >= 0 {
			all = append(all, ownTool{result.ReaderName, metatools.JSON(tools[i], result.ReaderName), nil})
		}
	}
	if p.manages() {
		servers := &metatools.Servers{Manager: o.Manager, Sees: p.hasServer, Logger: o.Logger, User: p.caller.User, Credential: p.caller.Credential, Off: &p.view.gateway.switchedOff}
		add(metatools.ServersTool, servers.Call)
	}
	if p.awaits() {
		add(metatools.AwaitCall, nil)
	}
	return all
}

// belt returns what the client may find.
func (p *peer) belt() *metatools.Belt {
	return &metatools.Belt{
		Finder:    p.view.gateway.opts.Finder,
		Server:    p.view.server,
		HasServer: p.hasServer,
		Sees:      p.sees,
		Name:      func(d *registry.Definition) string { return p.view.toolName(d, p.room()) },
		Known:     p.find,
		Unknown:   p.unknownTool,
	}
}
