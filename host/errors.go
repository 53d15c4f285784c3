package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
)

// ErrClosed is returned by the methods of a [Host] that was closed.
//
//cure:open a new Host
var ErrClosed = errors.New("host: closed")

// An UnknownServerError reports a name that is no server of the host.
//
//cure:take a name of Servers; the text proposes the nearest
type UnknownServerError struct {
	Name  string   // the name that was asked for
	Known []string // the names there are
}

func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("host: no server %q; there are %q", e.Name, e.Known)
}

// ErrOvertaken is returned by a change of a server that waited for it to be ready when
// another change stopped or replaced it.
//
//cure:see Servers for what became of the server, and change it again if need be
var ErrOvertaken = errors.New("host: another change of the server has overtaken this one")

// ErrQuarantined is returned for what would use a server in quarantine, see
// [StageQuarantined]. A call of one of its tools fails with a
// [registry.QuarantinedError].
//
//cure:look at the tools of the server, and accept them
var ErrQuarantined = errors.New("host: it is in quarantine: look at its tools, and accept what Ledger.Pending has of the server")

// errNoLedger is why a server in quarantine cannot be started where its tools cannot be
// accepted.
var errNoLedger = fmt.Errorf("%w; there is no ledger for that: set Options.Registry with one", ErrQuarantined)

// errEnded is met by a call that came to a server when it was replaced or stopped. The
// call looks for the next one.
var errEnded = errors.New("the server was stopped")

var errDisabled = errors.New("it is disabled")

// A NoUserError reports a call of a server where each user has a connection of their own,
// under a context that does not say who the user is.
//
//cure:give the context a user by session.WithUser
type NoUserError struct {
	server string // configured name
}

func (e *NoUserError) Error() string {
	return fmt.Sprintf("server %q has a connection for each user: make the call under a context of session.WithUser", e.server)
}

// Outcome returns [mcp.NotSent].
func (e *NoUserError) Outcome() mcp.Outcome { return mcp.NotSent }

// A ServersError reports servers that are not as they have to be: required ones that
// failed, or those that were not ready when a context ended.
//
//cure:see each server in it, or let doctor.Diagnose say what is wrong and what helps
type ServersError struct {
	// Failed says what is wrong, by the names of the servers.
	Failed map[string]error
	// err is that of the context; nil if none ended.
	err error
}

// Error names the servers, and says what is wrong with them.
func (e *ServersError) Error() string {
	var names, parts []string
	for _, name := range slices.Sorted(maps.Keys(e.Failed)) {
		names, parts = append(names, strconv.Quote(name)), append(parts, e.Failed[name].Error())
	}
	if e.err != nil {
		return fmt.Sprintf("host: the servers %s are not ready: %v", strings.Join(names, ", "), e.err)
	}
	return "host: required: " + strings.Join(parts, "; ")
}

// Unwrap returns the error of the whole and the errors of the servers, in the order of their names.
func (e *ServersError) Unwrap() []error {
	var errs []error
	if e.err != nil {
		errs = append(errs, e.err)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Failed)) {
		errs = append(errs, e.Failed[name])
	}
	return errs
}

// wantsLogin reports whether an error is that of a user who has to log in.
func wantsLogin(err error) bool {
	return failure.Of(err) == failure.LoginRequired
}
