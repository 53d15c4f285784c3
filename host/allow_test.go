//go:build unix

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A project is a folder with a config file of another person, and a program there that
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
	self := assert.Value(os.Executable())(p)
	path := filepath.Join(p.dir, folder, name)
	assert.OK(p, os.MkdirAll(filepath.Dir(path), 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> '%s'\nGORACE=atexit_sleep_ms=0 %s=stdio exec '%s'\n", p.trace, serverMode, self)
	assert.OK(p, os.WriteFile(path, []byte(script), 0o755))
	return path
}

// config reads an entry as the file of the project has it.
func (p *project) config(entry string) *config.Config {
	p.Helper()
	file := filepath.Join(p.dir, ".mcp.json")
	assert.OK(p, os.WriteFile(file, []byte(`{"mcpServers":{"notes":`+entry+`}}`), 0o600))
	return assert.Value(config.Load(context.Background(), file, &config.Options{Scope: config.ScopeProject}))(p)
}

// starts returns a line for each start of a program of the project.
func (p *project) starts() []string {
	data, err := os.ReadFile(p.trace)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	assert.OK(p, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

func (p *project) wantStarts(want ...string) {
	p.Helper()
	assert.Equal(p, strings.Join(p.starts(), "|"), strings.Join(want, "|"), "started")
}

// apply has a host run an entry of the project.
func (p *project) apply(h *host.Host, entry string) {
	p.Helper()
	assert.Value(h.Apply(p.Context(), p.config(entry)))(p)
}

func newApprovalHost(t testing.TB, book *consent.Book) *host.Host {
	h := host.New(patient(&host.Options{Consents: book, StateDir: host.NoState}))
	t.Cleanup(func() { assert.OK(t, h.Close()) })
	return h
}

// onlyPending returns the only launch that waits.
func onlyPending(t testing.TB, h *host.Host) *consent.Launch {
	t.Helper()
	pending := h.PendingLaunches()
	if len(pending) != 1 {
		t.Fatalf("got the launches %v, want one: %v", pending, h.Servers())
	}
	return pending[0]
}

func approvePending(t testing.TB, h *host.Host) *consent.Launch {
	t.Helper()
	l := onlyPending(t, h)
	assert.OK(t, h.AllowLaunch(t.Context(), "ann", l.Fingerprint()))
	return l
}

func TestApproval(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"./bin/notes","args":["a b"],"cwd":".","env":{"KEY":"s3cret"}}`)
	p.wantStarts()
	status := wantStage(t, h, host.StageNotAllowed)

	unapproved := assert.As[*host.LaunchNotAllowedError](t, status.Err, "the error")
	assert.Equal(t, unapproved.Verdict, consent.Pending, "the error")
	assert.Equal(t, mcp.OutcomeOf(unapproved), mcp.NotSent, "the error")
	pending := onlyPending(t, h)
	program := filepath.Join(p.dir, "bin", "notes")
	assert.Equal(t, pending.String(), fmt.Sprintf("cd %s && KEY='****' %s 'a b'\n# server notes", p.dir, program), "shown")
	approvePending(t, h)
	wantStage(t, h, host.StageReady)
	p.wantStarts(program + " a b")
	assert.Equal(t, len(h.PendingLaunches()), 0, "it waits after its approval")
	// A restart is the same launch, and so is another description.
	assert.OK(t, h.Restart(t.Context(), "notes"))
	p.apply(h, `{"command":"./bin/notes","args":["a b"],"cwd":".","env":{"KEY":"s3cret"},"description":"new"}`)
	wantStage(t, h, host.StageReady)
}

// Whatever changes of an entry, what was approved is not what is wanted now.
func TestApprovalIsOfTheLaunch(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.program("other", "notes")
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
			assert.Equal(t, len(h.Registry().Snapshot().Tools()), 0, "its tools are listed")
			assert.Equal(t, len(p.starts()), before)
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
	awaitStage(t, h, host.StageNotAllowed)
	assert.Equal(t, approvePending(t, h).Path, evil, "asked for")
	p.wantStarts(filepath.Join(second, "notes"), evil)
}

func TestReject(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	book := consent.New()
	h := newApprovalHost(t, book)
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	l := approvePending(t, h)
	assert.OK(t, h.DenyLaunch(t.Context(), "bob", l.Fingerprint()))
	status := wantStage(t, h, host.StageNotAllowed)
	assert.Fails(t, status.Err, "after Reject")
	assert.Contains(t, fmt.Sprint(status.Err), "was denied", "after Reject")
	assert.Equal(t, status.State.Phase, mcp.Idle, "after Reject")
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 0, "tools are listed, or the user is asked again")
	assert.Equal(t, len(h.PendingLaunches()), 0, "tools are listed, or the user is asked again")
	assert.Fails(t, h.Enable(t.Context(), "notes"), "Enable starts what was rejected")
	records := assert.Value(book.Records(t.Context()))(t)
	assert.Equal(t, len(records), 1, "records")
	assert.Equal(t, records[0].By+" "+string(records[0].Verdict), "bob rejected", "recorded")
	assert.OK(t, h.AllowLaunch(t.Context(), "ann", l.Fingerprint()), "approving after all")
	wantStage(t, h, host.StageReady)
}

// A variable by which programs load code is shown with its value, and another value is
// another launch. All other values are secret.
func TestApprovalOfLoaders(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"./bin/notes","cwd":".","env":{"KEY":"s3cret","NODE_OPTIONS":"--require ./one"}}`)
	text := approvePending(t, h).String()
	assert.Lacks(t, text, "s3cret", "shown")
	assert.Contains(t, text, `NODE_OPTIONS='--require ./one'`, "shown")
	p.apply(h, `{"command":"./bin/notes","cwd":".","env":{"KEY":"s3cret","NODE_OPTIONS":"--require ./two"}}`)
	wantStage(t, h, host.StageNotAllowed)
	assert.Equal(t, len(p.starts()), 1, "starts")
}

// Who approves what has changed since they looked is told so.
func TestApproveStale(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	seen := h.PendingLaunches()[0].Fingerprint()
	p.apply(h, `{"command":"./bin/notes","args":["--evil"],"cwd":"."}`)
	err := h.AllowLaunch(t.Context(), "ann", seen)

	assert.As[*host.StaleLaunchError](t, err)
	assert.As[*host.StaleLaunchError](t, h.DenyLaunch(t.Context(), "ann", "nonsense"))
	p.wantStarts()
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

	assert.Equal(t, assert.As[*consent.Error](t, status.Err, "the error").File, file, "the error")
	pending := onlyPending(t, h)
	assert.As[*consent.Error](t, h.AllowLaunch(t.Context(), "ann", pending.Fingerprint()), "Approve")
	p.wantStarts()
	assert.Equal(t, string(assert.Value(os.ReadFile(file))(t)), "{", "the file")
}

// The user's own servers need no approval.
func TestNoApproval(t *testing.T) {
	t.Parallel()
	for _, scope := range []config.Scope{config.ScopeUser, config.ScopeProgram} {
		p := newProject(t)
		h := newApprovalHost(t, consent.New())
		c := p.config(`{"command":"./bin/notes","cwd":"."}`)
		c.Servers[0].Source.Scope = scope
		assert.Value(h.Apply(t.Context(), c))(t)
		wantStage(t, h, host.StageReady)
		assert.Equal(t, len(h.PendingLaunches()), 0, "it waits")
	}
}

// What the environment of this process looks up is what is shown.
func TestLaunchProgramNotFound(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"no-such-program-here"}`)
	status := h.Servers()[0]
	assert.Is(t, status.Err, exec.ErrNotFound, "stage")
	assert.False(t, status.Stage == host.StageNotAllowed, "stage")
}

// A host can be closed while servers wait.
func TestCloseWhilePending(t *testing.T) {
	p := newProject(t)
	h := host.New(&host.Options{Consents: consent.New(), StateDir: host.NoState})
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Shutdown(ctx)
	assert.OK(t, h.Close())
}

// Of a project's server the person who approves sees which of their secrets leave for
// where, and nobody is asked for one before.
func TestApprovalBeforeAnswers(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	file := filepath.Join(p.dir, "mcp.json")
	text := `{"inputs":[{"id":"word","type":"promptString","description":"Word"}],
		"servers":{"notes":{"command":"./bin/notes","cwd":".","args":["${input:word}"],"env":{"K":"${keyring:k}","A":"${env:HOME}"}}}}`
	assert.OK(t, os.WriteFile(file, []byte(text), 0o600))
	var asked, looked atomic.Int32
	c := assert.Value(config.Load(t.Context(), file, &config.Options{
		Scope:   config.ScopeProject,
		Secrets: &countedSecrets{SecretStore: config.NewSecrets(), looked: &looked},
		Input: func(context.Context, config.Input) (config.Secret, error) {
			asked.Add(1)
			return "said", nil
		},
	}))(t)
	h := newApprovalHost(t, consent.New())
	assert.Value(h.Apply(t.Context(), c))(t)
	wantStage(t, h, host.StageNotAllowed)
	pending := onlyPending(t, h)
	assert.Equal(t, asked.Load(), 0, "questions")
	assert.Equal(t, looked.Load(), 0, "secrets looked up")
	assert.ContainsAll(t, pending.String(), "args[0]: ${input:word}", "env.K: ${keyring:k}", "env.A: ${env:HOME}")
	assert.OK(t, h.AllowLaunch(t.Context(), "ann", pending.Fingerprint()))
	wantStage(t, h, host.StageReady)
	p.wantStarts(pending.Path + " said")
	assert.OK(t, h.Restart(t.Context(), "notes"))
	assert.Equal(t, len(p.starts()), 2, "started")
	assert.Equal(t, asked.Load(), 1, "started")
}

// countedSecrets counts how often a person looks.
type countedSecrets struct {
	config.SecretStore
	looked *atomic.Int32
}

func (s *countedSecrets) Secret(ctx context.Context, name string) (config.Secret, bool, error) {
	s.looked.Add(1)
	if name == "k" {
		return "key", true, nil
	}
	return s.SecretStore.Secret(ctx, name)
}

// applyFrom has a host run an entry of the project as if it stood in that file, in
// that scope.
func (p *project) applyFrom(h *host.Host, entry, file string, scope config.Scope) host.Report {
	p.Helper()
	c := p.config(entry)
	c.Servers[0].Source.File, c.Servers[0].Source.Scope = file, scope
	return assert.Value(h.Apply(p.Context(), c))(p)
}

// The same entry in another file is trusted as that file is.
func TestApprovalFollowsTheFile(t *testing.T) {
	t.Parallel()
	const entry = `{"command":"./bin/notes","cwd":"."}`
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	user, own := filepath.Join(t.TempDir(), "mcp.json"), filepath.Join(p.dir, ".mcp.json")

	p.applyFrom(h, entry, own, config.ScopeProject)
	wantStage(t, h, host.StageNotAllowed)
	assert.Equal(t, strings.Join(p.applyFrom(h, entry, user, config.ScopeUser).Started, " "), "notes", "the user's own entry")
	wantStage(t, h, host.StageReady)
	r := p.applyFrom(h, entry, own, config.ScopeProject)
	assert.Equal(t, strings.Join(r.Stopped, " "), "notes", "the entry of the project")
	assert.Fails(t, r.Failed["notes"], "the entry of the project")
	wantStage(t, h, host.StageNotAllowed)
	approvePending(t, h)
	wantStage(t, h, host.StageReady)
	assert.Equal(t, strings.Join(p.applyFrom(h, entry, filepath.Join(p.dir, ".mcprc"), config.ScopeRC).Kept, " "), "notes", "another file of the same folder")
	assert.Equal(t, filepath.Base(h.Servers()[0].Source.File), ".mcprc", "it stands in")
	p.applyFrom(h, entry, filepath.Join(t.TempDir(), ".mcp.json"), config.ScopeProject)
	wantStage(t, h, host.StageNotAllowed)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 0, "tools of what is not approved are listed")
}

// A flakyStore lives in memory, and cannot be read while it is down.
type flakyStore struct {
	storage.Store
	down atomic.Bool
}

var errStoreDown = errors.New("the store is down")

func (f *flakyStore) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if f.down.Load() {
		return storage.Record{}, errStoreDown
	}
	return f.Store.Load(ctx, name, known)
}

// While nobody knows what is approved a changed entry does not start, and what runs
// goes on.
func TestApplyWhileBookIsDown(t *testing.T) {
	p := newProject(t)
	store := &flakyStore{Store: storage.NewMemory()}
	h := newApprovalHost(t, assert.Value(consent.Load(t.Context(), store, "consents"))(t))
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	approvePending(t, h)
	store.down.Store(true)
	r := assert.Value(h.Apply(t.Context(), p.config(`{"command":"./bin/notes","args":["new"],"cwd":"."}`)))(t)
	assert.Is(t, r.Failed["notes"], errStoreDown)
	assert.Equal(t, len(r.Stopped), 0)
	wantStage(t, h, host.StageReady)
	assert.Equal(t, len(p.starts()), 1, "starts")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store.down.Store(false)
	_, _ = h.Apply(ctx, p.config(`{"command":"./bin/notes","args":["new"],"cwd":"."}`))
	assert.Equal(t, h.Servers()[0].Stage, host.StageReady, "an Apply that was given up has stopped what ran")
	assert.Lacks(t, strings.Join(p.starts(), "|"), "new", "started")
}

// TestCommittedLedgerIsSeenOnce: whoever is asked whether a server of a project may start
// sees whose decisions about its tools the ledger of the project has, and is asked once.
func TestCommittedLedgerIsSeenOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	file, ledger := filepath.Join(p.dir, ".mcp.json"), filepath.Join(p.dir, "mcp.lock.json")
	p.write(file, projectFile)
	author := assert.Value(host.Open(t.Context(), file, &host.Options{
		StateDir: t.TempDir(), Registry: pinned(t, ledger), OpenWait: -1, Config: &config.Options{Scope: config.ScopeProgram},
	}))(t)
	assert.OK(t, author.Close())
	p.write(ledger, strings.ReplaceAll(string(assert.Value(os.ReadFile(ledger))(t)), `"first use"`, `"mallory"`))

	opts := &host.Options{StateDir: t.TempDir(), Registry: pinned(t, ledger), OpenWait: -1}
	user := assert.Value(host.Open(t.Context(), file, opts))(t)
	p.opened(user, nil)
	pending := onlyPending(t, user)
	assert.ContainsAll(t, pending.String(), "1 by \"mallory\" until 2", ledger)
	bare := *pending
	bare.Accepted = ""
	assert.Equal(t, bare.Fingerprint(), pending.Fingerprint(), "the fingerprint without what is accepted")
	assert.OK(t, user.AllowLaunch(t.Context(), "ann", pending.Fingerprint()))
	again := assert.Value(host.Open(t.Context(), file, opts))(t)
	p.opened(again, nil)
	assert.Equal(t, len(again.PendingLaunches()), 0)
}

// TestNoLedgerIsSeenWhereThereIsNone: without decisions nothing is said.
func TestNoLedgerIsSeenWhereThereIsNone(t *testing.T) {
	p := newProject(t)
	file := filepath.Join(p.dir, ".mcp.json")
	p.write(file, projectFile)
	for _, ledger := range []string{"", filepath.Join(p.dir, "mcp.lock.json")} {
		h, err := host.Open(t.Context(), file, &host.Options{StateDir: host.NoState, Consents: consent.New(), Registry: pinned(t, ledger)})
		p.opened(h, err)
		assert.Equal(t, onlyPending(t, h).Accepted, "", "accepted with the ledger %q", ledger)
	}
}

// A server that waits for its launch to be allowed was not started.
func TestReportOfUnapprovedServers(t *testing.T) {
	for _, entry := range []string{`{"command": "./bin/notes"}`, `{"command": "./bin/notes", "lazy": true}`} {
		p := newProject(t)
		report := assert.Value(newApprovalHost(t, consent.New()).Apply(watchdog(t), p.config(entry)))(t)
		assert.Equal(t, len(report.Started), 0, "started")
		assert.Equal(t, fmt.Sprint(report.NotAllowed), fmt.Sprint([]string{"notes"}), "unapproved")

		assert.As[*host.LaunchNotAllowedError](t, report.Failed["notes"], "failed")
		p.wantStarts()
	}
}

// An error says once which server it is about.
func TestErrorsNameTheirServerOnce(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	report := assert.Value(h.Apply(watchdog(t), p.config(`{"command": "./bin/notes"}`)))(t)
	errs := map[string]error{"unapproved": report.Failed["notes"]}
	errs["refresh of an unapproved server"] = h.Refresh(watchdog(t), "notes")
	report = assert.Value(h.Apply(watchdog(t), &config.Config{Servers: []*config.Server{
		{Name: "boxed", Transport: config.TransportStdio, Command: "x", Isolation: &config.Isolation{Kind: "no-such-kind"}},
		{Name: "dying", Transport: config.TransportStdio, Command: "false"},
	}}))(t)
	errs["isolated"], errs["dying"] = report.Failed["boxed"], report.Failed["dying"]
	for what, err := range errs {
		assert.Equal(t, strings.Count(fmt.Sprint(err), `server "`), 1, "%s: it names servers: %v", what, err)
	}
}

