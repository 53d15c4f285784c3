package mcp

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A server at whose address nothing listens is asked for again soon, and less often the
// longer it is away.
func TestWakeAfter(t *testing.T) {
	refused := fmt.Errorf("connect: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")})
	slow := &net.OpError{Op: "dial", Err: timeoutError{}}
	for _, test := range []struct {
		err      error
		failures int
		want     time.Duration
	}{
		{refused, 1, 40 * time.Millisecond},
		{refused, 63, 40 * time.Millisecond},
		{refused, 64, 80 * time.Millisecond},
		{refused, 1 << 20, 5 * time.Second},
		{slow, 1, 250 * time.Millisecond},
		{errors.New("exit status 1"), 1, 250 * time.Millisecond},
		{errors.New("exit status 1"), 9, 5 * time.Second},
	} {
		assert.Equal(t, wakeAfter(test.err, test.failures), test.want, "%v, %d times", test.err, test.failures)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string { return "i/o timeout" }
func (timeoutError) Timeout() bool { return true }
