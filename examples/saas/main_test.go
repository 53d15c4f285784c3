package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const asMain = "SAAS_TEST_MAIN" // makes the test program the program itself

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// bound is how long a run of the program may take.
const bound = time.Minute

// A program is one run of it, with all its processes.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr *os.File // which all its processes have but the server of the database
	temp   string   // its temporary folder
}

func startProgram(t *testing.T, args ...string) *program {
	t.Helper()
	self := assert.Value(os.Executable())(t)
	temp, err := os.MkdirTemp("", "saas") // a socket's path must be short
	assert.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil { // the server of the database is another user
		t.Fatal(err)
	}
	stderr, in, err := os.Pipe()
	assert.OK(t, err)
	t.Cleanup(func() { _ = stderr.Close() })
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1", "TMPDIR="+temp, databaseEnv+"=", keyEnv+"=")
	cmd.Stderr = in
	stdout := assert.Value(cmd.StdoutPipe())(t)
	assert.OK(t, cmd.Start())
	assert.OK(t, in.Close())
	p := &program{t, cmd, bufio.NewReader(stdout), stderr, temp}
	giveUp := time.AfterFunc(bound, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { giveUp.Stop(); _ = cmd.Process.Kill() })
	return p
}

// end waits until the program has ended, with all its processes, and returns its status.
func (p *program) end() error {
	p.t.Helper()
	assert.OK(p.t, p.stderr.SetReadDeadline(time.Now().Add(bound)))
	said, err := io.ReadAll(p.stderr)
	assert.OK(p.t, err, "the processes of the program")
	if len(said) > 0 {
		p.t.Errorf("standard error: got %s, want nothing", said)
	}
	status := p.cmd.Wait()
	left, err := os.ReadDir(p.temp) // the folder of the database goes when its server has ended
	assert.OK(p.t, err)
	if len(left) > 0 {
		p.t.Errorf("temporary folder: got %v, want nothing left", left)
	}
	return status
}

func TestDemo(t *testing.T) {
	p := startProgram(t, "-demo")
	var out bytes.Buffer
	assert.Value(io.Copy(&out, p.stdout))(t)
	assert.OK(t, p.end(), "status")
	want := `Open http://ADDRESS (two replicas, one PostgreSQL)
- alice and bob sign in
- alice adds the server notes, and bob adds clock
- replica A begins the login of alice at notes
- replica B completes it, when her browser comes back
- her agent at A calls a tool of the service, and one of notes
- a call of it waits at A for her approval
- she approves it at B, and A makes it
- bob's agent calls clock, and knows nothing of notes
- another call waits at A, and A is killed
- the service goes on at B: her agent makes the call again, and she approves it
- nothing is lost, or was done twice, and no login was asked for again
`
	assert.Equal(t, regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(out.String(), "ADDRESS"), want, "output")
}

// No process and no file is left, however the program ends.
func TestEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such signals")
	}
	for _, c := range []struct {
		name   string
		signal os.Signal
		want   string
	}{
		{"terminated", syscall.SIGTERM, "<nil>"},
		{"interrupted", os.Interrupt, "<nil>"},
		{"killed", os.Kill, "signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startProgram(t)
			line, err := p.stdout.ReadString('\n')
			assert.OK(t, err, "first line: got %q", line)
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			replicas := map[string]bool{}
			for range 2 { // one after the other
				res := assert.Value(client.Get(strings.Fields(line)[1]))(t)
				_ = res.Body.Close()
				replicas[res.Header.Get("Replica")] = true
			}
			assert.Equal(t, [...]bool{replicas["A"], replicas["B"]}, [...]bool{true, true}, "replicas of two requests")
			assert.OK(t, p.cmd.Process.Signal(c.signal))
			assert.Equal(t, fmt.Sprint(p.end()), c.want, "status")
		})
	}
}

// The server of the database ends also when it was about to start.
func TestEndEarly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such signals")
	}
	p := startProgram(t)
	for begun := time.Now(); ; runtime.Gosched() { // the moment is to be hit
		if files, _ := filepath.Glob(filepath.Join(p.temp, "*", "data", "postmaster.pid")); len(files) > 0 {
			break
		}
		if time.Since(begun) > bound {
			t.Fatal("server of the database: got no start")
		}
	}
	assert.OK(t, p.cmd.Process.Kill())
	assert.Equal(t, fmt.Sprint(p.end()), "signal: killed", "status")
}
