//go:build unix

package host_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

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
