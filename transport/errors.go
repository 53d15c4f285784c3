package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
)

// A StartError reports that a server's process could not be started.
//
//cure:see the wrapped error: install the command, or give its whole path; it is looked for in the PATH of the entry
type StartError struct {
	Path string // the program, as configured
	Err  error  // from the operating system; errors.Is works with fs.ErrNotExist, exec.ErrNotFound
}

func (e *StartError) Error() string {
	why := e.Err
	if looked, ok := errors.AsType[*exec.Error](why); ok {
		why = looked.Err // its text names the program again
	} else if failed, ok := errors.AsType[*fs.PathError](why); ok && failed.Op == "fork/exec" {
		why = failed.Err // likewise
	}
	return fmt.Sprintf("cannot start %q: %v", e.Path, why)
}

func (e *StartError) Unwrap() error { return e.Err }

// Outcome returns mcp.NotSent.
func (e *StartError) Outcome() mcp.Outcome { return mcp.NotSent }

// An ExitError reports that a server's process ended.
//
//cure:see the last lines of stderr in it; run the command by hand in its folder
type ExitError struct {
	Path   string // the program, as configured
	Code   int    // exit code; -1 if a signal ended the process
	Signal string // name of that signal, such as "killed"; empty otherwise
	// Stderr holds the last lines that the process wrote to its standard
	// error, at most 4 KiB. It is the server's text and may hold anything; Error makes
	// control and hidden characters in it visible.
	Stderr string
}

// Exit returns how the process ended, and the last line of Stderr, for code that tells a model
// what has happened.
func (e *ExitError) Exit() (how, said string) {
	how = fmt.Sprintf("exited with code %d", e.Code)
	if e.Signal != "" {
		how = "was ended by signal: " + e.Signal
	}
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	return how, lines[len(lines)-1]
}

func (e *ExitError) Error() string {
	how, _ := e.Exit()
	if e.Stderr == "" {
		return fmt.Sprintf("server process %q %s", e.Path, how)
	}
	return fmt.Sprintf("server process %q %s; its last lines on stderr:\n%s", e.Path, how, plain.Text(indent(strings.ReplaceAll(e.Stderr, "\t", "    "))))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// A StatusError reports an HTTP status that is no answer to the request.
//
//cure:see the status and the text: 401 and 403 want a login, 404 another address, 5xx and 429 patience
type StatusError struct {
	Method     string        // HTTP method
	Code       int           // status code
	RetryAfter time.Duration // from the Retry-After field; zero if there was none
	// Challenge is the WWW-Authenticate field of a 401 or 403, to be shown: one line of
	// at most 500 characters and a note of how many more there are, without control
	// characters and without what was sent in headers and query. It is the server's text.
	Challenge string
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("HTTP %s: status %d %s", e.Method, e.Code, http.StatusText(e.Code))
	switch e.Code {
	case http.StatusUnauthorized:
		text += ": the server wants a login, or other credentials in the configured headers"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if e.RetryAfter > 0 {
			text += fmt.Sprintf(": retry after %v", e.RetryAfter)
		}
	}
	return text
}

// passing reports whether the same request may fare better later.
func (e *StatusError) passing() bool {
	return e.Code >= 500 && e.Code != http.StatusNotImplemented || e.Code == http.StatusTooManyRequests
}

// Outcome returns mcp.NotSent for statuses by which a server refuses a request
// without running it, and mcp.Unknown for all others.
func (e *StatusError) Outcome() mcp.Outcome {
	switch e.Code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return mcp.NotSent
	}
	return mcp.Unknown
}

// HTTPStatus returns Code and RetryAfter, for code that tells a model what it can do.
func (e *StatusError) HTTPStatus() (code int, retryAfter time.Duration) { return e.Code, e.RetryAfter }

// Class returns failure.Denied for statuses 401 and 403, and failure.ServerError for
// all others.
func (e *StatusError) Class() failure.Class {
	if e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden {
		return failure.Denied
	}
	return failure.ServerError
}

// A RedirectError reports a redirect that was not followed, because it leads to
// another origin or would turn the request into a different one. Nothing was
// sent there.
//
//cure:enter the address where the redirect leads, if you trust it
type RedirectError struct {
	Code int    // status code
	To   string // scheme and host it leads to
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("HTTP redirect %d to %s refused: only redirects within the configured origin that keep the method are followed; configure the new URL if it is right", e.Code, plain.Line(e.To))
}

// Outcome returns mcp.NotSent, but mcp.Unknown for 303: by it a server that has
// run a request says where the result is.
func (e *RedirectError) Outcome() mcp.Outcome {
	if e.Code == http.StatusSeeOther {
		return mcp.Unknown
	}
	return mcp.NotSent
}

// An OptionError reports a field of a recipe that cannot be used.
//
//cure:correct the field that it names
type OptionError struct {
	field string // such as "HTTP.URL"
	err   error  // what is wrong; never holds the value of a header
}

func (e *OptionError) Error() string { return fmt.Sprintf("transport: %s: %v", e.field, e.err) }
func (e *OptionError) Unwrap() error { return e.err }

// Outcome returns mcp.NotSent.
func (e *OptionError) Outcome() mcp.Outcome { return mcp.NotSent }
