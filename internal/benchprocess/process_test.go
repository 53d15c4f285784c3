package benchprocess

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
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
	if err != nil || line != "ready" {
		t.Fatalf("got %q, %v, want ready", line, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	t.Setenv("BENCH_PROCESS", "silent")
	if _, _, err := Start(); !errors.Is(err, io.EOF) {
		t.Errorf("got error %v, want %v", err, io.EOF)
	}
}

func TestTogether(t *testing.T) {
	broken := errors.New("broken")
	err := Together(3, func(i int) error {
		if i == 1 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
}
