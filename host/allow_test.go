//go:build unix

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A project is a folder with a config file of somebody else, and a program there that
// leaves a trace when it is started, and is a server then.
type project struct {
	testing.TB
	dir, trace string
}

func newProject(t testing.TB) *project {
	p := &project{TB: t, dir: t.TempDir()}
	p.trace = filepath.Join(p.dir, "trace")
	p.program("bin", "notes")
	return p
}

// program writes a program that is found by its name in a folder.
func (p *project) program(folder, name string) string {
	p.Helper()
	self, err := os.Executable()
	if err != nil {
		p.Fatal(err)
	}
	path := filepath.Join(p.dir, folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> '%s'\nGORACE=atexit_sleep_ms=0 %s=stdio exec '%s'\n", p.trace, serverMode, self)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		p.Fatal(err)
	}
	return path
}

// config reads an entry as the file of the project has it.
func (p *project) config(entry string) *config.Config {
	p.Helper()
	file := filepath.Join(p.dir, ".mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"notes":`+entry+`}}`), 0o600); err != nil {
		p.Fatal(err)
	}
	c, err := config.Load(context.Background(), file, &config.Options{Scope: config.ScopeProject})
	if err != nil {
		p.Fatal(err)
	}
	return c
}

// starts returns a line for each start of a program of the project.
func (p *project) starts() []string {
	data, err := os.ReadFile(p.trace)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

func (p *project) wantStarts(want ...string) {
	p.Helper()
	if got := p.starts(); strings.Join(got, "|") != strings.Join(want, "|") {
		p.Errorf("started %q, want %q", got, want)
	}
}

// apply has a host run an entry of the project.
func (p *project) apply(h *host.Host, entry string) {
	p.Helper()
	if _, err := h.Apply(p.Context(), p.config(entry)); err != nil {
		p.Fatal(err)
	}
}

func newApprovalHost(t testing.TB, book *consent.Book) *host.Host {
	h := host.New(&host.Options{Consents: book, StateDir: host.NoState})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func approvePending(t testing.TB, h *host.Host) *consent.Launch {
	t.Helper()
	pending := h.PendingLaunches()
	if len(pending) != 1 {
		t.Fatalf("%d servers wait, want 1: %v", len(pending), h.Servers())
	}
	assert.OK(t, h.AllowLaunch(t.Context(), "ann", pending[0].Fingerprint()))
	return pending[0]
}

func TestApproval(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"./bin/notes","args":["a b"],"cwd":".","env":{"KEY":"s3cret"}}`)
	p.wantStarts()
	status := wantStage(t, h, host.StageNotAllowed)
	var unapproved *host.LaunchNotAllowedError
	if !errors.As(status.Err, &unapproved) || unapproved.Verdict != consent.Pending || mcp.OutcomeOf(unapproved) != mcp.NotSent {
		t.Errorf("the error is %v", status.Err)
	}
	pending := h.PendingLaunches()
	if len(pending) != 1 {
		t.Fatalf("%d servers wait", len(pending))
	}
	program := filepath.Join(p.dir, "bin", "notes")
	if want := fmt.Sprintf(`: 'server notes' && cd %s && KEY='****' %s 'a b'`, p.dir, program); pending[0].String() != want {
		t.Errorf("shown is %s, want %s", pending[0], want)
	}
	approvePending(t, h)
	wantStage(t, h, host.StageReady)
	p.wantStarts(program + " a b")
	if len(h.PendingLaunches()) != 0 {
		t.Error("it waits after its approval")
	}
	// A restart is the same launch.
	if err := h.Restart(t.Context(), "notes"); err != nil {
		t.Error(err)
	}
	assert.Equal(t, len(p.starts()), 2, "starts")
}

// Whatever changes of an entry, what was approved is not what is wanted now.
func TestApprovalIsOfTheLaunch(t *testing.T) {
	p := newProject(t)
	p.program("other", "notes")
	assert.OK(t, os.Mkdir(filepath.Join(p.dir, "folder"), 0o700))
	for name, entry := range map[string]string{
		"program":        `{"command":"./other/notes","args":["x"],"cwd":".","env":{"A":"1"}}`,
		"argument":       `{"command":"./bin/notes","args":["y"],"cwd":".","env":{"A":"1"}}`,
		"more arguments": `{"command":"./bin/notes","args":["x",""],"cwd":".","env":{"A":"1"}}`,
		"variable":       `{"command":"./bin/notes","args":["x"],"cwd":".","env":{"A":"1","B":"2"}}`,
		"value":          `{"command":"./bin/notes","args":["x"],"cwd":".","env":{"A":"2"}}`,
		"loader":         `{"command":"./bin/notes","args":["x"],"cwd":".","env":{"LD_PRELOAD":"./a.so"}}`,
		"isolation":      `{"command":"./bin/notes","args":["x"],"cwd":".","env":{"A":"1"},"isolation":{"kind":"docker","image":"alpine"}}`,
		"remote":         `{"url":"http://127.0.0.1:9/mcp"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p.TB = t
			h := newApprovalHost(t, consent.New())
			p.apply(h, `{"command":"./bin/notes","args":["x"],"cwd":".","env":{"A":"1"}}`)
			approvePending(t, h)
			before := len(p.starts())
			p.apply(h, entry)
			wantStage(t, h, host.StageNotAllowed)
			if len(h.Registry().Snapshot().Tools()) != 0 {
				t.Error("its tools are listed")
			}
			if n := len(p.starts()); n != before {
				t.Errorf("%d starts of what nobody has approved", n-before)
			}
			// What was approved is approved still.
			p.apply(h, `{"command":"./bin/notes","args":["x"],"cwd":".","env":{"A":"1"},"description":"new"}`)
			wantStage(t, h, host.StageReady)
		})
	}
}

