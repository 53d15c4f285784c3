package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/launch"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/origin"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// connectable makes the transport for the user of a key, or for all. What it starts is looked up each
// time. It is that which adapt makes of the one that the entry describes. Common is what it has in
// common with others; nil: nothing.
func (h *shared) connectable(ctx context.Context, key session.Key, e *config.Server, common *origin.Origin, adapt func(mcp.Transport) (mcp.Transport, error)) (mcp.Transport, error) {
	header, err := h.userHeader(ctx, key, e)
	if err != nil {
		return nil, fmt.Errorf("the headers of its user: %w", err)
	}
	return h.guard(e, func(e *config.Server) (mcp.Transport, error) {
		t, err := h.recipe(key, e, header, common)
		if err != nil || adapt == nil {
			return t, err
		}
		return adapt(t)
	})
}

// recipe makes the transport for the user of a key, or for all, as an entry or the
// program says, with further headers. Common is what it has in common with others; nil: nothing.
func (h *shared) recipe(key session.Key, e *config.Server, header http.Header, common *origin.Origin) (mcp.Transport, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	if own := h.opts.Transport; own != nil {
		t, err := call(h, "Options.Transport", func() (mcp.Transport, error) { return own(key, e) })
		switch {
		case err == nil && t != nil && nils.Is(t):
			return nil, fmt.Errorf("Options.Transport returns a nil %T", t)
		case err != nil || t != nil:
			return t, err
		}
	}
	var handler auth.OAuthHandler
	if l := h.opts.Logins; l != nil && e.Transport != config.TransportStdio && e.Transport != config.TransportUnix {
		handler = l.Handler(key, e)
	}
	return launch.Transport(e, &launch.Options{
		Header: header, OAuth: handler, Shared: common, Users: h.opts.MaxUserClients,
	})
}

// guard returns a transport that connects as t does, if what would be started is
// allowed at that moment, and confined as the entry says.
//
// It is that which make returns for the entry, which is called when that is allowed and
// not before: the program's own functions may be behind it. If the user has to answer
// something, make is called once more with the answers, which are looked up after
// that.
func (h *shared) guard(e *config.Server, make func(*config.Server) (mcp.Transport, error)) (mcp.Transport, error) {
	g := &guarded{host: h, entry: e, make: make, answered: e}
	if _, err := h.consents.allowedLaunch(h.ctx, e); err != nil {
		return g, nil // Connect says so, and makes it when it can be started
	}
	var err error
	if g.inner, err = make(e); err != nil {
		return nil, err
	}
	return g, nil
}

// A guarded transport asks before each connection.
type guarded struct {
	host  *shared
	entry *config.Server // what is allowed
	make  func(*config.Server) (mcp.Transport, error)

	refused atomic.Pointer[error] // that the user has not answered: no retry asks again, Restart does

	mu       sync.Mutex     // guards the following
	answered *config.Server // what inner was made for
	inner    mcp.Transport  // nil: not made yet
}

// transport returns the transport for the entry with what the user has answered.
func (g *guarded) transport(ctx context.Context) (mcp.Transport, *config.Server, error) {
	if refused := g.refused.Load(); refused != nil {
		return nil, nil, *refused
	}
	e, err := g.entry.Answered(ctx)
	if errors.Is(err, config.ErrNotAnswered) {
		g.refused.Store(&err)
	}
	if err != nil {
		return nil, nil, err
	}
	g.mu.Lock()
	t, same := g.inner, g.inner != nil && (e == g.entry || e.Hash() == g.answered.Hash())
	g.mu.Unlock()
	if same {
		return t, e, nil
	}
	if t, err = g.make(e); err != nil {
		return nil, nil, err
	}
	g.mu.Lock()
	g.answered, g.inner = e, t
	g.mu.Unlock()
	return t, e, nil
}

// Connect starts what was allowed, and nothing that has taken its place since: the
// path that was looked at is the one that is run.
func (g *guarded) Connect(ctx context.Context) (mcp.Conn, error) {
	entry := launch.RealMounts(g.entry) // once, so that no symbolic link changes after the check
	l, err := g.host.consents.allowedLaunch(ctx, entry)
	if err != nil {
		return nil, err
	}
	inner, e, err := g.transport(ctx)
	if err != nil {
		return nil, err
	}
	c, local := inner.(*transport.Command)
	if !local {
		if isolated(g.entry) {
			return nil, isolationError(g.entry, errors.New("only a local server, with a command, can be confined: remove the key"))
		}
		return inner.Connect(ctx)
	}
	if l != nil && c.Path == e.Command && c.Dir == e.Cwd && slices.Equal(c.Args, e.Args) {
		exact := *c
		exact.Path, exact.Dir = l.Path, l.Dir
		c = &exact
	}
	if c, err = g.host.isolate(ctx, entry, c); err != nil {
		return nil, err
	}
	return c.Connect(ctx)
}

// An IsolationError reports a server that was not started, because it could not be
// confined as its entry says.
//
//cure:see the wrapped error; without isolation the server does not start
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

// isolated reports whether an entry wants to be confined.
func isolated(e *config.Server) bool {
	return e.Isolation != nil && e.Isolation.Kind != "" && e.Isolation.Kind != "none"
}

// isolate returns c confined as the entry says, for one start.
func (h *shared) isolate(ctx context.Context, e *config.Server, c *transport.Command) (*transport.Command, error) {
	if !isolated(e) {
		return c, nil
	}
	isolator := h.opts.Isolators[e.Isolation.Kind]
	if isolator == nil {
		kinds := slices.Sorted(maps.Keys(h.opts.Isolators))
		return nil, isolationError(e, fmt.Errorf("this program has no such isolation, only %q: it would have to be in Options.Isolators", kinds))
	}
	confined, err := isolator.Isolate(ctx, e, c)
	switch {
	case err != nil:
		if errors.As(err, new(*IsolationError)) {
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

// userHeader returns the headers that name a user, for an entry that wants them.
func (h *shared) userHeader(ctx context.Context, key session.Key, e *config.Server) (http.Header, error) {
	if e.Identity != config.IdentityHeader {
		return nil, nil
	}
	if _, err := h.consents.allowedLaunch(ctx, e); err != nil {
		return nil, err
	}
	header := http.Header{}
	if name := e.UserHeader; name != "" {
		if key.User == "" || !exactValue(key.User) {
			return nil, errors.New("the user's name is empty or cannot stand in a header as it is")
		}
		header.Set(name, key.User)
	}
	var more http.Header
	if h.opts.UserHeaders != nil {
		var err error
		if more, err = call(h, "Options.UserHeaders", func() (http.Header, error) { return h.opts.UserHeaders(ctx, key, e) }); err != nil {
			return nil, err
		}
	}
	for name, values := range more {
		if !httpfield.ValidName(name) || len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return v == "" || !exactValue(v) }) {
			return nil, fmt.Errorf("Options.UserHeaders made a header %q that has no name or value, or one that cannot be sent as it is", name)
		}
		header[http.CanonicalHeaderKey(name)] = values
	}
	if len(header) == 0 {
		return nil, errors.New("the entry has no \"userHeader\", and Options.UserHeaders made none: one of them has to name the user")
	}
	return header, nil
}

// exactValue reports whether a header's value arrives as it is: white space around it
// would not, and what names one user would name another.
func exactValue(value string) bool {
	return httpfield.ValidValue(value) && strings.Trim(value, " \t") == value
}

// namesItsServer reports whether the text of an error says which server it is about.
func namesItsServer(err error) bool {
	return denial(err) != nil || errors.As(err, new(*IsolationError))
}
