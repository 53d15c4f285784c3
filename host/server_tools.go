package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/catalog"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/internal/statedir"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// serverTools are the tools of a server, and puts them into the registry.
type serverTools struct {
	server *server

	// publishing is held while the registry takes over the tools or the catalogue
	// cache saves them, which may wait for a disk. It is locked before mu.
	publishing sync.Mutex
	recorded   events.HeldBack // guarded by publishing

	mu          sync.Mutex // guards the following
	public      bool       // the tools belong into the registry
	listedTools []*listedTool
	tools       []registry.Tool
	says        *string // the server's instructions; nil: not known
	listed      bool    // there is a list, if only from an earlier time
	placed      bool    // the registry has taken it over
	listErr     error   // why the tools could not be listed
	registryErr error   // why the registry could not take them over
	rejected    []registry.Rejection
	unread      []registry.Rejection // of these, the tools that cannot be read
	grace       *time.Timer          // removes the tools of a lost server; nil: it is not lost
}

// open begins to hold tools, in public or not.
func (st *serverTools) open(public bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.public = public
}

// restore takes over the tools that the server had at an earlier time, as far as the
// ledger has heard of them, and reports whether these are all.
func (st *serverTools) restore() bool {
	s := st.server
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
	st.mu.Lock()
	st.listedTools, st.tools, st.listed, st.listErr = list, tools, true, nil
	st.mu.Unlock()
	st.complete()
	return len(tools) == len(all)
}

// CachedTools returns the tools, a server's words, that the server of an entry listed when a host with this [Options].StateDir
// ran it last, and whether that is known. Nothing is started, and no ledger asked. It is safe for concurrent use.
func CachedTools(stateDir string, e *config.Server) ([]*mcp.Tool, bool) {
	return catalog.Open(statedir.Folder(stateDir), nil).Load(context.Background(), e)
}

// copyFrom takes over the list of a predecessor, unless there is one. If users have
// connections of their own it counts as known: every call is compared with what its user sees.
func (st *serverTools) copyFrom(old *server) {
	old.tools.mu.Lock()
	list, listed := old.tools.listedTools, old.tools.listed
	listed = listed && st.server.perUser() && old.perUser()
	if len(old.tools.tools) == 0 && !listed {
		list = nil // they have gone from the registry
	}
	old.tools.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.listed {
		st.listedTools, st.tools, st.listed = list, st.server.registryTools(list), listed
	}
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
	for _, c := range registry.Verify(accepted, s.facts(), tools) {
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
	preview, err := s.host.registry.Preview(s.facts(), others)
	if err != nil {
		return known
	}
	for _, r := range preview.Rejected {
		i := slices.IndexFunc(others, func(t registry.Tool) bool { return t.Definition().Name == r.Name })
		if i >= 0 {
			known = append(known, others[i])
		}
	}
	return known
}

// facts is what the registry has to know of the server.
func (s *server) facts() registry.Server {
	s.tools.mu.Lock()
	says := s.tools.says
	s.tools.mu.Unlock()
	return registry.Server{
		Name: s.entry.Name, Place: s.entry.Source.ProjectFolder(), Trusted: s.entry.Trust, Fingerprint: s.entry.Fingerprint(), Instructions: says,
		Mode: ledger.Mode(s.entry.Ledger), Quarantined: s.entry.Quarantined,
		Busy: s.slot.busy,
	}
}

// put takes over a list of tools.
func (st *serverTools) put(l *listing) {
	tools := st.server.registryTools(l.listedTools)
	st.mu.Lock()
	st.keepLocked()
	st.listedTools, st.tools, st.listed, st.listErr = l.listedTools, tools, true, nil
	st.says = &l.instructions
	st.unread = UnreadableTools(st.server.entry, l.problems)
	st.mu.Unlock()
	st.complete()
	st.save()
}

// complete has the registry list the tools, and says that it does, if there is a list: a
// server that is ready has its tools there.
func (st *serverTools) complete() {
	st.update()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.placed = st.listed
}

// fail notes why the tools could not be listed; nil if nothing has failed. If they are known
// it matters only if always is set.
func (st *serverTools) fail(err error, always bool) {
	st.mu.Lock()
	if always || !st.listed {
		st.listErr = err
	}
	st.mu.Unlock()
	st.server.host.broadcast()
}

// known reports whether the tools are known.
func (st *serverTools) known() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.listed
}

// publish puts the tools of a server that was started in private into the registry, and
// keeps them for the next time.
func (st *serverTools) publish() {
	st.open(true)
	st.complete()
	st.save()
}

// update makes the registry list the tools as they are now. It reports whether
// there was no error; if there was, the ledger may be sound again later.
func (st *serverTools) update() bool {
	st.publishing.Lock()
	defer st.publishing.Unlock()
	st.mu.Lock()
	public, tools, unread := st.public, st.tools, st.unread
	st.mu.Unlock()
	if !public {
		return true
	}
	diff, err := st.server.host.listTools(st.server.facts(), tools)
	diff.Rejected = append(diff.Rejected, unread...)
	st.recorded = st.server.host.events.HeldBack(st.server.entry.Name, st.recorded, &diff)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.rejected, st.registryErr = diff.Rejected, err
	return err == nil
}

// registryError returns why the registry could not take over the tools, or nil.
func (st *serverTools) registryError() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.registryErr
}

// keep lets the tools stay although the connection was lost.
func (st *serverTools) keep() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.keepLocked()
}

func (st *serverTools) keepLocked() {
	if st.grace != nil {
		st.grace.Stop()
		st.grace = nil
	}
}

// lost lets the tools vanish if the connection does not come back soon. Those of a
// lazy server stay, as a call makes a connection.
func (st *serverTools) lost() {
	s := st.server
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.grace != nil || len(st.tools) == 0 || s.entry.Lazy {
		return
	}
	st.grace = time.AfterFunc(s.host.opts.toolGrace, st.vanish)
}

func (st *serverTools) vanish() {
	st.mu.Lock()
	if st.grace == nil {
		st.mu.Unlock()
		return // the connection came back
	}
	st.grace, st.tools, st.unread = nil, nil, nil
	st.mu.Unlock()
	st.update()
	st.server.host.broadcast()
}

// clear takes the tools out of the registry for good, and what it knows of the server.
func (st *serverTools) clear() {
	st.publishing.Lock()
	defer st.publishing.Unlock()
	st.mu.Lock()
	st.keepLocked()
	public := st.public
	st.tools, st.says, st.unread, st.listed, st.placed, st.public = nil, nil, nil, false, false, false
	st.mu.Unlock()
	if public {
		_, _ = st.server.host.registry.Replace(registry.Server{Name: st.server.entry.Name}, nil)
	}
}

// close keeps the server from writing to the registry and the catalogue cache, and leaves
// its tools there for its successor to replace.
func (st *serverTools) close() {
	st.publishing.Lock()
	defer st.publishing.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.keepLocked()
	st.public = false
}

// save keeps the tools for the next time that the server is configured, unless the
// server is private, or was replaced: its successor may have saved a newer list.
func (st *serverTools) save() {
	st.publishing.Lock() // close waits for what is being written
	defer st.publishing.Unlock()
	st.mu.Lock()
	list, write := st.listedTools, st.listed && st.public
	st.mu.Unlock()
	if !write {
		return
	}
	tools := make([]*mcp.Tool, len(list))
	for i, o := range list {
		tools[i] = o.tool
	}
	st.server.host.catalogs.Save(st.server.entry, tools)
}
