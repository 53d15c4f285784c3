package zerocalls

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv makes this test binary make the calls of a range, such as 0-100.
const childEnv = "MCPBELT_ZEROCALLS"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		var from, to int
		if _, err := fmt.Sscanf(what, "%d-%d", &from, &to); err != nil {
			panic(err)
		}
		child(from, to)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	children = 2
	// least is how many calls there are at least.
	least = 500
	// hangs is how long a call may take that has a context of 20 ms.
	hangs = 30 * time.Second
	// mostCrashes bounds how often a child is started again behind what ended it.
	mostCrashes = 20
)

// TestZeroCalls makes all calls, in a few processes of their own.
func TestZeroCalls(t *testing.T) {
	all := calls()
	if len(all) < least {
		t.Errorf("got %d calls, want at least %d", len(all), least)
	}
	t.Logf("%d calls", len(all))
	var wg sync.WaitGroup
	for i := range children {
		wg.Go(func() {
			to := (i + 1) * len(all) / children
			for from, crashes := i*len(all)/children, 0; from < to; crashes++ {
				if crashes == mostCrashes {
					t.Errorf("%d calls have ended their process: those from %s on are not made", crashes, all[from].name)
					return
				}
				from = oversee(t, all, from, to) + 1
			}
		})
	}
	wg.Wait()
}

// oversee runs a child, reports what it says, and returns the number of the last call
// that it has begun, or a greater one if it has made all of them.
func oversee(t *testing.T, all []call, from, to int) int {
	self, err := os.Executable()
	if err != nil {
		t.Error(err)
		return to
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Dir = dir
	// No program is found, and nothing is written that is the user's.
	cmd.Env = []string{fmt.Sprintf("%s=%d-%d", childEnv, from, to), "PATH=", "SystemRoot=" + os.Getenv("SystemRoot"), "GORACE=atexit_sleep_ms=0"}
	for _, name := range []string{"HOME", "USERPROFILE", "AppData", "LocalAppData", "TMPDIR", "TMP", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"} {
		cmd.Env = append(cmd.Env, name+"="+dir)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	last := from
	for line := range strings.Lines(string(out)) {
		var number int
		if _, err := fmt.Sscanf(line, "begin %d", &number); err == nil {
			last = number
			continue
		}
		t.Errorf("%s: %s", all[last].name, strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n\t"))
	}
	if err != nil {
		t.Errorf("%s: it or one before it ends the process: %v\n%.3000s", all[last].name, err, &stderr)
		return last
	}
	return to
}

// child makes calls, and tells of them on its standard output.
func child(from, to int) {
	out := bufio.NewWriter(os.Stdout)
	os.Stdout = nil // which is no place for a library to write to
	for i, c := range calls()[from:to] {
		fmt.Fprintf(out, "begin %d\n", from+i)
		_ = out.Flush()
		done := make(chan error, 1)
		go func() { done <- c.run() }()
		timer := time.NewTimer(hangs)
		select {
		case wrong := <-done:
			if wrong != nil {
				fmt.Fprintln(out, strings.ReplaceAll(wrong.Error(), "\n", `\n`))
			}
		case <-timer.C:
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "it hangs\n%s\n", stacks[:runtime.Stack(stacks, true)])
			_ = out.Flush()
			os.Exit(1)
		}
		timer.Stop()
	}
	_ = out.Flush()
}
