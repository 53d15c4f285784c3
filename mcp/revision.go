package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// supersededWait is how long requests in flight may take to be refused like the one
// that showed that the server speaks another revision: cut off, they would count
// as possibly run.
const supersededWait = time.Second

// askPatience is how long a server may take to say which revision it speaks. The answer
// that gave rise to the question waits for it.
const askPatience = 3 * time.Second

// A revisionError ends a connection whose server was replaced by one that speaks other
// revisions. Requests that it refused did not run.
type revisionError struct{ was string }

func (e *revisionError) Error() string {
	return fmt.Sprintf("the server does not speak revision %s any more", e.was)
}

func isRevisionError(err error) bool {
	return errors.As(err, new(*revisionError))
}

// doubts reports whether the error with which a request has ended is one of a server
// that speaks another revision than the connection, though it need not be. Unrun says that
// such a server has not run the request.
func (conn *connection) doubts(err error) (doubtful, unrun bool) {
	refused := refusedByStatus(err)
	var answer *JSONRPCError
	if !errors.As(err, &answer) {
		return refused, refused
	}
	switch answer.Code {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest, sdk.CodeUnsupportedProtocolVersion:
		return true, true
	case sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities:
		return !conn.modern(), true
	case jsonrpc.CodeInvalidParams: // to revision 2026-07-28 they have status 400
		return refused && !conn.modern(), true
	case codeServerError: // a server without sessions may have run the request
		return refused || conn.modern(), refused
	}
	return refused, true
}

// lookInto returns err, with which a request on conn has ended, unless it turns out that
// the server was replaced by one that speaks another revision: then the connection ends,
// and the revision of the next one is found out anew.
func (conn *connection) lookInto(ctx context.Context, err error) error {
	doubtful, unrun := conn.doubts(err)
	if !doubtful {
		return err
	}
	unlock, gaveUp := conn.shared.locks.Lock(ctx, "revision")
	if gaveUp != nil {
		return err
	}
	defer unlock()
	other := conn.supersededBy()
	if other == nil {
		if !conn.speaksOther(ctx) {
			return err
		}
		other = &revisionError{conn.info.revision}
		conn.supersede(other)
	}
	if !unrun {
		return err
	}
	return WithOutcome(other, NotSent)
}

// speaksOther asks the server which revision it speaks, and reports whether it is
// certainly not that of the connection. A server that does not answer may do so later.
func (conn *connection) speaksOther(ctx context.Context) bool {
	ctx, stop := context.WithTimeout(ctx, min(conn.shared.opts.probeTimeout(), askPatience))
	defer stop()
	if conn.modern() {
		result, err := conn.aside(ctx, protocol.Discover, conn.meta)
		switch {
		case err == nil:
			return lacks(result, "supportedVersions", conn.info.revision)
		case codeOf(err) == sdk.CodeUnsupportedProtocolVersion:
			answer, _ := answerIn(err)
			return lacks(answer.Data, "supported", conn.info.revision)
		}
		doubtful, _ := conn.doubts(err)
		return doubtful
	}
	_, err := conn.aside(ctx, protocol.Ping, nil)
	if doubtful, _ := conn.doubts(err); !doubtful || conn.shared.opts.pinned() {
		return false
	}
	// Not every older server knows a ping. What knows this is none.
	_, err = conn.aside(ctx, protocol.Discover, conn.shared.opts.requestMeta(protocol.Newest()))
	switch codeOf(err) {
	case sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities, sdk.CodeUnsupportedProtocolVersion:
		return true
	}
	return err == nil
}

// supersede lets the connection carry no further requests and has it ended.
func (conn *connection) supersede(because *revisionError) {
	conn.mu.Lock()
	conn.endErr = cmp.Or(conn.endErr, error(because))
	conn.mu.Unlock()
	conn.giveUp(because)
}

// supersededBy returns the error with which the connection was superseded, or nil.
func (conn *connection) supersededBy() *revisionError {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	var other *revisionError
	errors.As(conn.endErr, &other)
	return other
}

// drain waits until a superseded connection carries no request any more, or d is over.
func (conn *connection) drain(d time.Duration, until <-chan struct{}) {
	conn.mu.Lock()
	carries := len(conn.pending) > 0
	conn.mu.Unlock()
	if !carries {
		return
	}
	select {
	case <-conn.drained:
	case <-time.After(d):
	case <-conn.ended:
	case <-until:
	}
}

// An era is what a client has learned about the revisions that its server
// speaks. It belongs to the supervisor.
type era struct {
	// pinned is the only revision that the client speaks; empty: there is none. Nothing
	// is learned then.
	pinned string
	// legacy is set once the server has shown that it wants the initialize
	// handshake; it is then spared the probe.
	legacy bool
	// suspect is set when a connection died of the probe, or never answered
	// it: the next attempt does without.
	suspect bool
	// patient is set when the server answered the probe after its time: the
	// next attempts wait for it as long as there is time at all.
	patient bool
}

// version returns the revision with which to begin the next attempt.
func (e *era) version() string {
	if e.pinned != "" {
		return e.pinned
	}
	if e.legacy || e.suspect {
		return protocol.NewestSession()
	}
	return protocol.Newest()
}

// succeeded learns from a handshake that ended with the given revision.
func (e *era) succeeded(version string) {
	legacy := !protocol.IsStateless(version)
	*e = era{pinned: e.pinned, legacy: legacy, patient: e.patient && !legacy}
}

// forget is for a server that was replaced by another one.
func (e *era) forget() { *e = era{pinned: e.pinned} }

// failed learns from a handshake that was begun with the given revision and failed
// with err. It reports whether another attempt makes sense at once, on a new
// connection: without the probe, or with it if a server that was initialized
// before does not know that any more.
func (e *era) failed(begunWith string, conn *connection, err error) (again bool) {
	if e.pinned != "" {
		return false
	}
	if !protocol.IsStateless(begunWith) {
		replaced := e.legacy && refusesHandshake(err)
		e.forget() // whatever was known does not hold any more
		return replaced
	}
	e.patient = conn.discoverLate
	e.suspect = conn.discoverTimedOut && !conn.discoverLate
	return e.suspect
}