// A program that comes to stand in front of the approved one in PATH is not started,
// also when the connection is made anew.
func TestApprovalAtReconnect(t *testing.T) {
	p := newProject(t)
	first, second := filepath.Join(p.dir, "early"), filepath.Join(p.dir, "bin")
	t.Setenv("PATH", first+":"+second+":"+os.Getenv("PATH"))
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"notes"}`)
	approvePending(t, h)
	p.wantStarts(filepath.Join(second, "notes"))
	evil := p.program("early", "notes")
	assert.Fails(t, h.Restart(t.Context(), "notes"), "Restart with another program succeeded")
	p.wantStarts(filepath.Join(second, "notes"))
	for s := range h.Watch(t.Context()) {
		if s[0].Stage == host.StageNotAllowed {
			break
		}
	}
	l := approvePending(t, h)
	assert.Equal(t, l.Path, evil, "asked for")
	p.wantStarts(filepath.Join(second, "notes"), evil)
}

func TestReject(t *testing.T) {
	p := newProject(t)
	book := consent.New()
	h := newApprovalHost(t, book)
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	l := approvePending(t, h)
	assert.OK(t, h.DenyLaunch(t.Context(), "bob", l.Fingerprint()))
	status := wantStage(t, h, host.StageNotAllowed)
	if status.Err == nil || !strings.Contains(status.Err.Error(), "was denied") || status.State.Phase != mcp.Idle {
		t.Errorf("after Reject: %v, %v", status.State.Phase, status.Err)
	}
	if len(h.Registry().Snapshot().Tools()) != 0 || len(h.PendingLaunches()) != 0 {
		t.Error("tools are listed, or somebody is asked again")
	}
	assert.Fails(t, h.Enable(t.Context(), "notes"), "Enable starts what was rejected")
	records, err := book.Records(t.Context())
	if err != nil || len(records) != 1 || records[0].By != "bob" || records[0].Verdict != consent.Rejected {
		t.Errorf("recorded: %v, %v", records, err)
	}
	if err := h.AllowLaunch(t.Context(), "ann", l.Fingerprint()); err != nil {
		t.Errorf("approving after all: %v", err)
	}
	wantStage(t, h, host.StageReady)
}

// A variable by which programs load code is shown with its value, and another value is
// another launch. All other values are secret.
func TestApprovalOfLoaders(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"./bin/notes","cwd":".","env":{"KEY":"s3cret","NODE_OPTIONS":"--require ./one"}}`)
	l := approvePending(t, h)
	if text := l.String(); strings.Contains(text, "s3cret") || !strings.Contains(text, `NODE_OPTIONS='--require ./one'`) {
		t.Errorf("shown is %s", text)
	}
	p.apply(h, `{"command":"./bin/notes","cwd":".","env":{"KEY":"s3cret","NODE_OPTIONS":"--require ./two"}}`)
	wantStage(t, h, host.StageNotAllowed)
	assert.Equal(t, len(p.starts()), 1, "starts")
}

