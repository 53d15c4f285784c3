package host

import (
	"context"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A use says what it would take to ask a server something.
type use int

const (
	useReady   use = iota // nothing, or that it is connected as it is meant to be
	useLazy               // that it is started
	useNobody             // a user
	useStopped            // that it is enabled
)

// useOf returns what it would take to ask a server on behalf of ctx's user.
func (h *Host) useOf(ctx context.Context, name string) (use, error) {
	s, err := h.find(name)
	if err != nil {
		return 0, err
	}
	status := s.status()
	user, _ := session.UserOf(ctx)
	switch ofUsers := s.entry.Identity != "" && s.entry.Identity != config.IdentityShared; {
	case !status.Enabled:
		return useStopped, nil
	case ofUsers && user == "":
		return useNobody, nil
	case s.entry.Lazy && status.State.Phase == mcp.Idle:
		return useLazy, nil
	}
	return useReady, nil
}

// serverNames returns the names of all servers, in the order of the configuration.
func (h *Host) serverNames() []string {
	servers, _ := h.snapshot()
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = s.entry.Name
	}
	return names
}

// clientOf returns the client of a server for ctx's user.
func (h *Host) clientOf(_ context.Context, name string) (*mcp.Client, error) {
	return h.Client(name)
}
