package proc

import (
	"crypto/rand"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// tooLong is more than the end of a process takes on a busy machine.
const tooLong = 2 * time.Minute

// begin starts a shell with these variables that runs a script.
func begin(t *testing.T, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func runs(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	stat := assert.Value(os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat"))(t) // it is our child and not reaped
	return !strings.Contains(string(stat), ") Z ")
}

// Only processes with the very mark are ended, and wherever it stands.
func TestEndMarkedEndsNoOther(t *testing.T) {
	mark := MarkVariable + "=" + rand.Text() + ".1"
	const wait = "while :; do sleep 600; done"
	other := begin(t, wait, mark+"0")
	foreign := begin(t, wait, MarkVariable+"="+rand.Text()+".1")
	long := begin(t, wait, "FILLER="+strings.Repeat("x", 100_000), mark, "LAST=1")
	first := begin(t, wait, mark)
	EndMarked(mark, tooLong)
	for _, marked := range []*exec.Cmd{long, first} {
		assert.False(t, runs(t, marked), "a marked process runs")
	}
	for _, unmarked := range []*exec.Cmd{other, foreign} {
		assert.True(t, runs(t, unmarked), "a process with another mark runs")
	}
	EndMarked(mark+"0", tooLong)
	assert.False(t, runs(t, other), "the other runs")
}

// A process that executes itself again and again shows no environment at some
// of the times that it is looked at.
func TestEndMarkedWhileExecuting(t *testing.T) {
	for range assert.Cases(5, 50) {
		mark := MarkVariable + "=" + rand.Text() + ".1"
		cmd := begin(t, `eval "$SELF"`, mark, `SELF=exec /bin/sh -c "$SELF"`)
		EndMarked(mark, tooLong)
		assert.False(t, runs(t, cmd), "runs")
	}
}

func BenchmarkEndMarked(b *testing.B) {
	for b.Loop() {
		EndMarked(MarkVariable+"=none.1", tooLong)
	}
	b.ReportMetric(float64(len(new(look).processes())), "processes")
}
