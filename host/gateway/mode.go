package gateway

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/clients"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// prepareModes checks what the options say of modes, and fills in the defaults.
func (g *Gateway) prepareModes() error {
	o := &g.opts
	var err error
	if g.clients, err = clients.Read(); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	if err = modes.Check(o.Mode, o.Code != nil); err != nil {
		return fmt.Errorf("gateway: Options.Mode: %w", err)
	}
	if o.Finder == nil {
		if o.Finder, err = toolset.New(g.host.Registry(), &toolset.Options{NoTools: true}); err != nil {
			return fmt.Errorf("gateway: making a Finder: %w", err)
		}
	}
	switch {
	case o.Finder.Registry() != g.host.Registry():
		return errors.New("gateway: Options.Finder finds the tools of another registry than the host's")
	case o.Manager != nil && o.Manager.Host() != g.host:
		return errors.New("gateway: Options.Manager manages another host")
	}
	return nil
}

// splitMode takes the mode out of a path below a view, and checks it or, where it names none, the one that a grant does.
func (g *Gateway) splitMode(path, granted string) (rest, asked string, err error) {
	rest, asked = modes.Split(path)
	return rest, asked, modes.Check(cmp.Or(asked, granted), g.opts.Code != nil)
}

// choose says what is known of the client, and in which mode tools are shown to it. Asked is what its URL names.
func (p *peer) choose(asked string) {
	g := p.view.gateway
	p.quirks = g.clients.Find(p.client.Name)
	if p.quirks.NoElicitation {
		p.can.form, p.can.url = false, false
	}
	p.mode = cmp.Or(asked, p.may.mode, g.opts.Mode, modes.Auto)
	if p.mode == modes.Auto {
		p.mode = p.quirks.Mode
	}
	if p.mode == "" {
		p.mode = g.choices.Of([4]string{p.view.path, p.caller.User, p.caller.Credential, p.client.Name}, p.modeBySize)
	}
}

// modeBySize returns the mode of a client that is not known: direct, as long as the definitions of its tools take no more
// tokens than [toolset.SetOptions] says by default.
func (p *peer) modeBySize() string {
	g := p.view.gateway
	set := g.opts.Finder.Toolset(p.context(g.ctx), &toolset.SetOptions{
		MaxTools: -1, ProviderSearch: true, // so that nothing is listed, and only counted
		Always: func(*registry.Definition, registry.Hints) bool { return false },
		Keep:   func(d *registry.Definition, _ registry.Hints) bool { return p.sees(d) },
	})
	if set.Searching {
		return modes.Search
	}
	return modes.Direct
}

// hears reports whether the client is told of a change of a kind: a list that does not depend on the tools of servers
// does not change with them.
func (p *peer) hears(change string) bool {
	return change != "toolsListChanged" || p.mode == modes.Direct
}

// manages reports whether the client may change servers here. A view of one server has no tool for that.
func (p *peer) manages() bool {
	return p.view.gateway.opts.Manager != nil && p.may.manage && p.view.server == ""
}
