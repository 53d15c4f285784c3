package proc

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Where the kernel cannot mark all descriptors at once, each is marked.
func TestCloseListed(t *testing.T) {
	fd := assert.Value(syscall.Open(filepath.Join(t.TempDir(), "secret"), syscall.O_RDWR|syscall.O_CREAT, 0o600))(t)
	defer func() { _ = syscall.Close(fd) }()
	assert.OK(t, closeListed())
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
	assert.Equal(t, errno, 0, "error")
	assert.Equal(t, flags&syscall.FD_CLOEXEC, syscall.FD_CLOEXEC, "flag")
}
