// Tests of errors.go: outcomes of errors that wrap others.

package mcp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A belief is an error and what must be known about it.
type belief struct {
	err     error
	known   bool    // some error in the chain tells the outcome
	outcome Outcome // what the outermost of those tells
	answer  bool    // a server's error is in the chain
}

func (b belief) expected() Outcome {
	switch {
	case b.known:
		return b.outcome
	case b.answer:
		return Answered
	}
	return Unknown
}

// tells returns b inside an error that tells its outcome itself.
func (b belief) tells(err error, o Outcome) belief { return belief{err, true, o, b.answer} }

// inside returns b inside an error that tells nothing.
func (b belief) inside(err error) belief { return belief{err, b.known, b.outcome, b.answer} }

// grow makes another error of the two, as step says.
func grow(step byte, b, other belief) belief {
	switch step % 13 {
	case 0:
		return belief{err: errors.New("plain")}
	case 1:
		return belief{err: context.Canceled}
	case 2:
		return belief{err: &JSONRPCError{Code: 1, Message: "refused"}, answer: true}
	case 3:
		return belief{err: &LimitError{Limit: "message bytes", Max: 1}, known: true, outcome: Answered}
	case 4:
		return belief{err: &TimeoutError{Limit: "idle"}}
	case 5:
		return b.inside(fmt.Errorf("around: %w", b.err))
	case 6:
		joined := belief{errors.Join(b.err, other.err), b.known, b.outcome, b.answer || other.answer}
		if !b.known {
			joined.known, joined.outcome = other.known, other.outcome
		}
		return joined
	case 7:
		return b.tells(&OutcomeUnknownError{Err: b.err}, Unknown)
	case 8:
		return b.tells(&UnavailableError{Err: b.err}, NotSent)
	case 9:
		return b.tells(&ProtocolError{Err: b.err}, Answered)
	default:
		o := []Outcome{Unknown, NotSent, Answered}[step%13-10]
		return b.tells(WithOutcome(b.err, o), o)
	}
}

// maxSteps bounds how large an error becomes, since each can hold the last two.
const maxSteps = 12

// FuzzOutcome: the outermost error that knows decides, nothing but NotSent is
// safe to retry, and what the client adds to an error never makes it so.
func FuzzOutcome(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 5, 11})
	f.Add([]byte{1, 8, 0, 6, 7, 5})
	f.Add([]byte{11, 6, 10, 12, 6, 9, 2, 6})
	c := &shared{name: "server"}
	f.Fuzz(func(t *testing.T, steps []byte) {
		now := belief{err: errors.New("first")}
		before := now
		for _, step := range steps[:min(len(steps), maxSteps)] {
			now, before = grow(step, now, before), now
			checkOutcome(t, now)
			for _, method := range []string{"tools/call", "tools/list"} {
				said := c.explain(&request{method: method}, now.err)
				assert.False(t, SafeToRetry(said) && !SafeToRetry(now.err), "%v became safe to retry: %v", now.err, said)
			}
		}
	})
}

func checkOutcome(t *testing.T, b belief) {
	t.Helper()
	assert.Equal(t, OutcomeOf(b.err), b.expected(), "%#v", b.err)
	assert.Equal(t, SafeToRetry(b.err), b.expected() == NotSent, "%v", b.err)
	for _, o := range []Outcome{Unknown, NotSent, Answered} {
		with := WithOutcome(b.err, o)
		assert.Is(t, with, b.err)
		assert.Equal(t, [...]any{OutcomeOf(with), with.Error(), SafeToRetry(with)}, [...]any{o, b.err.Error(), o == NotSent})
		assert.OK(t, WithOutcome(nil, o), "no error has an outcome")
	}
}
