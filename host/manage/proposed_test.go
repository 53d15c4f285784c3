package manage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// A record that was proposed is not started before a person has allowed its launch: not when it is
// added, changed or enabled, and not in the next run.
func TestProposedIsNotStarted(t *testing.T) {
	dir := t.TempDir()
	ran, path := filepath.Join(dir, "ran"), hosttest.Write(t)
	opts := &manage.Options{Host: *hosttest.Patient(&host.Options{StateDir: filepath.Join(dir, "state")})}
	m := open(t, path, opts)
	proposed := record.Record{Name: "canary", Command: "/bin/sh", Args: []string{"-c", "echo x >> " + ran}, Proposed: true}
	assert.Value(m.Add(watchdog(t), &proposed))(t)
	for _, change := range []string{`{"enabled": false}`, `{"enabled": true}`, `{"description": "x"}`, `{"env": {"A": "1"}}`} {
		assert.Value(m.Update(watchdog(t), "canary", patch(t, change)))(t)
	}
	assert.Value(m.Add(watchdog(t), &record.Record{Name: "own", Command: "none"}))(t)
	assert.Equal(t, len(m.Host().PendingLaunches()), 1, "launches that wait")
	assert.OK(t, m.Close())
	m = open(t, path, opts)
	pending := m.Host().PendingLaunches()
	if len(pending) != 1 || pending[0].Server != "canary" {
		t.Fatalf("got the launches %v after the restart, want that of the canary", pending)
	}
	_, err := os.Stat(ran)
	assert.Equal(t, os.IsNotExist(err), true, "is not exist")
	_ = m.Host().AllowLaunch(watchdog(t), "ann", pending[0].Fingerprint()) // it is no server
	assert.Value(os.Stat(ran))(t)
}
