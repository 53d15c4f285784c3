package config

import (
	"context"
	"errors"
	"maps"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// errAskedEarly is why an entry that waits for approval cannot have such a reference
// everywhere.
var errAskedEarly = errors.New("in a file of a project ${input:id} and ${keyring:name} stand in args, env, headers and url only: all else must be known before it is approved")

// unanswered is what is needed to read an entry once more, with the answers.
type unanswered struct {
	turn    chan struct{} // holds a token while a caller reads
	first   *reading      // of the file, before the approval
	found   *dialect.Entry
	name    claim
	answers map[string]resolved // that were found
}

// Answered returns the entry with what ${input:id} and ${keyring:name} stand for. In
// entries of a scope that needs approval these stay as written when the file is read,
// so that no user is asked, and no secret is looked up, for what was not approved:
// call it after the approval, before the server is started. For all other entries it
// returns s itself.
//
// The user is asked as [Options].Input says, each time but for what was answered. All
// other references stand for what they did when the file was read. The error is
// [Server.Err] of the answered entry, or that of ctx while another is asked.
// Answered is safe for concurrent use.
func (s *Server) Answered(ctx context.Context) (*Server, error) {
	u := s.unanswered
	if u == nil {
		return s, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	source := u.first.reading(ctx)
	source.inputs, source.before, source.known = u.first.inputs, u.first.known, maps.Clone(u.answers)
	full := source.entry(u.found, false).read(u.found, u.name)
	maps.DeleteFunc(source.known, func(_ string, got resolved) bool { return got.err != nil })
	u.answers = source.known
	if full.Err != nil {
		return nil, full.Err
	}
	full.Name, full.Source, full.Disabled = s.Name, s.Source, s.Disabled
	return full, nil
}
