// Package pgtest starts servers of PostgreSQL for tests, from the programs that are installed.
package pgtest

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// startWithin bounds how long a server may take until it answers.
const startWithin = time.Minute

// A Server is a server of PostgreSQL in a folder of its own, which ends with the test.
type Server struct {
	Dir     string    // with its socket
	URL     string    // of its database, for all drivers
	Process *exec.Cmd // nil: it is stopped

	as  func(*exec.Cmd)
	log log
}

// A log is what a server says.
type log struct {
	mu    sync.Mutex // guards what follows
	text  bytes.Buffer
	ready chan struct{} // closed when it answers; nil: it does
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready != nil && bytes.Contains(p, []byte("ready to accept connections")) {
		close(l.ready)
		l.ready = nil
	}
	return l.text.Write(p)
}

// begin returns what is closed when the server answers.
func (l *log) begin() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = make(chan struct{})
	return l.ready
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Program finds a program of PostgreSQL, which distributions keep out of PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		t.Fatalf("there is no %s: install PostgreSQL", name)
	}
	return found[len(found)-1]
}

// New starts a server that listens on a socket in its folder.
func New(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{Dir: dir, as: Unprivileged(t, dir), URL: "postgres:///postgres?" + url.Values{"host": {dir}, "user": {"test"}}.Encode()}
	initialize := exec.Command(Program(t, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	s.as(initialize)
	if out, err := initialize.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("PostgreSQL said:\n%s", s.log.String())
		}
	})
	s.Start(t)
	return s
}

// Start starts the server again, and waits until it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.Process = exec.Command(Program(t, "postgres"), "-D", filepath.Join(s.Dir, "data"), "-k", s.Dir, "-c", "listen_addresses=",
		"-c", "fsync=off") // no test cuts the power
	ready := s.log.begin()
	s.Process.Stderr = &s.log
	s.as(s.Process)
	if err := s.Process.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ready:
	case <-time.After(startWithin):
		t.Fatalf("PostgreSQL does not answer; it said:\n%s", s.log.String())
	}
}

// Stop ends all connections, and the server.
func (s *Server) Stop() {
	if s.Process != nil {
		_ = s.Process.Process.Signal(os.Interrupt)
		_ = s.Process.Wait()
		s.Process = nil
	}
}
