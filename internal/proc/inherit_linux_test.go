package proc

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Where the kernel cannot mark all descriptors at once, each is marked.
func TestCloseListed(t *testing.T) {
	fd, err := syscall.Open(filepath.Join(t.TempDir(), "secret"), syscall.O_RDWR|syscall.O_CREAT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := closeListed(); err != nil {
		t.Fatal(err)
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Errorf("got the flags %#x, %v, want close-on-exec", flags, errno)
	}
}
