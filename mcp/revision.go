package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
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

// refusedByStatus reports whether the HTTP status of an answer is one by which a server turns
// away what it does not understand.
func refusedByStatus(err error) bool {
	var status interface{ Refused() bool }
	return errors.As(err, &status) && status.Refused()
}

// codeServerError is the code with which many servers say that there is no session,
// and anything else.
const codeServerError = -32000

// lookInto returns err, with which a request on conn has ended, unless it turns out that
// the server was replaced by one that speaks another revision: then the connection ends,
// and the revision of the next one is found out anew.
func (c *Client) lookInto(ctx context.Context, conn *connection, err error) error {
	doubtful, unrun := conn.doubts(err)
	if !doubtful {
		return err
	}
	unlock, gaveUp := c.locks.Lock(ctx, "revision")
	if gaveUp != nil {
		return err
	}
	defer unlock()
	other := conn.supersededBy()
	if other == nil {
		if !c.speaksOther(ctx, conn) {
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
func (c *Client) speaksOther(ctx context.Context, conn *connection) bool {
	ctx, stop := context.WithTimeout(ctx, min(c.opts.probeTimeout(), askPatience))
	defer stop()
	if conn.modern() {
		result, err := c.aside(ctx, conn, protocol.Discover, conn.meta)
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
	_, err := c.aside(ctx, conn, protocol.Ping, nil)
	if doubtful, _ := conn.doubts(err); !doubtful || c.pinned() {
		return false
	}
	// Not every older server knows a ping. What knows this is none.
	_, err = c.aside(ctx, conn, protocol.Discover, c.requestMeta(protocol.Newest()))
	switch codeOf(err) {
	case sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities, sdk.CodeUnsupportedProtocolVersion:
		return true
	}
	return err == nil
}

// aside sends one request beside those of callers.
func (c *Client) aside(ctx context.Context, conn *connection, method string, meta []byte) (result []byte, err error) {
	ctx, info := c.trace(ctx, &request{method: method})
	defer func() { info.end(result, err) }()
	var opts CallOptions
	info.departs(conn, &opts)
	return c.exchangeOn(ctx, conn, method, fmt.Appendf(nil, `{"_meta":{%s}}`, bytes.TrimSuffix(meta, []byte(","))), &opts)
}

// supersede lets the connection carry no further requests and has it ended.
func (conn *connection) supersede(because *revisionError) {
	conn.mu.Lock()
	conn.endErr = cmp.Or(conn.endErr, error(because))
	conn.mu.Unlock()
	conn.giveUp(because)
}

// giveUp has the connection ended, unless that is on its way already.
func (conn *connection) giveUp(because error) {
	c := conn.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn.unhealthy == nil {
		conn.unhealthy = because
		c.notifyLocked(0)
	}
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

// pinned reports whether the client speaks one revision only.
func (c *Client) pinned() bool { return c.opts.ProtocolVersion != "" }

// refusedPin returns the error for a handshake with the pinned revision that failed with
// err: a [*ProtocolVersionError] if the server answered that it does not speak it. Any
// answer to discover is one, since each server that speaks the revision knows it.
func (c *Client) refusedPin(err error, discover bool) error {
	answer, offered := answerIn(err)
	if refusesHandshake(err) || len(offered) > 0 || discover && answer != nil {
		return &ProtocolVersionError{want: c.opts.ProtocolVersion, offered: offered, err: err}
	}
	return err
}

// refusesHandshake reports whether a server has refused to initialize as one does
// that does not know what that is.
func refusesHandshake(err error) bool {
	switch codeOf(err) {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest,
		sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities, sdk.CodeUnsupportedProtocolVersion:
		return true
	}
	return refusedByStatus(err)
}

// lacks reports whether a member of an object is a list of revisions without the
// given one.
func lacks(object []byte, member, version string) bool {
	versions, ok := versionsIn(object, member)
	return ok && !slices.Contains(versions, version)
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

// modernRefusal returns the error for a server whose answer to the probe is one
// that only stateless revisions know, and names no older revision that the
// server supports; else nil.
func modernRefusal(version string, err error) error {
	_, versions := answerIn(err)
	older := slices.ContainsFunc(versions, func(v string) bool { return !protocol.IsStateless(v) && protocol.IsKnown(v) })
	switch code := codeOf(err); {
	case code == sdk.CodeHeaderMismatch, code == sdk.CodeMissingRequiredClientCapabilities, code == sdk.CodeUnsupportedProtocolVersion && !older:
		return WithOutcome(fmt.Errorf("the server refuses revision %s: %w", version, err), NotSent)
	}
	return nil
}

// offeredRevision returns the newest stateless revision that a refusal of the revision of discover
// says the server supports, or "".
func offeredRevision(err error) string {
	_, versions := answerIn(err)
	if codeOf(err) != sdk.CodeUnsupportedProtocolVersion {
		return ""
	}
	return protocol.NewestStateless(versions)
}

// discoveredRevision is the revision of a server that has answered discover.
func discoveredRevision(result []byte) string {
	versions, _ := versionsIn(result, "supportedVersions")
	return cmp.Or(protocol.NewestStateless(versions), protocol.Newest())
}

// answerIn returns the error with which a server answered, and the revisions that it says
// to support; nil if there is none.
func answerIn(err error) (answer *JSONRPCError, supported []string) {
	if errors.As(err, &answer) {
		for _, member := range []string{"supported", "supportedVersions"} {
			if versions, ok := versionsIn(answer.Data, member); ok {
				supported = versions
			}
		}
	}
	return answer, supported
}

// otherRevision returns the revision to offer to a server that has refused, with err, to
// initialize with the given one: the newest of those that the refusal names, or else the next
// older one if the refusal is about the revision. It is empty if there is nothing to offer.
func otherRevision(err error, refused string) string {
	var body interface{ Text() string }
	text, refuses := "", false
	if answer, _ := answerIn(err); answer != nil {
		text = answer.Message + string(answer.Data)
		refuses = answer.Code == jsonrpc.CodeInvalidParams
	} else if errors.As(err, &body) {
		text = body.Text()
	}
	refuses = refuses || codeOf(err) != sdk.CodeUnsupportedProtocolVersion && strings.Contains(strings.ToLower(text), "version")
	older := ""
	for _, known := range protocol.Versions() {
		switch {
		case protocol.IsStateless(known) || known == refused:
		case strings.Contains(text, known):
			return known
		case refuses && older == "" && known < refused:
			older = known
		}
	}
	return older
}

// codeOf returns the code of the error with which a server answered, or 0, which is none.
func codeOf(err error) int64 {
	if answer, _ := answerIn(err); answer != nil {
		return answer.Code
	}
	return 0
}

// discoveredNone returns the error for a server whose answer to the probe lists
// revisions, none of which is known; else nil.
func discoveredNone(result []byte) error {
	versions, _ := versionsIn(result, "supportedVersions")
	if len(versions) == 0 || slices.ContainsFunc(versions, protocol.IsKnown) {
		return nil
	}
	return WithOutcome(fmt.Errorf("no known revision of the protocol: the server has %s", namesOf(versions)), NotSent)
}

// withRevisions adds to the error of a handshake which revisions the server says that
// it has.
func withRevisions(err error) error {
	if _, versions := answerIn(err); len(versions) > 0 {
		return fmt.Errorf("%w: the server has %s", err, namesOf(versions))
	}
	return err
}

// namesOf names revisions in a text that is short and safe to print.
func namesOf(versions []string) string {
	const most, size = 8, 32
	var names []string
	for i, version := range versions {
		if i == most {
			names = append(names, "and more")
			break
		}
		if len(version) > size {
			version = version[:size] + "..."
		}
		names = append(names, plain.Line(version))
	}
	return strings.Join(names, ", ")
}

// versionsIn returns the list of revisions that is a member of an object, and
// whether there is one.
func versionsIn(object []byte, member string) (versions []string, ok bool) {
	if jsonscan.Valid(object) != nil {
		return nil, false
	}
	list := jsonscan.Member(object, member)
	for element := range jsonscan.Elements(list) {
		if version, ok := jsonscan.String(element); ok {
			versions = append(versions, version)
		}
	}
	return versions, len(list) > 0 && list[0] == '['
}
