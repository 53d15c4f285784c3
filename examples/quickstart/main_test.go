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

// TestQuickstart runs the program as a reader of the README does.
func TestQuickstart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "run", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"add {\"a\":1,\"b\":2} -> 3",
		"notes__create {\"text\":\"buy milk\"}",
		"clock__now {\"zone\":\"UTC\"}",
		"killed; nothing else is done about it",
		"notes__create {\"text\":\"and bread\"} -> {\"id\":\"2\"",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
