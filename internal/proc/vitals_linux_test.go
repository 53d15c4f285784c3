package proc

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// run starts a command that ends with the test.
func run(t *testing.T, name string, args ...string) (*exec.Cmd, *Vitals) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	v := WatchVitals(cmd.Process.Pid)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		v.Close()
	})
	return cmd, v
}

// A process is doomed from the moment in which it was killed: before it has
// ended, while it is a zombie, and when it is gone.
func TestVitalsDoomed(t *testing.T) {
	for range assert.Cases(5, 50) {
		cmd, v := run(t, "sleep", "60")
		assert.False(t, v.Doomed(), "a living process is doomed")
		assert.OK(t, cmd.Process.Signal(syscall.SIGKILL))
		assert.True(t, v.Doomed(), "a killed process is doomed")
		assert.OK(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
		assert.True(t, v.Doomed(), "a zombie is doomed")
		_ = cmd.Wait()
		assert.True(t, v.Doomed(), "a process that is gone is doomed")
	}
}

// One that is only stopped may go on.
func TestVitalsStopped(t *testing.T) {
	cmd, v := run(t, "sleep", "60")
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGSTOP} {
		assert.OK(t, cmd.Process.Signal(signal))
		for range 100 {
			assert.False(t, v.Doomed(), "doomed after %v", signal)
		}
	}
}

func TestVitalsUnknown(t *testing.T) {
	v := WatchVitals(-1)
	defer v.Close()
	assert.False(t, v.Doomed(), "a process of which nothing is known is doomed")
}

func BenchmarkDoomed(b *testing.B) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		b.Skip(err)
	}
	v := WatchVitals(cmd.Process.Pid)
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		v.Close()
	}()
	b.ReportAllocs()
	for b.Loop() {
		if v.Doomed() {
			b.Fatal("doomed")
		}
	}
}
