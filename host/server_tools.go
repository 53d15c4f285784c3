package host

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/catalog"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// restoreTools takes over the tools that the server had at an earlier time, as far as the
// ledger has heard of them, and reports whether these are all.
func (s *server) restoreTools() bool {
	kept, ok := s.host.catalogs.Load(s.host.intake, s.entry)
	if !ok {
		return false
	}
	list := make([]*listedTool, len(kept))
	for i, t := range kept {
		list[i] = newListedTool(t)
	}
	all := s.registryTools(list)
	tools := s.heardOf(all)
	if len(tools) == 0 && len(all) > 0 {
		return false
	}
	s.target.mu.Lock()
	s.listedTools, s.tools, s.listErr = list, tools, nil
	s.target.mu.Unlock()
	s.offer()
	return len(tools) == len(all)
}

// CachedTools returns the tools, a server's words, that the server of an entry listed when a host with this [Options].StateDir
// ran it last, and whether that is known. Nothing is started, and no ledger asked. It is safe for concurrent use.
func CachedTools(stateDir string, e *config.Server) ([]*mcp.Tool, bool) {
	return catalog.Open(statedir.Folder(stateDir), nil).Load(context.Background(), e)
}

// copyToolsLocked takes over the list of a predecessor, which may be nil. If users have
// connections of their own it counts as known: every call is compared with what its user sees.
func (s *server) copyToolsLocked(old *server) {
	if old == nil {
		return
	}
	list, listed := old.listedTools, old.listed && s.perUser() && old.perUser()
	if len(old.tools) == 0 && !listed {
		list = nil // they have gone from the registry
	}
	s.listedTools, s.tools, s.listed = list, s.registryTools(list), listed
}

// heardOf returns those of the tools about which the ledger has decided, or that wait
// there for a decision, or that no registry would list: what was kept on a disk
// makes nothing known to a ledger.
func (s *server) heardOf(tools []registry.Tool) []registry.Tool {
	accepted := s.host.registry.Ledger()
	if accepted == nil {
		return tools
	}
	news := map[string]bool{}
	for _, c := range registry.Verify(accepted, s.facts(nil), tools) {
		switch {
		case c.Kind == ledger.InstructionsChanged, c.Kind == ledger.ToolRemoved, c.Kind == ledger.ToolRejected, !c.Since.IsZero():
		case c.Tool == "":
			return nil
		default:
			news[c.Tool] = true
		}
	}
	if len(news) == 0 {
		return tools
	}
	var known, others []registry.Tool
	for _, t := range tools {
		if news[t.Definition().Origin.Tool] {
			others = append(others, t)
		} else {
			known = append(known, t)
		}
	}
	preview, err := s.host.registry.Preview(s.facts(nil), others)
	if err != nil {
		return known
	}
	for _, t := range others {
		if slices.ContainsFunc(preview.Rejected, func(r registry.Rejection) bool { return r.Name == t.Definition().Name }) {
			known = append(known, t)
		}
	}
	return known
}

// Facts returns what a registry and its ledger have to know of the server of an entry. Instructions
// are what the server says of its use when a client connects; nil if that is not known. Of a nil entry it is the zero Server.
func Facts(e *config.Server, instructions *string) registry.Server {
	if e == nil {
		return registry.Server{}
	}
	return registry.Server{
		Name: e.Name, Place: e.Source.ProjectFolder(), Trusted: e.Trust, Fingerprint: e.Fingerprint(), Instructions: instructions,
		Mode: ledger.Mode(e.Ledger), Quarantined: e.Quarantined,
	}
}

// facts is what the registry has to know of the server, with its instructions; nil: they are not known.
func (s *server) facts(says *string) registry.Server {
	f := Facts(s.entry, says)
	f.Busy = s.target.busy
	return f
}

// takeOver takes over what the server lists.
func (s *server) takeOver(l *listing) {
	tools := s.registryTools(l.listedTools)
	s.target.mu.Lock()
	s.keepLocked()
	s.listedTools, s.tools, s.listErr = l.listedTools, tools, nil
	s.says, s.unread = &l.instructions, UnreadableTools(s.entry, l.problems)
	s.target.mu.Unlock()
	s.offer()
	s.save()
}

// offer has the registry list the tools, and says that it does: a server that is ready has its
// tools there.
func (s *server) offer() {
	s.update()
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.listed = true
}

