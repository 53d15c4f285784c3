package landlock_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What this process holds open is not in reach of what it starts.
func TestDescriptors(t *testing.T) {
	kept := assert.Value(os.OpenFile(filepath.Join(t.TempDir(), "kept"), os.O_RDWR|os.O_CREATE, 0o600))(t)
	defer func() { _ = kept.Close() }()
	inherited, err := syscall.Dup(int(kept.Fd())) // as a shell passes it on
	assert.OK(t, err)
	defer func() { _ = syscall.Close(inherited) }()
	c := start(t, nil, config.Isolation{})
	for line := range strings.Lines(c.ask("descriptors")) {
		number, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case number <= "2" && len(number) == 1: // its pipes
		case strings.HasPrefix(what, "anon_inode:[event"), strings.HasPrefix(what, "/proc/"), strings.HasPrefix(what, "/sys/fs/cgroup/"):
			// opened by the runtime of Go
		default:
			t.Errorf("descriptor %s is %s", number, what)
		}
	}
	c.mustNot("write", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), kept.Fd()))
}

// No way round by another process: neither its memory, nor what traces it, nor names
// that are no files.
func TestOtherWays(t *testing.T) {
	c := start(t, nil, config.Isolation{Network: true})
	parent := fmt.Sprint(os.Getpid())
	c.mustNot("ptrace", parent)
	c.mustNot("memory", parent)
	c.mustNot("signal", parent)
	c.mustNot("shell", "mount -t tmpfs none /mnt 2>&1")
	c.mustNot("unshare")
	c.mustNot("mknod", filepath.Join(t.TempDir(), "device"))
	abstract := fmt.Sprintf("@mcpbelt-test-%d", os.Getpid())
	l := assert.Value(net.Listen("unix", abstract))(t)
	defer func() { _ = l.Close() }()
	c.mustNot("dial", "unix", abstract)
}
