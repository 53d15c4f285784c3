package main

import (
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestQuickstart runs the program as a reader of the README does.
func TestQuickstart(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", ".").CombinedOutput()
	assert.OK(t, err, "%s", out)
	for _, want := range []string{
		`add {"a":1,"b":2} -> 3`,
		`notes__create {"text":"buy milk"}`,
		`clock__now {"zone":"UTC"}`,
		"killed; nothing else is done about it",
		`notes__create {"text":"and bread"} -> {"id":"2"`,
	} {
		assert.Contains(t, string(out), want)
	}
}