// awaitStage waits until the only server is there.
func awaitStage(t testing.TB, h *host.Host, want host.Stage) host.Status {
	t.Helper()
	for s := range h.Watch(t.Context()) {
		if s[0].Stage == want {
			return s[0]
		}
	}
	t.Fatalf("the server has never been %s: %v", want, h.Servers())
	return host.Status{}
}

// What another process rejects stops here, and starts when it is approved after all.
func TestRejectionByAnotherProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "consents.json")
	synctest.Test(t, func(t *testing.T) {
		here, there := openBook(t, file), openBook(t, file)
		opts := (&pipeServers{}).options()
		opts.Consents = here
		h := newHost(t, opts, parseProject(t, `{"url": "https://s.example/mcp"}`))
		l := approvePending(t, h)
		assert.OK(t, there.Decide(t.Context(), "bob", l, consent.Rejected))
		assert.Equal(t, assert.As[*host.LaunchNotAllowedError](t, awaitStage(t, h, host.StageNotAllowed).Err).Verdict, consent.Rejected, "verdict")
		assert.Equal(t, names(h), "", "tools of what was rejected")
		assert.Fails(t, h.Restart(t.Context(), "s"), "restarted what another process has rejected")
		assert.OK(t, there.Decide(t.Context(), "bob", l, consent.Approved))
		awaitStage(t, h, host.StageReady)
		// What is rejected here can be approved there, too.
		assert.OK(t, h.DenyLaunch(t.Context(), "ann", l.Fingerprint()))
		wantStage(t, h, host.StageNotAllowed)
		assert.OK(t, there.Decide(t.Context(), "bob", l, consent.Approved))
		awaitStage(t, h, host.StageReady)
	})
}

