package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/docker"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An Isolator confines the process of a local server.
type Isolator interface {
	// Isolate returns how the server is started confined as the entry says. It is
	// asked anew for each start, and does not change c. If it cannot confine it, it
	// fails: a server that is to be confined is never started otherwise. It returns
	// soon after ctx ends, which bounds the start only. The host makes its errors an
	// [*IsolationError].
	Isolate(ctx context.Context, e *config.Server, c *transport.Command) (*transport.Command, error)
}

// An IsolationError reports a server that was not started, because it could not be
// confined as its entry says.
type IsolationError struct {
	Server string // configured name
	Source string // where the entry stands, as file:line
	Kind   string // of the isolation
	Err    error  // what is missing, and how to put it right
}

// Error names server, place and kind.
func (e *IsolationError) Error() string {
	return fmt.Sprintf("server %q (%s): isolation %q: %v; it was not started", e.Server, e.Source, e.Kind, e.Err)
}

func (e *IsolationError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent].
func (e *IsolationError) Outcome() mcp.Outcome { return mcp.NotSent }

var errNoProcess = errors.New("only a local server, with a command, can be confined: remove the key")

// isolated reports whether an entry wants to be confined.
func isolated(e *config.Server) bool {
	return e.Isolation != nil && e.Isolation.Kind != "" && e.Isolation.Kind != config.IsolationNone
}

// isolate returns c confined as the entry says, for one start.
func (h *Host) isolate(ctx context.Context, e *config.Server, c *transport.Command) (*transport.Command, error) {
	if !isolated(e) {
		return c, nil
	}
	isolator := h.opts.Isolators[e.Isolation.Kind]
	if isolator == nil && e.Isolation.Kind == config.IsolationDocker {
		isolator = &docker.Isolator{}
	}
	if isolator == nil {
		kinds := slices.Sorted(maps.Keys(h.opts.Isolators))
		return nil, isolationError(e, fmt.Errorf("this program has no such isolation, only %q: it would have to be in Options.Isolators", append(kinds, config.IsolationDocker)))
	}
	confined, err := isolator.Isolate(ctx, e, c)
	switch {
	case err != nil:
		var known *IsolationError
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, isolationError(e, err)
	case confined == nil || confined == c:
		return nil, isolationError(e, errors.New("its Isolator has returned what it was given"))
	}
	return confined, nil
}

func isolationError(e *config.Server, err error) error {
	return &IsolationError{Server: e.Name, Source: e.Source.String(), Kind: e.Isolation.Kind, Err: err}
}
