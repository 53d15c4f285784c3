package layers

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

const (
	root   = "../.." // of the repository, seen from this folder
	module = "github.com/mcpbelt/mcpbelt"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// report fails the test with every problem that a check found.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}
