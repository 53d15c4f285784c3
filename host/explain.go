package host

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Why a server has no tools. Models are told these.
const (
	reasonStarting = "it is being started; try again in a moment"
	reasonWaiting  = "it cannot be reached now, and is tried again"
	reasonRefused  = "it does not accept the credentials that it is sent"
	reasonUnlisted = "its tools cannot be listed now, which is tried again"
	reasonLogin    = "it waits for the user to log in"
	reasonNoUser   = "its tools are not known before a user logs in"
	reasonLaunch   = "the user has to allow its launch first"
	reasonDisabled = "it is disabled"
	reasonInvalid  = "its entry in the configuration cannot be used"
	reasonClosed   = "the host is closed"
)

// explainTime bounds how long a call waits for tools that are not known yet to be read.
const explainTime = 30 * time.Second

// longestExplained is how long a name may be, in bytes, that is compared with servers.
const longestExplained = 512

// An explanation tells a registry why there is no tool of a name: as long as the host is
// open it knows where its servers stand, and then that it is closed.
type explanation struct {
	say  atomic.Pointer[func(context.Context, string) error]
	stop func() // ends the asking
}

// explains has the host explain to its registry what is not there.
func (h *Host) explains() *explanation {
	e := &explanation{}
	say := h.explain
	e.say.Store(&say)
	e.stop = h.registry.Explain(func(ctx context.Context, name string) error { return (*e.say.Load())(ctx, name) })
	return e
}

// stopExplaining has the registry know no more than the names of the servers of the
// closed host. A registry that is not the host's own forgets them with the host.
func (h *Host) stopExplaining() {
	names, tools := h.names(), h.registry
	say := func(_ context.Context, name string) error {
		for _, server := range named(toolname.Fold(name), names) {
			if !hasTools(tools, server) {
				return &registry.NotReadyError{Tool: name, Server: server, Reason: reasonClosed, Err: ErrClosed}
			}
		}
		return nil
	}
	h.explanation.say.Store(&say)
	if h.opts.Registry != nil {
		runtime.AddCleanup(h, func(stop func()) { stop() }, h.explanation.stop)
	}
}

// hasTools reports whether a registry lists tools of a server, which another host may run
// now.
func hasTools(r *registry.Registry, server string) bool {
	return slices.ContainsFunc(r.Snapshot().Tools(), func(t registry.Tool) bool { return t.Definition().Origin.Server == server })
}

// named returns those of the servers with whose names the asked one begins, the longest
// first.
func named(asked toolname.Name, servers []string) []string {
	begins := map[string]bool{}
	for _, name := range []toolname.Name{asked, asked.WithoutMCP()} {
		for server := range name.Splits() {
			begins[server] = true
		}
	}
	var found []string
	for _, server := range servers {
		if begins[toolname.Fold(server).Folded] {
			found = append(found, server)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// explain returns why there is no tool of a name, if it is one of a server that is not
// ready.
func (h *Host) explain(ctx context.Context, name string) error {
	if len(name) > longestExplained {
		return nil
	}
	servers := h.names()
	asked := toolname.Fold(name)
	found := named(asked, servers)
	if len(found) == 0 {
		found = h.serversWith(asked.Folded, servers)
	}
	for _, server := range found {
		if reason, err := h.notReady(ctx, server); reason != "" {
			return &registry.NotReadyError{Tool: name, Server: server, Reason: reason, Err: err}
		}
	}
	return nil
}

// serversWith returns the servers that had a tool of that folded name when they were
// connected last, or would by their entry.
func (h *Host) serversWith(tool string, servers []string) []string {
	var found []string
	for _, server := range servers {
		sl, err := h.slot(server)
		if err != nil {
			continue
		}
		if s := sl.now(); s != nil && s.lists(tool) {
			found = append(found, server)
		}
	}
	return found
}

// lists reports whether the server is known to have a tool of that folded name.
func (s *server) lists(tool string) bool {
	for _, alias := range s.entry.Tools.Rename {
		if toolname.Fold(alias).Folded == tool {
			return true
		}
	}
	s.tools.mu.Lock()
	list := s.tools.listedTools
	s.tools.mu.Unlock()
	return slices.ContainsFunc(list, func(o *listedTool) bool { return toolname.Fold(o.tool.Name).Folded == tool })
}

// notReady returns why a server has no tools in the registry, and its error; an empty
// reason if it has, or may have by now.
func (h *Host) notReady(ctx context.Context, name string) (reason string, err error) {
	if h.isClosing() {
		return reasonClosed, ErrClosed
	}
	sl, err := h.slot(name)
	if err != nil {
		return "", nil // it has just been removed
	}
	s := sl.now()
	if s == nil {
		return reasonStarting, nil
	}
	status := s.status()
	switch status.Stage {
	case StageReady, StageCached, StageQuarantined:
		if status.Err == nil {
			return "", nil
		}
		return reasonUnlisted, status.Err
	case StageDisabled:
		return reasonDisabled, nil
	case StageInvalid:
		return reasonInvalid, status.Err
	case StageNotAllowed:
		return reasonLaunch, status.Err
	case StageLogin:
		return reasonLogin, status.Err
	case StageWaiting:
		if status.State.Phase == mcp.Ready {
			return reasonUnlisted, status.Err
		}
		return unreached(status.Err), status.Err
	case StageStarting:
		if status.State.Failures > 0 { // and it is tried again just now
			return unreached(status.Err), status.Err
		}
		return reasonStarting, status.Err
	}
	return s.findOut(ctx)
}

// unreached returns the reason for a server to which there is no connection.
func unreached(err error) string {
	var status *transport.StatusError
	if errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden) {
		return reasonRefused
	}
	return reasonWaiting
}

// findOut reads the tools of a server that does not run and whose tools are not known, if a
// call may start it. It returns as notReady does.
func (s *server) findOut(ctx context.Context) (reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, explainTime)
	defer cancel()
	switch {
	case s.perUser():
		if user, _ := session.UserOf(ctx); user == "" {
			return reasonNoUser, &NoUserError{Server: s.entry.Name}
		}
		err = s.discoverFirst(ctx)
	case s.entry.Lazy:
		err = s.relist(ctx)
	default:
		return reasonStarting, nil
	}
	switch {
	case err == nil:
		return "", nil
	case s.host.isClosing():
		return reasonClosed, ErrClosed
	case errors.Is(err, errEnded):
		return reasonStarting, nil
	case wantsLogin(err):
		return reasonLogin, err
	}
	return unreached(err), err
}
