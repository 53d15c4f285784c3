package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

func TestOutcomeOf(t *testing.T) {
	refused := &mcp.JSONRPCError{Code: -32000, Message: "no"}
	for _, test := range []struct {
		err  error
		want mcp.Outcome
	}{
		{nil, mcp.Answered},
		{io.EOF, mcp.Unknown},
		{context.Canceled, mcp.Unknown},
		{refused, mcp.Answered},
		{fmt.Errorf("wrapped: %w", refused), mcp.Answered},
		{&mcp.ServerError{Err: refused}, mcp.Answered},
		{&mcp.ProtocolError{Err: io.EOF}, mcp.Answered},
		{&mcp.LimitError{}, mcp.Answered},
		{&mcp.TimeoutError{}, mcp.Unknown},
		{&mcp.UnavailableError{Err: io.EOF}, mcp.NotSent},
		{&mcp.OutcomeUnknownError{Err: mcp.WithOutcome(io.EOF, mcp.NotSent)}, mcp.Unknown},
		{mcp.WithOutcome(io.EOF, mcp.NotSent), mcp.NotSent},
		{mcp.WithOutcome(refused, mcp.Unknown), mcp.Unknown},
		{mcp.WithOutcome(mcp.WithOutcome(io.EOF, mcp.NotSent), mcp.Answered), mcp.Answered},
		{fmt.Errorf("wrapped: %w", mcp.WithOutcome(io.EOF, mcp.NotSent)), mcp.NotSent},
		{errors.Join(io.EOF, mcp.WithOutcome(io.EOF, mcp.NotSent)), mcp.NotSent},
	} {
		assert.Equal(t, mcp.OutcomeOf(test.err), test.want, "outcome of %v (%T)", test.err, test.err)
		assert.Equal(t, mcp.SafeToRetry(test.err), test.err != nil && test.want == mcp.NotSent, "safe to retry %v", test.err)
	}
}

func TestWithOutcome(t *testing.T) {
	assert.OK(t, mcp.WithOutcome(nil, mcp.NotSent), "nil became an error")
	err := mcp.WithOutcome(io.EOF, mcp.NotSent)
	assert.Is(t, err, io.EOF)
	assert.Equal(t, err.Error(), "EOF")
}

func TestTimeoutErrorIsADeadline(t *testing.T) {
	err := fmt.Errorf("call: %w", &mcp.TimeoutError{Limit: "idle", After: time.Minute})
	assert.Is(t, err, context.DeadlineExceeded)
	assert.True(t, os.IsTimeout(errors.Unwrap(err)), "it is a timeout")
	for _, other := range []error{context.Canceled, io.EOF, os.ErrDeadlineExceeded, &net.DNSError{IsTimeout: true}} {
		assert.False(t, errors.Is(err, other), "the error is %v", other)
	}
}

func TestErrorTexts(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{&mcp.OutcomeUnknownError{Server: "s", Method: "tools/call", Tool: "t", Err: io.EOF}, `"s": tools/call t: outcome unknown, it may have run: EOF`},
		{&mcp.UnavailableError{Server: "s", Err: io.EOF}, `"s" is unavailable: EOF`},
		{&mcp.ServerError{Server: "s", Method: "m", Err: &mcp.JSONRPCError{Code: 7, Message: "no"}}, `"s": m: no (code 7)`},
		{&mcp.ProtocolError{Err: io.EOF}, `the server sent an invalid answer: EOF`},
		{&mcp.ProtocolError{Server: "s", Method: "m", Path: "a[1].b", Err: io.EOF}, `"s" sent an invalid answer: m a[1].b: EOF`},
		{&mcp.LimitError{Limit: "bytes", Max: 7}, `bytes > 7`},
		{&mcp.TimeoutError{Limit: "idle", After: time.Second}, `no progress for 1s`},
		{&mcp.TimeoutError{Limit: "total", After: time.Second}, `no answer within 1s`},
	} {
		assert.Contains(t, test.err.Error(), test.want)
	}
	for outcome, want := range map[mcp.Outcome]string{mcp.Unknown: "unknown", mcp.NotSent: "not sent", mcp.Answered: "answered"} {
		assert.Equal(t, outcome.String(), want, "outcome")
	}
	for phase, want := range map[mcp.Phase]string{
		mcp.Idle: "idle", mcp.Connecting: "connecting", mcp.Ready: "ready", mcp.Waiting: "waiting",
		mcp.Authenticating: "authenticating", mcp.Closed: "closed", -1: "unknown",
	} {
		assert.Equal(t, phase.String(), want, "phase")
	}
}

// spell is what a hostile server says: it moves the cursor, covers a line, turns the
// direction of writing, and hides characters.
const spell = "no\x1b[2J\x1b]0;title\x07 safe\revil \u202egnp.exe\u202c ze\u200bro \u3164fill\u00ad \u009b31m \U000e0041"

// deceives returns the first character of a text that a terminal would obey, or that
// nobody sees; 0 if there is none.
func deceives(text string) rune {
	for _, r := range text {
		if r != '\n' && (!unicode.IsPrint(r) || r == 0x3164) {
			return r
		}
	}
	return 0
}

func spelled(t *testing.T) string {
	t.Helper()
	return string(assert.Value(json.Marshal(spell))(t))
}

// What a server writes into its errors and answers is made visible in the texts of errors.
func TestErrorTextsShowWhatIsHidden(t *testing.T) {
	quoted := spelled(t)
	everywhere(t, func(t *testing.T, revision string, p plane) {
		script := mcptest.Script{
			"tools/call":   mcptest.Error(-32000, spell),
			"prompts/get":  mcptest.Result(`{"resultType":"complete","messages":[{"role":` + quoted + `}]}`),
			"prompts/list": mcptest.Result(`{"resultType":` + quoted + `,"prompts":[],` + quoted + `:1}`),
		}
		c := newClient(t, p.to(mcptest.NewServer(t, mcptest.Handshake(revision, `{"tools":{},"prompts":{}}`), script)), nil)
		_, called := call(t, c, "x")
		_, got := c.GetPrompt(t.Context(), "x", nil, nil)
		var listed error
		for _, err := range c.Prompts(t.Context()) {
			listed = err
		}
		for what, err := range map[string]error{"tools/call": called, "prompts/get": got, "prompts/list": listed} {
			assert.False(t, what == "tools/call" && err == nil, "%s: no error", what)
			if err == nil {
				continue
			}
			assert.Equal(t, deceives(err.Error()), 0, "%s: got %q with in it", what, err)
		}
	})
}

func TestStateErrorShowsWhatIsHidden(t *testing.T) {
	server := mcptest.NewServer(t, mcptest.Script{"initialize": mcptest.Error(-32000, spell), "server/discover": mcptest.Error(-32000, spell)})
	c := newClient(t, server, nil)
	err := c.Ready(t.Context())
	assert.Fails(t, err)
	assert.Equal(t, deceives(err.Error()), 0, "Ready: got %q with in it", err)
	state := c.State().Err
	assert.Contains(t, fmt.Sprint(state), "evil", "State")
	assert.Equal(t, deceives(state.Error()), 0, "State: got %q with in it", state)
}

func TestServerErrorIsOneShortLine(t *testing.T) {
	err := &mcp.ServerError{Server: "x", Method: "tools/call", Err: &mcp.JSONRPCError{Code: 1, Message: strings.Repeat("a\nb", 1000)}}
	got := err.Error()
	assert.Lacks(t, got, "\n")
	assert.Between(t, len(got), 0, 1000)
}
