package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLogin runs the program as a reader does.
func TestLogin(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "run", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"First run:\n  the user logs in\n  whoami -> user\n  logged in at http://127.0.0.1:",
		"renewed without the user: true\nSecond run, with the token at its end:\n  whoami -> user\nThird run:\n  logged out\n",
		"the server wants a login: the user has logged out\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
