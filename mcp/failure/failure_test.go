package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A loginError is an error of a transport that needs a login.
type loginError struct{}

func (loginError) Error() string    { return "log in" }
func (loginError) LoginURL() string { return "https://login.example/" }

// A deniedError is an error of another package.
type deniedError struct{ error }

func (deniedError) Class() failure.Class { return failure.Denied }

func TestOf(t *testing.T) {
	timeout := &mcp.TimeoutError{Limit: "idle", After: time.Second}
	answer := &mcp.JSONRPCError{Code: -32602, Message: "no"}
	unavailable := func(err error) error { return &mcp.UnavailableError{Server: "s", Err: err} }
	unknown := func(err error) error { return &mcp.OutcomeUnknownError{Server: "s", Err: err} }
	tests := []struct {
		name string
		err  error
		want failure.Class
	}{
		{"nil", nil, failure.None},
		{"any error", io.EOF, failure.Other},
		{"cancelled", context.Canceled, failure.Cancelled},
		{"wrapped", fmt.Errorf("call: %w", context.Canceled), failure.Cancelled},
		{"with an outcome", mcp.WithOutcome(context.Canceled, mcp.NotSent), failure.Cancelled},
		{"deadline", context.DeadlineExceeded, failure.Timeout},
		{"limit of time", timeout, failure.Timeout},
		{"login", loginError{}, failure.LoginRequired},
		{"another package's", deniedError{io.EOF}, failure.Denied},
		{"busy", &mcp.BusyError{}, failure.Busy},
		{"closed", mcp.WithOutcome(mcp.ErrClosed, mcp.NotSent), failure.Closed},
		{"no connection", unavailable(io.EOF), failure.Unreachable},
		{"no connection in time", unavailable(timeout), failure.Unreachable},
		{"no connection for want of a login", unavailable(loginError{}), failure.LoginRequired},
		{"given up before there was a connection", unavailable(fmt.Errorf("%w (before that: %w)", context.Canceled, io.EOF)), failure.Cancelled},
		{"connection lost", unknown(io.EOF), failure.Lost},
		{"no answer in time, outcome unknown", unknown(timeout), failure.Timeout},
		{"given up, outcome unknown", unknown(context.Canceled), failure.Cancelled},
		{"answer lost", fmt.Errorf("stream: %w", mcp.ErrAnswerLost), failure.Lost},
		{"session lost", mcp.ErrSessionLost, failure.Lost},
		{"no sign of life", &mcp.UnresponsiveError{}, failure.Lost},
		{"too large", &mcp.LimitError{}, failure.TooLarge},
		{"invalid answer", &mcp.ProtocolError{Err: io.EOF}, failure.Protocol},
		{"invalid answer that is too large", &mcp.ProtocolError{Err: &mcp.LimitError{}}, failure.Protocol},
		{"invalid output", &mcp.OutputError{Err: io.EOF}, failure.Protocol},
		{"server's error", &mcp.ServerError{Err: answer}, failure.ServerError},
		{"error of JSON-RPC", answer, failure.ServerError},
		{"task", &mcp.TaskError{Err: &mcp.ServerError{Err: answer}}, failure.ServerError},
		{"several", errors.Join(io.EOF, timeout, context.Canceled), failure.Timeout},
	}
	for _, test := range tests {
		assert.Equal(t, failure.Of(test.err), test.want, "%s", test.name)
	}
}

func TestClassNames(t *testing.T) {
	seen := map[string]failure.Class{}
	for c := failure.None; c <= failure.ServerError; c++ {
		other, ok := seen[c.String()]
		assert.False(t, ok, "classes %d and %d are both called %q", other, c, c)
		seen[c.String()] = c
	}
}

func ExampleOf() {
	err := error(&mcp.UnavailableError{Server: "files", Err: io.ErrUnexpectedEOF})
	switch class := failure.Of(err); class {
	case failure.Busy, failure.Unreachable:
		fmt.Println("try again later:", class)
	case failure.LoginRequired:
		fmt.Println("log in")
	default:
		fmt.Println(class)
	}
	// Output: try again later: unreachable
}