// listFailed notes why the tools could not be listed; nil if nothing has failed. If they are known
// it matters only if always is set.
func (s *server) listFailed(err error, always bool) {
	s.target.mu.Lock()
	if always || !s.listed {
		s.listErr = err
	}
	s.target.mu.Unlock()
	s.host.changed.Ring()
}

// toolsKnown reports whether the tools are known.
func (s *server) toolsKnown() bool {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	return s.listed
}

// update makes the registry list the tools as they are now, unless the server is a successor or was
// replaced. It reports whether there was no error; if there was, the ledger may be sound again later.
func (s *server) update() bool {
	s.target.publishing.Lock()
	defer s.target.publishing.Unlock()
	return !s.stands() || s.publish()
}

// stands reports whether the registry and the catalogue cache are to have the tools.
func (s *server) stands() bool { return s.target.now() == s && !s.host.isClosing() }

// publish is update of the server that there is from now on. It needs target.publishing.
func (s *server) publish() bool {
	s.target.mu.Lock()
	tools, unread, facts := s.tools, s.unread, s.facts(s.says)
	s.target.mu.Unlock()
	diff, err := call(s.host, "a function of the registry's options", func() (registry.Diff, error) {
		return s.host.registry.Replace(facts, tools)
	})
	diff.Rejected = append(diff.Rejected, unread...)
	s.recorded = s.host.events.HeldBack(s.entry.Name, s.recorded, &diff)
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.rejected, s.registryErr = diff.Rejected, err
	return err == nil
}

// keepTools lets the tools stay: the connection is there, or is only wanting a login.
func (s *server) keepTools() {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.keepLocked()
}

func (s *server) keepLocked() {
	if s.grace != nil {
		s.grace.Stop()
		s.grace = nil
	}
}

// loseTools lets the tools vanish if the connection does not come back soon. Those of a
// lazy server stay, as a call makes a connection.
func (s *server) loseTools() {
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	if s.grace == nil && len(s.tools) > 0 && !s.entry.Lazy {
		s.grace = time.AfterFunc(s.host.opts.toolGrace, s.vanish)
	}
}

func (s *server) vanish() {
	s.target.mu.Lock()
	if s.grace == nil {
		s.target.mu.Unlock()
		return // the connection came back
	}
	s.grace, s.tools, s.unread = nil, nil, nil
	s.target.mu.Unlock()
	s.update()
	s.host.changed.Ring()
}

// withdraw takes the tools of the server, which may be nil, out of the registry, with what that knows of the
// server. It needs target.publishing.
func (s *server) withdraw() {
	if s == nil {
		return
	}
	if s.target.now() == s {
		_, _ = s.host.registry.Replace(registry.Server{Name: s.entry.Name}, nil)
	}
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.keepLocked()
	s.tools, s.says, s.unread, s.listed = nil, nil, nil, false
}

// save keeps the tools for the next time that the server is configured, unless the
// server is a successor, or was replaced: its successor may have saved a newer list.
func (s *server) save() {
	s.target.publishing.Lock()
	defer s.target.publishing.Unlock()
	s.target.mu.Lock()
	list, listed := s.listedTools, s.listed
	s.target.mu.Unlock()
	if !listed || !s.stands() {
		return
	}
	tools := make([]*mcp.Tool, len(list))
	for i, o := range list {
		tools[i] = o.tool
	}
	s.host.catalogs.Save(s.entry, tools)
}

// registryTools makes registry tools of what a server lists, by the entry's filter. Their
// calls go to whatever server the supervisor has then.
func (s *server) registryTools(list []*listedTool) []registry.Tool {
	filter := s.entry.Tools
	tools := make([]registry.Tool, 0, len(list))
	for _, o := range list {
		name := o.tool.Name
		if !allows(filter, name) {
			continue
		}
		call := func(ctx context.Context, _ string, args json.RawMessage, opts *mcp.RequestOptions) (*mcp.CallToolResult, error) {
			res, err := s.target.call(ctx, o, args, opts)
			if output, ok := err.(*mcp.OutputError); ok && filter.SkipOutputCheck {
				return output.Result, nil
			}
			return res, err
		}
		tool := registry.Remote(s.entry.Name, o.tool, call)
		if alias, ok := filter.Rename[name]; ok {
			if renamed, err := registry.With(tool, func(d *registry.Definition) { d.Alias = alias }); err == nil {
				tool = renamed
			}
		}
		tools = append(tools, tool)
	}
	return tools
}

// quarantined reports whether nothing of the server may be used before it is accepted.
func (s *server) quarantined() bool { return s.host.registry.Quarantines(s.facts(nil)) }
