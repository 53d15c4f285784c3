package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/internal/launch"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A LaunchNotAllowedError reports a server that was not started or connected to, because
// its entry comes from a file that others may have written, and it was not allowed here
// as it is now.
//
//cure:show the user the launch of PendingLaunches, and call AllowLaunch
type LaunchNotAllowedError struct {
	// Launch is what would be started. Its String is the exact command, and is not
	// part of the error's text, since it may hold secrets.
	Launch *consent.Launch
	// Verdict is [consent.Rejected] if it was denied, else [consent.Pending].
	Verdict consent.Verdict
	// Err is why it could not be found out, or nil.
	Err error
}

// Error names the server and its place, and says how to allow it.
func (e *LaunchNotAllowedError) Error() string {
	text := fmt.Sprintf("server %q (%s): ", e.Launch.Server, e.Launch.Source)
	switch {
	case e.Err != nil:
		return text + fmt.Sprintf("it cannot be found out whether it is allowed: %v", e.Err)
	case e.Verdict == consent.Rejected:
		return text + fmt.Sprintf("its launch was denied (fingerprint %s): Host.AllowLaunch lets it start after all", e.Launch.Fingerprint())
	}
	return text + fmt.Sprintf("its launch has to be allowed (fingerprint %s): look at its command with Host.PendingLaunches, then call Host.AllowLaunch or Host.DenyLaunch; or, if its file only has the name of a project's, say so with the Scope of Options.Config", e.Launch.Fingerprint())
}

func (e *LaunchNotAllowedError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent].
func (e *LaunchNotAllowedError) Outcome() mcp.Outcome { return mcp.NotSent }

// denial returns the [*LaunchNotAllowedError] that an error is, or nil.
func denial(err error) *LaunchNotAllowedError {
	denied, _ := errors.AsType[*LaunchNotAllowedError](err)
	return denied
}

// consents say what may be started.
type consents struct {
	state    string             // folder in which the book is, if none is given; empty: it is kept in memory
	registry *registry.Registry // whose ledger knows what was accepted of a server

	mu   sync.Mutex    // guards the following
	book *consent.Book // nil: not opened yet
}

// open returns the book, which it opens when it is first needed.
func (c *consents) open() (*consent.Book, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.book != nil {
		return c.book, nil
	}
	book := consent.New()
	if c.state != "" {
		var err error
		if book, err = consent.Open(filepath.Join(c.state, "consents.json")); err != nil {
			return nil, err
		}
	}
	c.book = book
	return book, nil
}

// notAllowed returns why a server must not be started now, or nil. It is also nil if there
// is no such program: to start it fails anyway.
func (c *consents) notAllowed(ctx context.Context, e *config.Server) *LaunchNotAllowedError {
	_, err := c.allowedLaunch(ctx, e)
	return denial(err)
}

// allowedLaunch returns what may be started, or nil if it need not be allowed.
func (c *consents) allowedLaunch(ctx context.Context, e *config.Server) (*consent.Launch, error) {
	if !e.Source.Scope.NeedsApproval() {
		return nil, nil
	}
	l, err := launch.Of(e)
	if err != nil {
		return nil, err
	}
	verdict := consent.Pending
	book, err := c.open()
	if err == nil {
		verdict, err = book.Verdict(ctx, l)
	}
	if err != nil || verdict != consent.Approved {
		l.Accepted = launch.AcceptedTools(c.registry.Ledger(), e.Name, e.Source.ProjectFolder())
		return nil, &LaunchNotAllowedError{Launch: l, Verdict: verdict, Err: err}
	}
	return l, nil
}

// scopes are those of the files and stores that a host was told are of a scope that
// has to be allowed, by scopeKey. What was once said of a file counts for the life of the
// host: to read it again without a scope, because of an edit or of a file that was
// replaced, starts nothing.
type scopes map[string]config.Scope

// storeFile is the file of entries that are records of a store, and in no file.
const storeFile = "store"

// scopeKey names the file of an entry, or of what is kept in no file the entry.
func scopeKey(file, name string) string {
	if file == storeFile || file == "" {
		return file + "\x00" + name
	}
	if path, err := filepath.Abs(file); err == nil {
		return path
	}
	return file
}

// keep returns the entry in the stricter one of its scope and that which was known, and
// keeps that.
func (s scopes) keep(e *config.Server) *config.Server {
	e = whole(e)
	key := scopeKey(e.Source.File, e.Name)
	known := s[key]
	switch {
	case e.Source.Scope == config.ScopeProposed: // which is of the entry, and not of the file
	case e.Source.Scope.NeedsApproval():
		s[key] = e.Source.Scope
	case known != "":
		strict := *e
		strict.Source.Scope = known
		return &strict
	}
	return e
}

// whole returns an entry that was made in Go as one of a file is, which has a transport.
func whole(e *config.Server) *config.Server {
	if e.Transport != "" || e.Err != nil {
		return e
	}
	own := *e
	switch {
	case e.Command != "":
		own.Transport = config.TransportStdio
	case strings.HasPrefix(e.URL, "unix:"):
		own.Transport = config.TransportUnix
	default:
		own.Transport = config.TransportAuto
	}
	return &own
}
