//go:build linux

package landlock_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// childMode, in the environment, makes the test program a child that does what it is
// told on its standard input, a JSON array of words per line, and answers with a line.
const childMode = "LANDLOCK_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childMode) != "" {
		obey()
		return
	}
	goleak.VerifyTestMain(m)
}

// obey answers each line by "ok", or by what went wrong.
func obey() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var message struct {
			ID     json.RawMessage
			Params struct{ Words []string }
		}
		if err := json.Unmarshal(in.Bytes(), &message); err != nil {
			os.Exit(2)
		}
		text, err := do(message.Params.Words)
		if err != nil {
			text = "failed: " + err.Error()
		}
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": message.ID, "result": map[string]string{"text": text}})
		fmt.Println(string(answer))
	}
}

// sysIOURing is io_uring_setup, which has one number everywhere.
const sysIOURing = 425

func do(words []string) (string, error) {
	switch words[0] {
	case "read":
		data, err := os.ReadFile(words[1])
		return string(data), err
	case "write":
		return "ok", os.WriteFile(words[1], []byte("written"), 0o600)
	case "truncate":
		return "ok", os.Truncate(words[1], 0)
	case "remove":
		return "ok", os.Remove(words[1])
	case "mkdir":
		return "ok", os.Mkdir(words[1], 0o700)
	case "rename":
		return "ok", os.Rename(words[1], words[2])
	case "link":
		return "ok", os.Link(words[1], words[2])
	case "temp":
		f, err := os.CreateTemp("", "")
		if err != nil {
			return "", err
		}
		return f.Name(), f.Close()
	case "env":
		return os.Getenv(words[1]), nil
	case "dial":
		c, err := net.Dial(words[1], words[2])
		if err != nil {
			return "", err
		}
		_, err = c.Write([]byte("hello"))
		return "ok", errors.Join(err, c.Close())
	case "listen":
		return closed(net.Listen(words[1], words[2]))
	case "pair":
		_, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		return "ok", err
	case "open":
		return closed(os.Open(words[1]))
	case "call":
		return call(words[1:])
	case "copy":
		return copyMemory(words[1])
	case "take":
		return takeDescriptor(words[1])
	case "uring":
		_, _, errno := syscall.Syscall(sysIOURing, 1, 0, 0)
		return "", errno
	case "descriptors":
		return descriptors()
	case "ptrace":
		return "ok", syscall.PtraceAttach(pidOf(words[1]))
	case "memory":
		return closed(os.OpenFile("/proc/"+words[1]+"/mem", os.O_RDWR, 0))
	case "unshare":
		return "ok", syscall.Unshare(syscall.CLONE_NEWNS)
	case "mknod":
		return "ok", syscall.Mknod(words[1], syscall.S_IFCHR|0o600, 1<<8|5)
	case "signal":
		return "ok", syscall.Kill(pidOf(words[1]), 0)
	case "shell":
		out, err := exec.Command("/bin/sh", "-c", words[1]).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	return "", errors.New("unknown words")
}

// descriptors returns what this process holds open, a line for each.
func descriptors() (string, error) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, d := range list {
		if to, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil {
			fmt.Fprintln(&b, d.Name(), to)
		}
	}
	return b.String(), nil
}

// call makes a system call, and returns "ok" or its error.
func call(words []string) (string, error) {
	var args [4]uintptr
	for i, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil {
			return "", err
		}
		args[i] = uintptr(n)
	}
	if _, _, errno := syscall.Syscall(args[0], args[1], args[2], args[3]); errno != 0 {
		return "", errno
	}
	return "ok", nil
}

// copyMemory reads the first bytes of the test program from another process of it.
func copyMemory(pid string) (string, error) {
	buf := make([]byte, 8)
	ours := []unix.Iovec{{Base: &buf[0]}}
	ours[0].SetLen(len(buf))
	theirs := []unix.RemoteIovec{{Base: reflect.ValueOf(copyMemory).Pointer(), Len: len(buf)}}
	_, err := unix.ProcessVMReadv(pidOf(pid), ours, theirs, 0)
	return "ok", err
}

// takeDescriptor gets the standard output of another process.
func takeDescriptor(pid string) (string, error) {
	process, err := unix.PidfdOpen(pidOf(pid), 0)
	if err != nil {
		return "", err
	}
	_, err = unix.PidfdGetfd(process, 1, 0)
	return "ok", err
}

// closed closes what was opened, and says that it could be.
func closed(c io.Closer, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return "ok", c.Close()
}

// pidOf returns the process id that a test has written.
func pidOf(text string) int {
	pid, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return pid
}
