package landlock_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// hostMode, in the environment, makes the test program a host of this test alone.
const hostMode = "LANDLOCK_TEST_HOST"

// openTerminal returns both sides of a new terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Skipf("this system has no terminals: %v", err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	master = open("/dev/ptmx")
	assert.OK(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number := assert.Value(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	return master, open("/dev/pts/" + strconv.Itoa(number))
}

// A server that is started from a terminal has none: it leads a session of its own.
func TestTerminal(t *testing.T) {
	if os.Getenv(hostMode) != "" {
		assert.Value(os.Open("/dev/tty"))(t)
		c := start(t, nil, config.Isolation{Network: true})
		fmt.Printf("answer: %s\n", c.ask("open", "/dev/tty"))
		return
	}
	_, slave := openTerminal(t)
	self := assert.Value(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestTerminal$")
	cmd.Env = append(os.Environ(), hostMode+"=1")
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := cmd.CombinedOutput()
	assert.OK(t, err)
	assert.Contains(t, string(out), "answer: failed: open /dev/tty: no such device or address", "opening the terminal")
}

// What Landlock knows nothing of is refused by the filter, with the network on, too.
func TestFilter(t *testing.T) {
	const noKey = -1 << 62
	calls := map[string][]int{
		"ioctl TIOCSTI":   {unix.SYS_IOCTL, 0, unix.TIOCSTI, 0},
		"ioctl TIOCLINUX": {unix.SYS_IOCTL, 0, unix.TIOCLINUX, 0},
		// The kernel takes the lower half of the number only.
		"ioctl TIOCSTI with more bits": {unix.SYS_IOCTL, 0, 1<<32 | unix.TIOCSTI, 0},
		"shmget":                       {unix.SYS_SHMGET, 0, 0, 0},
		"shmat":                        {unix.SYS_SHMAT, -1, 0, 0},
		"shmctl":                       {unix.SYS_SHMCTL, -1, -1, 0},
		"msgget":                       {unix.SYS_MSGGET, 1 << 30, 0, 0},
		"msgsnd":                       {unix.SYS_MSGSND, -1, 0, 0},
		"msgrcv":                       {unix.SYS_MSGRCV, -1, 0, 0},
		"msgctl":                       {unix.SYS_MSGCTL, -1, -1, 0},
		"semget":                       {unix.SYS_SEMGET, 1 << 30, 0, 0},
		"semop":                        {unix.SYS_SEMOP, -1, 0, 0},
		"semtimedop":                   {unix.SYS_SEMTIMEDOP, -1, 0, 0},
		"semctl":                       {unix.SYS_SEMCTL, -1, 0, -1},
		"mq_open":                      {unix.SYS_MQ_OPEN, 0, 0, 0},
		"mq_unlink":                    {unix.SYS_MQ_UNLINK, 0, 0, 0},
		"add_key":                      {unix.SYS_ADD_KEY, 0, 0, 0},
		"request_key":                  {unix.SYS_REQUEST_KEY, 0, 0, 0},
		"keyctl":                       {unix.SYS_KEYCTL, noKey, 0, 0},
	}
	for _, network := range []bool{false, true} {
		c := start(t, nil, config.Isolation{Network: network})
		for name, call := range calls {
			words := []string{"call"}
			for _, n := range call {
				words = append(words, strconv.Itoa(n))
			}
			assert.Equal(t, c.ask(words...), "failed: "+syscall.EPERM.Error(), "%s, network %t", name, network)
		}
		want := "failed: " + syscall.ENOTTY.Error()
		assert.Equal(t, c.ask("call", strconv.Itoa(unix.SYS_IOCTL), "0", strconv.Itoa(unix.TCGETS), "0"), want, "ioctl TCGETS, network %t", network)
	}
}

// Other processes cannot be read by calls either. Landlock sees to that.
func TestOtherMemory(t *testing.T) {
	c := start(t, nil, config.Isolation{Network: true})
	parent := strconv.Itoa(os.Getpid())
	c.mustNot("copy", parent)
	c.mustNot("take", parent)
}
