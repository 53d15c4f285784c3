package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// A deniedError is an error of another package.
type deniedError struct{ error }

func (deniedError) Class() mcp.Class { return mcp.ClassDenied }

func TestClassOf(t *testing.T) {
	timeout := &mcp.TimeoutError{Limit: "idle", After: time.Second}
	answer := &mcp.JSONRPCError{Code: -32602, Message: "no"}
	unavailable := func(err error) error { return &mcp.UnavailableError{Server: "s", Err: err} }
	unknown := func(err error) error { return &mcp.OutcomeUnknownError{Server: "s", Err: err} }
	tests := []struct {
		name string
		err  error
		want mcp.Class
	}{
		{"nil", nil, mcp.ClassNone},
		{"any error", io.EOF, mcp.ClassOther},
		{"cancelled", context.Canceled, mcp.ClassCancelled},
		{"wrapped", fmt.Errorf("call: %w", context.Canceled), mcp.ClassCancelled},
		{"with an outcome", mcp.WithOutcome(context.Canceled, mcp.NotSent), mcp.ClassCancelled},
		{"deadline", context.DeadlineExceeded, mcp.ClassTimeout},
		{"limit of time", timeout, mcp.ClassTimeout},
		{"login", loginError{}, mcp.ClassLoginRequired},
		{"another package's", deniedError{io.EOF}, mcp.ClassDenied},
		{"busy", &mcp.BusyError{}, mcp.ClassBusy},
		{"closed", mcp.WithOutcome(mcp.ErrClosed, mcp.NotSent), mcp.ClassClosed},
		{"no connection", unavailable(io.EOF), mcp.ClassUnreachable},
		{"no connection in time", unavailable(timeout), mcp.ClassUnreachable},
		{"no connection for want of a login", unavailable(loginError{}), mcp.ClassLoginRequired},
		{"given up before there was a connection", unavailable(fmt.Errorf("%w (before that: %w)", context.Canceled, io.EOF)), mcp.ClassCancelled},
		{"connection lost", unknown(io.EOF), mcp.ClassLost},
		{"no answer in time, outcome unknown", unknown(timeout), mcp.ClassTimeout},
		{"given up, outcome unknown", unknown(context.Canceled), mcp.ClassCancelled},
		{"answer lost", fmt.Errorf("stream: %w", mcp.ErrAnswerLost), mcp.ClassLost},
		{"session lost", mcp.ErrSessionLost, mcp.ClassLost},
		{"no sign of life", &mcp.UnresponsiveError{}, mcp.ClassLost},
		{"too large", &mcp.LimitError{}, mcp.ClassTooLarge},
		{"invalid answer", &mcp.ProtocolError{Err: io.EOF}, mcp.ClassProtocol},
		{"invalid answer that is too large", &mcp.ProtocolError{Err: &mcp.LimitError{}}, mcp.ClassProtocol},
		{"invalid output", &mcp.OutputError{Err: io.EOF}, mcp.ClassProtocol},
		{"server's error", &mcp.ServerError{Err: answer}, mcp.ClassServerError},
		{"error of JSON-RPC", answer, mcp.ClassServerError},
		{"task", &mcp.TaskError{Err: &mcp.ServerError{Err: answer}}, mcp.ClassServerError},
		{"several", errors.Join(io.EOF, timeout, context.Canceled), mcp.ClassTimeout},
	}
	for _, test := range tests {
		if got := mcp.ClassOf(test.err); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestClassNames(t *testing.T) {
	seen := map[string]mcp.Class{}
	for c := mcp.ClassNone; c <= mcp.ClassServerError; c++ {
		if other, ok := seen[c.String()]; ok {
			t.Errorf("classes %d and %d are both called %q", other, c, c)
		}
		seen[c.String()] = c
	}
}

func ExampleClassOf() {
	err := error(&mcp.UnavailableError{Server: "files", Err: io.ErrUnexpectedEOF})
	switch class := mcp.ClassOf(err); class {
	case mcp.ClassBusy, mcp.ClassUnreachable:
		fmt.Println("try again later:", class)
	case mcp.ClassLoginRequired:
		fmt.Println("log in")
	default:
		fmt.Println(class)
	}
	// Output: try again later: unreachable
}
