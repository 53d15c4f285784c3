package host_test

import (
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
)

// quarantineHost opens a host over a list of servers as mcpproxy writes it.
func quarantineHost(t *testing.T, accepted *ledger.Ledger, entries string) *host.Host {
	t.Helper()
	v := &village{}
	c := assert.Value(config.Parse(t.Context(), "mcp_config.json", []byte(`{"mcpServers": [`+entries+`]}`), nil))(t)
	h := host.New(&host.Options{Transport: v.transport, StateDir: host.NoState, Registry: registry.New(&registry.Options{Ledger: accepted})})
	t.Cleanup(func() { _ = h.Close() })
	assert.Value(h.Apply(watchdog(t), c))(t)
	return h
}

const quarantinedEntry = `{"name": "s", "command": "look", "enabled": true, "quarantined": true}`

// The sample of mcpproxy: nothing of a server in quarantine is used, its tools are listed
// with the analysis, and approval ends that.
func TestServerInQuarantine(t *testing.T) {
	accepted := ledger.New(&ledger.Options{Mode: ledger.Trust})
	h := quarantineHost(t, accepted, quarantinedEntry)
	s := status(t, h, "s")
	if s.Stage != host.StageQuarantined || s.Tools != 0 || s.Quarantined != 1 {
		t.Errorf("got the stage %s, %d tools and %d in quarantine, want %s, 0 and 1", s.Stage, s.Tools, s.Quarantined, host.StageQuarantined)
	}
	_, err := call(t, h, "s__look", "{}")
	var quarantined *registry.QuarantinedError
	if !errors.As(err, &quarantined) || mcp.OutcomeOf(err) != mcp.NotSent {
		t.Fatalf("got %v, want a QuarantinedError and that nothing was sent", err)
	}
	assert.Contains(t, quarantined.Analysis().Content[0].(*mcp.TextContent).Text, `All of server "s" is in quarantine`, "the analysis")
	if _, err := h.Client(t.Context(), session.Key{Server: "s"}); !errors.Is(err, host.ErrQuarantined) {
		t.Errorf("got the error %v of Client, want %v", err, host.ErrQuarantined)
	}
	if l := content.New(h).Prompts(t.Context(), nil); len(l.NotAsked) != 1 {
		t.Errorf("got the servers %v not asked for prompts, want s", l.NotAsked)
	}
	health := assert.Value(doctor.HealthOf(h, "s"))(t)
	assert.Equal(t, health.Action, doctor.ActionAccept, "the action")
	assert.OK(t, accepted.Accept(t.Context(), "ann", accepted.Pending("s")...))
	if got := status(t, h, "s"); got.Stage != host.StageReady || got.Tools != 1 {
		t.Errorf("after the approval: got the stage %s and %d tools, want %s and 1", got.Stage, got.Tools, host.StageReady)
	}
	if text, err := call(t, h, "s__look", "{}"); err != nil || text != "look" {
		t.Errorf("after the approval: got %q and %v, want an answer", text, err)
	}
}

// A server is put into quarantine at once, though what it is to become does not work.
func TestQuarantineBeginsAtOnce(t *testing.T) {
	h := quarantineHost(t, ledger.New(nil), `{"name": "s", "command": "look"}`)
	assert.Value(h.Apply(watchdog(t), load(t, "s", `{"command": "bad", "quarantined": true}`)))(t)
	assert.Equal(t, names(h), "", "the tools")
}

// Where nobody could end a quarantine the server is not started.
func TestQuarantineWithoutALedger(t *testing.T) {
	h := quarantineHost(t, nil, quarantinedEntry)
	s := status(t, h, "s")
	if s.Stage != host.StageQuarantined || !errors.Is(s.Err, host.ErrQuarantined) {
		t.Errorf("got the stage %s and the error %v, want %s and %v", s.Stage, s.Err, host.StageQuarantined, host.ErrQuarantined)
	}
	assert.Equal(t, names(h), "", "the tools")
}

// Each server's entry says what is done about tools that are new.
func TestLedgerModeOfAServer(t *testing.T) {
	h := quarantineHost(t, ledger.New(nil), `{"name": "a", "command": "x", "ledger": "review"}, {"name": "b", "command": "x"}`)
	assert.Equal(t, names(h), "b__x", "the tools")
}
