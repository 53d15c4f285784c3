package main

import (
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLogin runs the program as a reader does.
func TestLogin(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", ".").CombinedOutput()
	assert.OK(t, err, "%s", out)
	for _, want := range []string{
		"First run:\n  the user logs in\n  whoami -> user\n  logged in at http://127.0.0.1:",
		"renewed without the user: true\nSecond run, with the token at its end:\n  whoami -> user\nThird run:\n  logged out\n",
		"the server wants a login: the user has logged out\n",
	} {
		assert.Contains(t, string(out), want)
	}
}
