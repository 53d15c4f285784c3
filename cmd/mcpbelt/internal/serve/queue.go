package serve

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// A waiting is a call that waits for the user, in the output of approve.
type waiting struct {
	ID      string          `json:"id"`
	Station string          `json:"station"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Since   time.Time       `json:"since"`
}

// waiting returns the calls that wait, the oldest first.
func (s *station) waiting(ctx context.Context) []waiting {
	list := []waiting{}
	all := s.opened.Registry().Approvals(ctx)
	if s.member != nil {
		if shared, err := s.member.Approvals(ctx); err == nil { // else those that wait here
			all = shared
		}
	}
	for _, r := range all {
		list = append(list, waiting{ID: r.ID, Server: r.Tool.Origin.Server, Tool: r.Tool.Name, Args: r.Args, Since: r.Asked})
	}
	return list
}

// answer makes the call of an id, or refuses it, and reports whether there is one.
func (s *station) answer(ctx context.Context, id string, yes bool) bool {
	var r interface {
		Approve(ctx context.Context, id string, opts *registry.ApproveOptions) (*mcp.CallToolResult, error)
		Deny(ctx context.Context, id, reason string) error
	} = s.opened.Registry()
	if s.member != nil {
		r = s.member
	}
	var err error
	if yes {
		_, err = r.Approve(context.WithoutCancel(ctx), id, nil) // whether the command waits for it or not
	} else {
		err = r.Deny(ctx, id, "")
	}
	return !errors.As(err, new(*approval.UnknownError))
}
