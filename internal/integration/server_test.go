//go:build integration && unix

package integration

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A server is the everything server listening on a port, as our own child.
type server struct {
	mode string // streamableHttp or sse
	port int
	cmd  *exec.Cmd
	log  *bytes.Buffer
	done chan struct{} // closed when the process is gone
}

// listen starts the everything server on a free port and stops it at the end
// of the test.
func listen(t *testing.T, mode string) *server {
	t.Helper()
	l := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &server{mode: mode, port: l.Addr().(*net.TCPAddr).Port}
	l.Close()
	s.start(t)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("log of the last %s server:\n%s", mode, s.log)
		}
	})
	return s
}

// start returns when the server accepts connections.
func (s *server) start(t *testing.T) {
	t.Helper()
	s.log, s.done = new(bytes.Buffer), make(chan struct{})
	s.cmd = exec.Command("node", script(t, "everything"), s.mode)
	s.cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(s.port))
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.OK(t, s.cmd.Start())
	cmd, done := s.cmd, s.done
	go func() {
		defer close(done)
		_ = cmd.Wait() // killed, always
	}()
	eventually(t, "the server to listen", func() bool {
		select {
		case <-done:
			t.Fatalf("the server ended by itself:\n%s", s.log)
		default:
		}
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
}

// kill ends the process as kill -9 does and waits until it is gone.
func (s *server) kill() {
	select {
	case <-s.done: // its number may belong to another process by now
	default:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
	}
}

func (s *server) url() string {
	path := "/mcp"
	if s.mode == "sse" {
		path = "/sse"
	}
	return fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path)
}

// eventually waits for something that another process does and cannot announce.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx := ctxFor(t)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
