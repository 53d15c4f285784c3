package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	gomcp "github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// maxStuck is how many calls can be abandoned before no more are made.
const maxStuck = 64

var errStuck = errors.New("it does not read what the client sends; close the client, and connect another one")

// call calls a tool, as [registry.RemoteCall] says.
func (s *Source) call(ctx context.Context, tool string, args json.RawMessage, opts *mcp.CallToolOptions) (*mcp.CallToolResult, error) {
	if !s.client.IsInitialized() {
		return nil, &mcp.UnavailableError{Server: s.server.Name, Err: errNotInitialized}
	}
	if s.stuck.Load() >= maxStuck {
		return nil, &mcp.UnavailableError{Server: s.server.Name, Err: errStuck}
	}
	if err := ctx.Err(); err != nil {
		return nil, mcp.WithOutcome(context.Cause(ctx), mcp.NotSent)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	request := gomcp.CallToolRequest{Params: gomcp.CallToolParams{Name: tool, RawArguments: args}}
	var progress func(*mcp.ProgressParams)
	if opts != nil {
		progress = opts.Progress
	}
	res, err := s.send(ctx, request, progress)
	if err != nil {
		return nil, s.failure(ctx, tool, err)
	}
	return resultFrom(res), nil
}

// send makes a call, and reports its progress in this goroutine, unless progress is nil.
// It does not wait longer than its context.
func (s *Source) send(ctx context.Context, request gomcp.CallToolRequest, progress func(*mcp.ProgressParams)) (*gomcp.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reports <-chan *mcp.ProgressParams
	if progress != nil {
		token, c, end := s.expect()
		defer end()
		request.Params.Meta = &gomcp.Meta{ProgressToken: token}
		reports = c
	}
	var alone atomic.Bool // one of the two is through
	over := begin(func() (*gomcp.CallToolResult, error) {
		defer func() {
			if alone.Swap(true) {
				s.stuck.Add(-1)
			}
		}()
		return s.client.CallTool(ctx, request)
	})
	for {
		select {
		case p := <-reports:
			progress(p)
		case o := <-over:
			for len(reports) > 0 {
				progress(<-reports)
			}
			return o.get()
		case <-ctx.Done():
			if !alone.Swap(true) {
				s.stuck.Add(1)
			}
			return nil, transport.NewError(context.Cause(ctx))
		}
	}
}

// failure says what an error of the client means for the call. An outcome that is not
// certain is unknown: a call that ran must not be made again.
func (s *Source) failure(ctx context.Context, tool string, err error) error {
	err = withoutAddress(err)
	var (
		broken *transport.Error
		login  gomcp.URLElicitationRequiredError
	)
	unknown := &mcp.OutcomeUnknownError{Server: s.server.Name, Method: string(gomcp.MethodToolsCall), Tool: tool, Err: err}
	switch {
	case errors.As(err, &login):
		return &loginError{server: s.server.Name, tool: tool, url: urlOf(login), err: err}
	case errors.As(err, &broken):
		// On revision 2026-07-28 the error may be that of a second request for the same
		// call, behind an answer of the user.
		if refused(err) && !gomcp.IsModernProtocol(s.client.ProtocolVersion()) {
			return &loginError{server: s.server.Name, tool: tool, err: err}
		}
		if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
			unknown.Err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
		return unknown
	case unanswered(err):
		return unknown
	case unreadable(err):
		return &mcp.ProtocolError{Server: s.server.Name, Method: string(gomcp.MethodToolsCall), Err: err}
	}
	// All else is what the server has answered.
	return &mcp.ServerError{Server: s.server.Name, Method: string(gomcp.MethodToolsCall), Err: &mcp.JSONRPCError{Code: codeOf(err), Message: err.Error()}}
}

// refused reports whether the server, or what stands before it, refused a request for
// want of a login.
func refused(err error) bool {
	var required *transport.AuthorizationRequiredError
	var oauth *transport.OAuthAuthorizationRequiredError
	return errors.As(err, &required) || errors.As(err, &oauth) ||
		errors.Is(err, transport.ErrAuthorizationRequired) || errors.Is(err, transport.ErrOAuthAuthorizationRequired)
}

// unanswered reports whether the server has begun a call, and asked for something that
// the client did not give.
func unanswered(err error) bool {
	return errors.Is(err, client.ErrMaxInputRoundTripsExceeded) || strings.HasPrefix(err.Error(), "multi round-trip: ") ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unreadable reports whether the client could not read an answer. It has no types of its
// own for that.
func unreadable(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "failed to unmarshal response: ") || text == "content is missing" || text == "response is nil"
}

// codeOf returns the code that a server has answered with, of which the client keeps but
// some; 0 for the others.
func codeOf(err error) int64 {
	for code, is := range map[int]error{
		gomcp.PARSE_ERROR: gomcp.ErrParseError, gomcp.INVALID_REQUEST: gomcp.ErrInvalidRequest,
		gomcp.METHOD_NOT_FOUND: gomcp.ErrMethodNotFound, gomcp.INVALID_PARAMS: gomcp.ErrInvalidParams,
		gomcp.INTERNAL_ERROR: gomcp.ErrInternalError, gomcp.REQUEST_INTERRUPTED: gomcp.ErrRequestInterrupted,
		gomcp.RESOURCE_NOT_FOUND: gomcp.ErrResourceNotFound,
	} {
		if errors.Is(err, is) {
			return int64(code)
		}
	}
	return 0
}

// A loginError reports a call that was not made because the user has to log in.
type loginError struct {
	server, tool string
	url          string // empty: not known
	err          error
}

func (e *loginError) Error() string {
	return fmt.Sprintf("mcpgo: server %q: tool %q needs the user to log in first: %v", e.server, e.tool, e.err)
}

func (e *loginError) Unwrap() error { return e.err }

// LoginURL returns where to log in.
func (e *loginError) LoginURL() string { return e.url }

// Outcome returns [mcp.NotSent]: so the protocol says of this answer.
func (e *loginError) Outcome() mcp.Outcome { return mcp.NotSent }

// urlOf returns the first page that the user has to visit. A URL that a browser would
// take for something else than that page is none.
func urlOf(e gomcp.URLElicitationRequiredError) string {
	for _, wanted := range e.Elicitations {
		if isPage(wanted.URL) {
			return wanted.URL
		}
	}
	return ""
}

// maxURL bounds the address of a page, in bytes.
const maxURL = 8 << 10

// isPage reports whether an address is that of a web page, and shows whose it is.
func isPage(address string) bool {
	odd := func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	u, err := url.Parse(address)
	return err == nil && len(address) <= maxURL && !strings.ContainsFunc(address, odd) &&
		(u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
}

// An outcome is that of a function which ran in a goroutine of its own.
type outcome[T any] struct {
	value    T
	err      error
	panicked any
}

// begin runs what should heed its context and may not: a transport waits for a server
// that does not read. A caller that does not wait for the outcome leaves a goroutine
// behind, which ends with the client's Close.
func begin[T any](run func() (T, error)) <-chan outcome[T] {
	over := make(chan outcome[T], 1)
	go func() {
		var o outcome[T]
		defer func() {
			o.panicked = recover()
			over <- o
		}()
		o.value, o.err = run()
	}()
	return over
}

// get returns the outcome to the goroutine that waited for it.
func (o outcome[T]) get() (T, error) {
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.value, o.err
}
