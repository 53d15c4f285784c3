package child

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) {
	switch os.Getenv(attempts) {
	case "":
	case "memory", "cpu":
		used := 0 // more at each look
		memory := func() int { used += 1 << 20; return used }
		cpu := func() time.Duration { return 0 }
		if os.Getenv(attempts) == "cpu" {
			memory, cpu = func() int { return 0 }, func() time.Duration { used++; return time.Duration(used) * time.Second }
		}
		watch(&Run{CPU: 3000, Memory: 1 << 20}, memory, cpu)
	default:
		attempt()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// attempts is the variable that makes the test program try what a child must not.
const attempts = "MCPBELT_CHILD_ATTEMPTS"

func say(what string, err error) { fmt.Printf("%s: %t\n", what, err == nil) }

// A child that uses more than it may, whatever keeps its script, ends itself and says by what.
func TestWatch(t *testing.T) {
	for what, want := range map[string]int{"memory": ExitMemory, "cpu": ExitCPU} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = []string{attempts + "=" + what}
		err := cmd.Run()
		assert.Equal(t, assert.As[*exec.ExitError](t, err, "%s", what).ExitCode(), want, "%s", what)
	}
}
