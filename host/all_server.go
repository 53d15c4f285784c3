package host

import (
	"context"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A use says what it would take to ask a server something.
type use int

const (
	useReady    use = iota // nothing, or that it is connected as it is meant to be
	useLazy                // that it is started
	useNobody              // a user
	useDisabled            // that it is enabled
	useUnusable            // that it is approved, or its entry corrected
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
	user, _ := session.UserOf(ctx)
	switch s.status().Stage {
	case StageDisabled:
		return useDisabled, nil
	case StageInvalid, StageUnapproved, StageQuarantined:
		return useUnusable, nil
	}
	switch {
	case s.perUser() && user == "":
		return useNobody, nil
	case s.entry.Lazy && s.runningFor(user) == nil:
		return useLazy, nil
	}
	return useReady, nil
}

// runningFor returns the client that calls of a user are made with, if there is one.
func (s *server) runningFor(user string) *mcp.Client {
	if !s.perUser() {
		if l := s.running(); l != nil {
			return l.client
		}
		return nil
	}
	for _, l := range s.host.pool.at(s) {
		if l.key.User == user {
			return l.client
		}
	}
	return nil
}
