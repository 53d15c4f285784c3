package approval_test

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestVerdict(t *testing.T) {
	var zero approval.Decision
	for verdict, want := range map[approval.Verdict]string{
		zero.Verdict: "deny", approval.Ask: "ask", approval.Allow: "allow", approval.AllowForConversation: "allow_for_conversation", 9: "Verdict(9)",
	} {
		assert.Equal(t, string(assert.Value(verdict.MarshalText())(t)), want)
	}
}

// None of these calls was made.
func TestErrors(t *testing.T) {
	cause := errors.New("the office is closed")
	for _, test := range []struct {
		err  error
		want string
	}{
		{&approval.DeniedError{Tool: "x"}, `calling tool "x" is not allowed`},
		{&approval.DeniedError{Tool: "x", Reason: "no"}, `calling tool "x" is not allowed: no`},
		{&approval.PolicyError{Tool: "x", Err: cause}, `whether tool "x" may be called could not be decided: the office is closed`},
		{&approval.UnknownError{ID: "secret"}, "no call waits for approval under this id: it was never asked for, or is over"},
		{&approval.UnknownError{Reason: "it was refused"}, "the call does not wait for approval: it was refused"},
	} {
		assert.Equal(t, test.err.Error(), test.want)
		assert.Equal(t, mcp.OutcomeOf(test.err), mcp.NotSent, "%T: got outcome", test.err)
	}
	assert.Equal(t, mcp.OutcomeOf(fmt.Errorf("call: %w", &approval.StaleError{Tool: "x"})), mcp.NotSent, "a stale approval: got outcome")
	assert.Is(t, &approval.PolicyError{Err: cause}, cause, "the cause of a PolicyError")
}
