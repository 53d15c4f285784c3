package child

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(attempts) != "" {
		attempt()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// attempts is the variable that makes the test program try what a child must not.
const attempts = "MCPBELT_CHILD_ATTEMPTS"

func say(what string, err error) { fmt.Printf("%s: %t\n", what, err == nil) }
