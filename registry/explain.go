package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A NotReadyError reports a call of a tool that is not listed because its server is not
// ready. The tool did not run, and may not even exist.
//
//cure:call later; the reason says whether the server starts, waits for a login or has failed
type NotReadyError struct {
	Tool   string // the name that was called
	Server string // the server whose tool that would be
	Reason string // why the server is not ready; models are told it, so it holds no secrets
	Err    error  // the server's own error, for people; nil if it has none
}

// Error names the tool, the server, the reason and the server's error.
func (e *NotReadyError) Error() string {
	if e.Err == nil {
		return e.reason()
	}
	return fmt.Sprintf("%s: %v", e.reason(), e.Err)
}

// reason is what a model is told.
func (e *NotReadyError) reason() string {
	return fmt.Sprintf("tool %s: server %s is not ready: %s", plain.Quote(e.Tool), plain.Quote(e.Server), e.Reason)
}

func (e *NotReadyError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent]: nothing ran.
func (e *NotReadyError) Outcome() mcp.Outcome { return mcp.NotSent }

// Explain has f asked whenever a call, [Registry.Approve] or describe_tool wants a tool
// of a name that no tool has: the package that adds the tools of servers knows why they
// are not there. If f returns an error, usually a [*NotReadyError], that is what the
// caller gets instead of an [*UnknownToolError]. If f returns nil, which it also does for
// names that it knows nothing of, the name is looked up again, since f may have added the
// tool.
//
// Of several functions the one that was added last is asked first. F must be safe for
// concurrent use, and end with ctx, that of the call. After stop no call that begins asks
// f; further calls of stop do nothing.
func (r *Registry) Explain(f func(ctx context.Context, name string) error) (stop func()) {
	return r.explainers.add(f)
}

// seek returns what lookup finds in the newest snapshot under a name, nil if that is
// nothing. The error is that of the function given to [Registry.Explain].
func (r *Registry) seek(ctx context.Context, name string, lookup func(*Snapshot) *entry) (*Snapshot, *entry, error) {
	s := r.Snapshot()
	e := lookup(s)
	for _, explain := range slices.Backward(r.explainers.all()) {
		if e != nil {
			break
		}
		if err := (*explain)(ctx, name); err != nil {
			if !mcp.SafeToRetry(err) {
				err = mcp.WithOutcome(err, mcp.NotSent)
			}
			return s, nil, err
		}
		s = r.Snapshot()
		e = lookup(s)
	}
	return s, e, nil
}

// unknown reports a name that no tool of s has, with the names that the caller may have
// meant, without those that the user of ctx may not call.
func (r *Registry) unknown(ctx context.Context, s *Snapshot, name string) *UnknownToolError {
	denied := r.deniedTo(ctx)
	return &UnknownToolError{Name: name, Suggestions: s.matcher.of(s.entries).suggest(name, func(e *entry) bool { return e.hidden || !e.def.appOnly && denied(e) == nil })}
}
