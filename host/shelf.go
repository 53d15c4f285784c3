package host

import (
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// A shelf holds the tools of a server, and puts them into the registry.
type shelf struct {
	server *server

	// publishing is held while the registry takes over the tools or the catalogue
	// cache saves them, which may wait for a disk. It is locked before mu.
	publishing sync.Mutex
	told       heldBack // what the log knows; guarded by publishing

	mu       sync.Mutex // guards the following
	public   bool       // the tools belong into the registry
	offers   []*offer
	tools    []registry.Tool
	says     *string // the server's instructions; nil: not known
	listed   bool    // there is a list, if only from an earlier time
	placed   bool    // the registry has taken it over
	err      error   // why the tools could not be listed, or noted
	rejected []registry.Rejection
	unread   []registry.Rejection // of these, the tools that cannot be read
	unnoted  bool                 // err is that of the registry
	dirty    bool                 // offers are not in the catalogue cache
	grace    *time.Timer          // removes the tools of a lost server
}

// open begins to hold tools, in public or not.
func (sh *shelf) open(public bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.public = public
}

// restore takes over the tools that the server had at an earlier time, as far as the
// ledger has heard of them, and reports whether these are all.
func (sh *shelf) restore() bool {
	s := sh.server
	offers, ok := s.host.catalogs.load(s.entry)
	if !ok {
		return false
	}
	all := s.shelve(offers)
	tools := s.heardOf(all)
	if len(tools) == 0 && len(all) > 0 {
		return false
	}
	sh.mu.Lock()
	sh.offers, sh.tools, sh.listed, sh.err = offers, tools, true, nil
	sh.mu.Unlock()
	sh.update()
	sh.complete()
	return len(tools) == len(all)
}

// inherit takes over what the predecessor is known to offer, if the server has a
// connection for each user: there every call is compared with what its user sees.
func (sh *shelf) inherit(from *server) {
	if s := sh.server; !s.perUser() || !from.perUser() {
		return
	}
	from.shelf.mu.Lock()
	offers, listed := from.shelf.offers, from.shelf.listed
	from.shelf.mu.Unlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.offers, sh.tools, sh.listed = offers, sh.server.shelve(offers), listed
}

// adopt takes over the tools of a predecessor that was lost, for as long as those of a
// lost server stay.
func (sh *shelf) adopt(from *server) {
	from.shelf.mu.Lock()
	offers := from.shelf.offers
	if len(from.shelf.tools) == 0 {
		offers = nil
	}
	from.shelf.mu.Unlock()
	sh.mu.Lock()
	if !sh.listed {
		sh.offers, sh.tools = offers, sh.server.shelve(offers)
	}
	sh.mu.Unlock()
	sh.lost()
}

// heardOf returns those of the tools about which the ledger has decided, or that wait
// there for somebody to decide, or that no registry would list: what was kept on a disk
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
	s.shelf.mu.Lock()
	says := s.shelf.says
	s.shelf.mu.Unlock()
	return registry.Server{
		Name: s.entry.Name, Trusted: s.entry.Trust, Fingerprint: s.entry.Fingerprint(), Instructions: says,
		Mode: ledger.Mode(s.entry.Ledger), Quarantined: s.entry.Quarantined,
	}
}

// put takes over a list of tools.
func (sh *shelf) put(l *listing) {
	tools := sh.server.shelve(l.offers)
	sh.keep()
	sh.mu.Lock()
	sh.offers, sh.tools, sh.listed, sh.err, sh.dirty = l.offers, tools, true, nil, true
	sh.says = &l.instructions
	sh.unread = UnreadableTools(sh.server.entry, l.problems)
	sh.mu.Unlock()
	sh.update()
	sh.complete()
}

// complete says that the registry has the list, if there is one: who sees that the server
// is ready finds its tools.
func (sh *shelf) complete() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.placed = sh.listed
}

