package host

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Why a server has no tools. Models are told these.
const (
	reasonStarting = "it is being started; try again in a moment"
	reasonWaiting  = "it cannot be reached now, and is tried again"
	reasonUnlisted = "its tools cannot be listed now, which is tried again"
	reasonLogin    = "it waits for the user to log in"
	reasonClosed   = "the host is closed"
)

// explainTime bounds how long a call waits for tools that are not known yet to be read.
const explainTime = 30 * time.Second

// longestExplained is how long a name may be, in bytes, that is compared with servers.
const longestExplained = 512

// named returns those of the servers with whose names the asked one begins, the longest
// first.
func named(asked toolname.Name, servers []string) []string {
	begins := map[string]bool{}
	for _, name := range []toolname.Name{asked, asked.WithoutMCP()} {
		for server := range name.Splits() {
			begins[server] = true
		}
	}
	found := slices.DeleteFunc(slices.Clone(servers), func(server string) bool { return !begins[toolname.Fold(server).Folded] })
	slices.SortStableFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// explain returns why there is no tool of a name, if it is one of a server that is not
// ready.
func (h *Host) explain(ctx context.Context, name string) error {
	if len(name) > longestExplained {
		return nil
	}
	for _, server := range named(toolname.Fold(name), h.names()) {
		if reason, err := h.notReady(ctx, server); reason != "" {
			return &registry.NotReadyError{Tool: name, Server: server, Reason: reason, Err: err}
		}
	}
	return nil
}

// notReady returns why a server has no tools in the registry, and its error; an empty
// reason if it has, or may have by now.
func (h *Host) notReady(ctx context.Context, name string) (reason string, err error) {
	if h.isClosing() {
		return reasonClosed, ErrClosed
	}
	sv, err := h.supervisor(name)
	if err != nil {
		return "", nil // it has just been removed
	}
	s := sv.now()
	if s == nil {
		return reasonStarting, nil
	}
	status := s.status()
	known := status.Stage.hasTools()
	switch {
	case known && status.Err == nil:
		return "", nil
	case known, status.Stage == StageWaiting && status.State.Phase == mcp.Ready:
		return reasonUnlisted, status.Err
	case status.Stage == StageDisabled:
		return "it is disabled", nil
	case status.Stage == StageInvalid:
		return "its entry in the configuration cannot be used", status.Err
	case status.Stage == StageNotAllowed:
		return "the user has to allow its launch first", status.Err
	case status.Stage == StageLogin:
		return reasonLogin, status.Err
	case status.Stage == StageConfigured:
		return s.findOut(ctx)
	case status.Stage == StageWaiting, status.State.Failures > 0: // and it is perhaps tried again just now
		return unreached(status.Err), status.Err
	}
	return reasonStarting, status.Err
}

// unreached returns the reason for a server to which there is no connection.
func unreached(err error) string {
	if status, ok := errors.AsType[*transport.StatusError](err); ok && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden) {
		return "it does not accept the credentials that it is sent"
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
		if s.userOf(ctx) == "" {
			return "its tools are not known before a user logs in", &NoUserError{server: s.entry.Name}
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