// parseProject reads the entry of a server s as a project's file has it.
func parseProject(t *testing.T, entry string) *config.Config {
	t.Helper()
	text := `{"mcpServers": {"s": ` + entry + `}}`
	return assert.Value(config.Parse(t.Context(), "mcp.json", []byte(text), &config.Options{Scope: config.ScopeProject}))(t)
}

func openBook(t testing.TB, file string) *consent.Book {
	t.Helper()
	return assert.Value(consent.Open(file))(t)
}

// What was disabled is not asked for and not started by an approval; what was enabled
// is asked for, whatever its file says.
func TestApprovalAndSwitches(t *testing.T) {
	p := newProject(t)
	h := newApprovalHost(t, consent.New())
	p.apply(h, `{"command":"./bin/notes","cwd":".","enabled":false}`)
	assert.Equal(t, len(h.PendingLaunches()), 0, "disabled servers wait")
	assert.Fails(t, h.Enable(t.Context(), "notes"), "Enable starts what nobody has approved")
	l := approvePending(t, h)
	wantStage(t, h, host.StageReady)
	assert.OK(t, h.Disable(t.Context(), "notes"))
	for _, decide := range []func() error{
		func() error { return h.AllowLaunch(t.Context(), "ann", l.Fingerprint()) },
		func() error { return h.DenyLaunch(t.Context(), "ann", l.Fingerprint()) },
	} {
		assert.OK(t, decide())
		wantStage(t, h, host.StageDisabled)
	}
	assert.Fails(t, h.Enable(t.Context(), "notes"), "Enable starts what was rejected while it was disabled")
	p.wantStarts(l.Path)
}

