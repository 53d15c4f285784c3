package transport

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// run starts a command that ends with the test.
func run(t *testing.T, name string, args ...string) (*exec.Cmd, *vitals) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	v := watchVitals(cmd.Process.Pid)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		v.close()
	})
	return cmd, v
}

// A process is doomed from the moment in which it was killed: before it has
// ended, while it is a zombie, and when it is gone.
func TestVitalsDoomed(t *testing.T) {
	for range 50 {
		cmd, v := run(t, "sleep", "60")
		if v.doomed() {
			t.Fatal("a living process is doomed")
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if !v.doomed() {
			t.Error("a killed process is not")
		}
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		if !v.doomed() {
			t.Error("a zombie is not")
		}
		_ = cmd.Wait()
		if !v.doomed() {
			t.Error("a process that is gone is not")
		}
	}
}

// One that is only stopped may go on.
func TestVitalsStopped(t *testing.T) {
	cmd, v := run(t, "sleep", "60")
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGSTOP} {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if v.doomed() {
				t.Fatalf("doomed after %v", signal)
			}
		}
	}
}

func TestVitalsWorked(t *testing.T) {
	_, sleeping := run(t, "sleep", "60")
	_, busy := run(t, "sh", "-c", "while :; do :; done")
	sleeping.worked() // its start
	if sleeping.worked() {
		t.Error("a sleeping process works")
	}
	busy.worked()
	for deadline := time.Now().Add(30 * time.Second); !busy.worked(); {
		if time.Now().After(deadline) {
			t.Fatal("a busy process does not work")
		}
	}
}

// Who starts the server in its place, as npx does, does nothing itself.
func TestVitalsWorkedByChildren(t *testing.T) {
	cmd, v := run(t, "sh", "-c", "sh -c 'sh -c \"while :; do :; done\"; :' & wait")
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	begin := time.Now()
	for works := 0; works < 3; {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("got no work of the grandchild of a process")
		}
		if v.worked() {
			works++
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestVitalsUnknown(t *testing.T) {
	v := watchVitals(-1)
	defer v.close()
	if v.doomed() || v.worked() {
		t.Error("something is said of a process of which nothing is known")
	}
}

func BenchmarkDoomed(b *testing.B) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		b.Skip(err)
	}
	v := watchVitals(cmd.Process.Pid)
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		v.close()
	}()
	b.ReportAllocs()
	for b.Loop() {
		if v.doomed() {
			b.Fatal("doomed")
		}
	}
}