// Who approves what has changed since he looked is told so.
func TestApproveStale(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	seen := h.PendingLaunches()[0].Fingerprint()
	p.apply(h, `{"command":"./bin/notes","args":["--evil"],"cwd":"."}`)
	err := h.AllowLaunch(t.Context(), "ann", seen)
	var stale *host.StaleLaunchError
	if !errors.As(err, &stale) {
		t.Errorf("got %v, want a StaleLaunchError", err)
	}
	if err := h.DenyLaunch(t.Context(), "ann", "nonsense"); !errors.As(err, &stale) {
		t.Errorf("got %v, want a StaleLaunchError", err)
	}
	p.wantStarts()
}

// Another process that approves starts the server here, too.
func TestApprovalByAnotherProcess(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	file := filepath.Join(t.TempDir(), "consents.json")
	open := func() *consent.Book {
		b := assert.Value(consent.Open(file, nil))(t)
		return b
	}
	h := newApprovalHost(t, open())
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	l := h.PendingLaunches()[0]
	assert.OK(t, open().Decide(t.Context(), "bob", l, consent.Approved))
	for s := range h.Watch(t.Context()) {
		if s[0].Stage == host.StageReady {
			break
		}
	}
	assert.Equal(t, len(p.starts()), 1, "starts")
	assert.OK(t, open().Decide(t.Context(), "bob", l, consent.Rejected))
	assert.Fails(t, h.Restart(t.Context(), "notes"), "restarted what another process has rejected")
	assert.Equal(t, len(p.starts()), 1, "starts")
}

// A book that is not sound approves nothing, and is left as it is.
func TestUnsoundBook(t *testing.T) {
	p := newProject(t)
	state := t.TempDir()
	file := filepath.Join(state, "consents.json")
	assert.OK(t, os.WriteFile(file, []byte("{"), 0o600))
	h := host.New(&host.Options{StateDir: state})
	defer func() { _ = h.Close() }()
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	status := wantStage(t, h, host.StageNotAllowed)
	var unsound *consent.Error
	if !errors.As(status.Err, &unsound) || unsound.File != file {
		t.Errorf("the error is %v", status.Err)
	}
	pending := h.PendingLaunches()
	if len(pending) != 1 {
		t.Fatalf("%d servers wait", len(pending))
	}
	if err := h.AllowLaunch(t.Context(), "ann", pending[0].Fingerprint()); !errors.As(err, &unsound) {
		t.Errorf("Approve: %v", err)
	}
	p.wantStarts()
	if data, err := os.ReadFile(file); err != nil || string(data) != "{" {
		t.Errorf("the file is %q now, %v", data, err)
	}
}

// The user's own servers need no approval.
func TestNoApproval(t *testing.T) {
	for _, scope := range []config.Scope{config.ScopeUser, config.ScopeProgram} {
		p := newProject(t)
		h := newApprovalHost(t, consent.New())
		c := p.config(`{"command":"./bin/notes","cwd":"."}`)
		c.Servers[0].Source.Scope = scope
		assert.Value(h.Apply(t.Context(), c))(t)
		wantStage(t, h, host.StageReady)
		if len(h.PendingLaunches()) != 0 {
			t.Error("it waits")
		}
	}
}

// What the environment of this process looks up is what is shown.
func TestLaunchProgramNotFound(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"no-such-program-here"}`)
	if status := h.Servers()[0]; !errors.Is(status.Err, exec.ErrNotFound) || status.Stage == host.StageNotAllowed {
		t.Errorf("stage %q, %v; want that it is not found", status.Stage, status.Err)
	}
}

// A host can be closed while servers wait.
func TestCloseWhilePending(t *testing.T) {
	p := newProject(t)
	h := host.New(&host.Options{Consents: consent.New(), StateDir: host.NoState})
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Shutdown(ctx)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