// The log has each decision about a launch, and who made it.
func TestDecisionsAreRecorded(t *testing.T) {
	p, kept := newProject(t), activity.NewMemory(100)
	log := activity.New(nil, kept)
	h := host.New(patient(&host.Options{Consents: consent.New(), StateDir: host.NoState, Activity: log}))
	p.apply(h, `{"command":"./bin/notes","cwd":"."}`)
	print := onlyPending(t, h).Fingerprint()
	assert.OK(t, h.AllowLaunch(t.Context(), "ann", print))
	assert.OK(t, h.ForgetLaunch(t.Context(), "bob", print))
	assert.OK(t, h.DenyLaunch(t.Context(), "eve", print))
	assert.OK(t, h.Close())
	assert.OK(t, log.Close(t.Context()))
	var got []string
	for _, e := range kept.Recent(&activity.Filter{Kinds: []string{"consent"}}, 0) {
		assert.Equal(t, e.Detail["fingerprint"], print)
		got = append(got, strings.TrimSpace(e.User+" "+e.Outcome+" "+e.Detail["change"]))
	}
	slices.Sort(got)
	assert.Equal(t, strings.Join(got, ", "), "ann approved, bob ok forget, eve refused")
}

// However decisions, changes and the end come together, the server is at last what was
// decided last, and nothing is left.
func TestDecideAllAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	file := filepath.Join(t.TempDir(), "consents.json")
	one, two := newApprovalHost(t, openBook(t, file)), newApprovalHost(t, openBook(t, file))
	const entry = `{"command":"./bin/notes","cwd":"."}`
	p.apply(one, entry)
	p.apply(two, entry)
	c := p.config(entry)
	print := one.PendingLaunches()[0].Fingerprint()
	var wg sync.WaitGroup
	for i, h := range []*host.Host{one, two, one, two} {
		wg.Go(func() {
			for range 5 {
				_ = h.AllowLaunch(t.Context(), fmt.Sprint("ann ", i), print) // a rejection may be faster
				_ = h.DenyLaunch(t.Context(), fmt.Sprint("bob ", i), print)
				assert.Is(t, assert.Err(h.Apply(t.Context(), c)), nil)
			}
		})
	}
	wg.Wait()
	assert.OK(t, one.AllowLaunch(t.Context(), "ann", print))
	awaitStage(t, one, host.StageReady)
	awaitStage(t, two, host.StageReady)
	for _, h := range []*host.Host{one, two} {
		wg.Go(func() { _ = h.DenyLaunch(t.Context(), "bob", print) })
		wg.Go(func() { _ = h.AllowLaunch(t.Context(), "ann", print) })
		wg.Go(func() { _ = h.Shutdown(t.Context()) })
	}
	wg.Wait()
}
