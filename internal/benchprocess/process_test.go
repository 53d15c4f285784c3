package benchprocess

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestMain lets this program be the process that the tests start.
func TestMain(m *testing.M) {
	switch os.Getenv("BENCH_PROCESS") {
	case "says":
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "silent":
	default:
		goleak.VerifyTestMain(m)
	}
}

// A process ends with its input; one that prints nothing is an error.
func TestStart(t *testing.T) {
	t.Setenv("BENCH_PROCESS", "says")
	line, stop, err := Start()
	assert.OK(t, err)
	assert.Equal(t, line, "ready")
	assert.OK(t, stop())
	t.Setenv("BENCH_PROCESS", "silent")
	_, _, err = Start()
	assert.Is(t, err, io.EOF)
}

func TestTogether(t *testing.T) {
	broken := errors.New("broken")
	err := Together(3, func(i int) error {
		if i == 1 {
			return broken
		}
		return nil
	})
	assert.Is(t, err, broken)
}