// fail notes why the tools could not be listed.
func (sh *shelf) fail(err error) {
	sh.mu.Lock()
	sh.err = err
	sh.mu.Unlock()
	sh.server.host.broadcast()
}

// failUnlisted notes why the tools are not known yet; nil if nothing has failed.
func (sh *shelf) failUnlisted(err error) {
	sh.mu.Lock()
	if !sh.listed {
		sh.err = err
	}
	sh.mu.Unlock()
	sh.server.host.broadcast()
}

// stocked reports whether the tools are known.
func (sh *shelf) stocked() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.listed
}

// publish puts the tools of a server that was started in private into the registry, and
// keeps them for the next time.
func (sh *shelf) publish() {
	sh.open(true)
	sh.update()
	sh.complete()
	sh.save()
}

// update makes the registry list the tools as they are now. It reports whether
// there was no error; if there was, the ledger may be sound again later.
func (sh *shelf) update() bool {
	sh.publishing.Lock()
	defer sh.publishing.Unlock()
	sh.mu.Lock()
	public, tools, unread := sh.public, sh.tools, sh.unread
	sh.mu.Unlock()
	if !public {
		return true
	}
	diff, err := sh.server.host.listTools(sh.server.facts(), tools)
	diff.Rejected = append(diff.Rejected, unread...)
	sh.told = sh.server.host.recordHeldBack(sh.server.entry.Name, sh.told, &diff)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.rejected = diff.Rejected
	if sh.unnoted || err != nil {
		sh.err = err
	}
	sh.unnoted = err != nil
	return err == nil
}

// noted reports whether the registry has taken over the tools without an error.
func (sh *shelf) noted() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return !sh.unnoted
}

// keep lets the tools stay although the connection was lost.
func (sh *shelf) keep() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.keepLocked()
}

func (sh *shelf) keepLocked() {
	if sh.grace != nil {
		sh.grace.Stop()
		sh.grace = nil
	}
}

// lost lets the tools vanish if the connection does not come back soon. Those of a
// lazy server stay, as a call makes a connection.
func (sh *shelf) lost() {
	s := sh.server
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.grace != nil || len(sh.tools) == 0 || s.entry.Lazy {
		return
	}
	sh.grace = time.AfterFunc(max(s.host.opts.ToolGrace, 0), sh.vanish)
}

func (sh *shelf) vanish() {
	sh.mu.Lock()
	if sh.grace == nil {
		sh.mu.Unlock()
		return // the connection came back
	}
	sh.grace, sh.tools, sh.unread = nil, nil, nil
	sh.mu.Unlock()
	sh.update()
	sh.server.host.broadcast()
}

// clear takes the tools out of the registry for good, and what it knows of the server.
func (sh *shelf) clear() {
	sh.save()
	sh.publishing.Lock()
	defer sh.publishing.Unlock()
	sh.mu.Lock()
	sh.keepLocked()
	public := sh.public
	sh.tools, sh.says, sh.unread, sh.listed, sh.placed, sh.public = nil, nil, nil, false, false, false
	sh.mu.Unlock()
	if public {
		_, _ = sh.server.host.registry.ReplaceServer(registry.Server{Name: sh.server.entry.Name}, nil)
	}
}

// close keeps the server from writing to the registry and the catalogue cache, and leaves
// its tools there for its successor to replace.
func (sh *shelf) close() {
	sh.save()
	sh.publishing.Lock()
	defer sh.publishing.Unlock()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.keepLocked()
	sh.public = false
}

// save keeps the tools for the next time that the server is configured, unless the
// server is private, or was replaced: its successor may have saved a newer list.
func (sh *shelf) save() {
	sh.publishing.Lock() // close waits for what is being written
	defer sh.publishing.Unlock()
	sh.mu.Lock()
	offers, write := sh.offers, sh.dirty && sh.public
	if write {
		sh.dirty = false
	}
	sh.mu.Unlock()
	if write {
		sh.server.host.catalogs.save(sh.server.entry, offers)
	}
}
