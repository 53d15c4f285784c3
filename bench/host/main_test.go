package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets this program be the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == roleServer || os.Args[1] == roleLine) {
		if err := run(os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// TestRun measures a little of all that is quick.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-only", "apply,lazy,users", "-rounds", "1", "-servers", "3", "-users", "5"}
	if err := run(args, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"among 3 servers", "50 lazy servers of 20 tools", "5 users", "wrong token | 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range []string{"extra", "-nothing", "-only none", "-rounds 0", "-users 0"} {
		if err := run(strings.Fields(args), &bytes.Buffer{}); err == nil {
			t.Errorf("host %s: no error", args)
		}
	}
}
