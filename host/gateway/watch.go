package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/metatools"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// changesApart is how far notifications of changed lists are apart.
const changesApart = 250 * time.Millisecond

// watchTools tells clients when the tools of their view change. What that costs grows with the tools, and
// with what changed for each view.
func (g *Gateway) watchTools() {
	var before map[string]*registry.Definition
	for s := range g.host.Registry().Watch(g.ctx) {
		now := make(map[string]*registry.Definition, len(s.Tools()))
		var changed []*registry.Definition // as they were, and as they are
		for _, t := range s.Tools() {
			d := t.Definition()
			now[d.Name] = d
			switch old := before[d.Name]; {
			case old == nil:
				changed = append(changed, d)
			case old != d && !bytes.Equal(metatools.JSON(old, d.Name), metatools.JSON(d, d.Name)):
				changed = append(changed, old, d)
			}
		}
		for name, old := range before {
			if now[name] == nil {
				changed = append(changed, old)
			}
		}
		if before != nil && len(changed) > 0 {
			g.notify(protocol.NoteToolsChanged, "toolsListChanged", func(v shown) bool {
				return !v.isWholeServer() && slices.ContainsFunc(changed, v.sees) // of one server, watchServers tells
			})
		}
		before = now
		if feed.Sleep(g.ctx, changesApart) != nil {
			return
		}
	}
}

// listVersions are the versions of a server's lists.
type listVersions struct {
	connections               int
	tools, resources, prompts uint64
}

// watchServers tells clients when the resources or prompts of their view may have changed.
func (g *Gateway) watchServers() {
	before := map[string]listVersions{}
	for all := range g.host.Watch(g.ctx) {
		now := map[string]listVersions{}
		var tools, resources, prompts []string // the servers whose lists changed
		for _, s := range all {
			v := listVersions{s.State.Connections, s.State.ToolsVersion, s.State.ResourcesVersion, s.State.PromptsVersion}
			now[s.Name] = v
			old := before[s.Name]
			same := old.connections == v.connections
			if s.State.Capabilities == nil && same {
				continue
			}
			if same && old.tools != v.tools {
				tools = append(tools, s.Name)
			}
			again := old.connections > 0 || v.connections > 1
			if again && old.resources != v.resources {
				resources = append(resources, s.Name)
			}
			if again && old.prompts != v.prompts {
				prompts = append(prompts, s.Name)
			}
		}
		before = now
		g.forgetViews(now)
		g.notify(protocol.NoteToolsChanged, "toolsListChanged", func(v shown) bool {
			return v.isWholeServer() && slices.Contains(tools, v.server) // as the server says, if nothing is changed in the end
		})
		g.notify(protocol.NoteResourcesChanged, "resourcesListChanged", func(v shown) bool { return v.hasContent() && slices.ContainsFunc(resources, v.hasServer) })
		g.notify(protocol.NotePromptsChanged, "promptsListChanged", func(v shown) bool { return v.hasContent() && slices.ContainsFunc(prompts, v.hasServer) })
		if feed.Sleep(g.ctx, changesApart) != nil {
			return
		}
	}
}

// isWholeServer reports whether all tools of one server are shown.
func (v shown) isWholeServer() bool { return v.server != "" && !v.may.IsPart() }

// notify tells the clients for whom something changed: those with sessions, and those that listen for it.
func (g *Gateway) notify(method, wanted string, changed func(shown) bool) {
	g.mu.Lock()
	sessions := slices.Collect(maps.Values(g.sessions))
	listeners := slices.Collect(maps.Keys(g.listeners))
	g.mu.Unlock()
	known := map[[2]string]bool{} // by view and grant: to many the same is shown
	told := func(v shown) bool {
		at := [2]string{v.path, v.may.key}
		is, ok := known[at]
		if !ok {
			is = changed(v)
			known[at] = is
		}
		return is
	}
	m := message.Notification(method, nil, "")
	for _, s := range sessions {
		if s.peer.hears(wanted) && told(s.shown()) {
			s.notify(m)
		}
	}
	for _, l := range listeners {
		if l.lists[wanted] && l.peer.hears(wanted) && told(l.peer.shown) {
			l.send(method, nil)
		}
	}
}

// wantLevel has the servers that fit log what a client wants to hear, and returns when they were told. What a server
// was told before stays if that is more: others may want it, and no client gets what it does not want.
func (g *Gateway) wantLevel(ctx context.Context, level mcp.LoggingLevel, fits func(server string) bool) {
	user, _ := session.UserOf(ctx)
	var all sync.WaitGroup // one server that hangs holds up no other
	for _, s := range g.host.Servers() {
		if !fits(s.Name) || s.Stage != host.StageReady {
			continue
		}
		all.Go(func() {
			_ = g.host.WithClient(ctx, session.Key{User: user, Server: s.Name}, func(ctx context.Context, c *mcp.Client) error {
				unlock, err := g.levels.Lock(ctx, s.Name)
				if err != nil {
					return err
				}
				defer unlock()
				if atLeast(level, c.LogLevel()) {
					return nil
				}
				return c.SetLogLevel(ctx, level)
			})
		})
	}
	all.Wait()
}
