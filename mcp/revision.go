package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// retireWait is how long requests in flight may take to be refused like the one
// that showed that the server speaks another revision: cut off, they would count
// as possibly run.
const retireWait = time.Second

// askPatience is how long a server may take to say which revision it speaks. The answer
// that gave rise to the question waits for it.
const askPatience = 3 * time.Second

// A revisionError ends a life whose server was replaced by one that speaks other
// revisions. Requests that it refused did not run.
type revisionError struct{ was string }

func (e *revisionError) Error() string {
	return fmt.Sprintf("the server does not speak revision %s any more", e.was)
}

func isRevisionError(err error) bool {
	var other *revisionError
	return errors.As(err, &other)
}

// doubts reports whether the error with which a request has ended is one of a server
// that speaks another revision than the life, though it need not be. Unrun says that
// such a server has not run the request.
func (l *life) doubts(err error) (doubtful, unrun bool) {
	refused := refusedByStatus(err)
	var answer *JSONRPCError
	if !errors.As(err, &answer) {
		return refused, refused
	}
	switch answer.Code {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest, sdk.CodeUnsupportedProtocolVersion:
		return true, true
	case sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities:
		return !l.modern(), true
	case jsonrpc.CodeInvalidParams: // to revision 2026-07-28 they have status 400
		return refused && !l.modern(), true
	case codeServerError: // a server without sessions may have run the request
		return refused || l.modern(), refused
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

// lookInto returns err, with which a request on l has ended, unless it turns out that
// the server was replaced by one that speaks another revision: then the life ends,
// and the revision of the next one is found out anew.
func (c *Client) lookInto(ctx context.Context, l *life, err error) error {
	doubtful, unrun := l.doubts(err)
	if !doubtful {
		return err
	}
	select {
	case l.asking <- struct{}{}:
	case <-ctx.Done():
		return err
	}
	defer func() { <-l.asking }()
	other := l.retired()
	if other == nil {
		if !c.speaksOther(ctx, l) {
			return err
		}
		other = &revisionError{l.info.revision}
		l.retire(other)
	}
	if !unrun {
		return err
	}
	return WithOutcome(other, NotSent)
}

// speaksOther asks the server which revision it speaks, and reports whether it is
// certainly not that of the life. A server that does not answer may do so later.
func (c *Client) speaksOther(ctx context.Context, l *life) bool {
	ctx, stop := context.WithTimeout(ctx, min(c.opts.ProbeTimeout, askPatience))
	defer stop()
	var answer *JSONRPCError
	if l.modern() {
		result, err := c.aside(ctx, l, methodDiscover, l.meta)
		switch {
		case err == nil:
			return lacks(result, "supportedVersions", l.info.revision)
		case errors.As(err, &answer) && answer.Code == sdk.CodeUnsupportedProtocolVersion:
			return lacks(answer.Data, "supported", l.info.revision)
		}
		doubtful, _ := l.doubts(err)
		return doubtful
	}
	_, err := c.aside(ctx, l, methodPing, nil)
	if doubtful, _ := l.doubts(err); !doubtful {
		return false
	}
	// Not every older server knows a ping. What knows this is none.
	_, err = c.aside(ctx, l, methodDiscover, c.requestMeta(Revision20260728))
	if err == nil || !errors.As(err, &answer) {
		return err == nil
	}
	switch answer.Code {
	case sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities, sdk.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}

// aside sends one request beside those of callers.
func (c *Client) aside(ctx context.Context, l *life, method string, meta []byte) (result []byte, err error) {
	ctx, info := c.trace(ctx, &request{method: method})
	defer func() { c.traced(ctx, info, result, err) }()
	var opts CallOptions
	info.departs(l, &opts)
	return c.exchangeOn(ctx, l, method, fmt.Appendf(nil, `{"_meta":{%s}}`, bytes.TrimSuffix(meta, []byte(","))), &opts)
}

// retire lets the life carry no further requests and has it ended.
func (l *life) retire(because *revisionError) {
	l.mu.Lock()
	if l.over == nil {
		l.over = because
	}
	l.mu.Unlock()
	l.fallSick(because)
}

// fallSick has the life ended, unless that is on its way already.
func (l *life) fallSick(because error) {
	select {
	case l.sick <- because:
	default:
	}
}

// retired returns the error with which the life was retired, or nil.
func (l *life) retired() *revisionError {
	l.mu.Lock()
	defer l.mu.Unlock()
	var other *revisionError
	errors.As(l.over, &other)
	return other
}

// drain waits until a retired life carries no request any more, or d is over.
func (l *life) drain(d time.Duration, until <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for l.carries() {
		select {
		case <-l.landed:
		case <-timer.C:
			return
		case <-l.tap.ended:
			return
		case <-until:
			return
		}
	}
}

// refusesHandshake reports whether a server has refused to initialize as one does
// that does not know what that is.
func refusesHandshake(err error) bool {
	var answer *JSONRPCError
	if errors.As(err, &answer) {
		switch answer.Code {
		case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest,
			sdk.CodeHeaderMismatch, sdk.CodeMissingRequiredClientCapabilities, sdk.CodeUnsupportedProtocolVersion:
			return true
		}
	}
	return refusedByStatus(err)
}

// lacks reports whether a member of an object is a list of revisions without the
// given one.
func lacks(object []byte, member, version string) bool {
	versions, ok := versionsIn(object, member)
	return ok && !slices.Contains(versions, version)
}
