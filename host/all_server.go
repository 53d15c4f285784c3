package host

import (
	"context"

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
	sl, err := h.slot(name)
	if err != nil {
		return 0, err
	}
	s, err := sl.present()
	if err != nil {
		return 0, err
	}
	status := s.status()
	user, _ := session.UserOf(ctx)
	switch {
	case !status.Enabled:
		return useStopped, nil
	case s.perUser() && user == "":
		return useNobody, nil
	case s.entry.Lazy && status.State.Phase == mcp.Idle:
		return useLazy, nil
	}
	return useReady, nil
}

// serverNames returns the names of all servers, in the order of the configuration.
func (h *Host) serverNames() []string {
	var names []string
	for _, s := range h.standing() {
		names = append(names, s.entry.Name)
	}
	return names
}

// clientOf returns the client of a server for ctx's user.
func (h *Host) clientOf(ctx context.Context, name string) (*mcp.Client, error) {
	return h.Client(ctx, session.Key{Server: name})
}
