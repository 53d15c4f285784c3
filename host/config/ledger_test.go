package config_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What an entry says of quarantine and ledger is read, and a project's file can only make
// it stricter.
func TestLedgerOfAnEntry(t *testing.T) {
	for _, c := range []struct {
		name, keys  string
		scope       config.Scope
		quarantined bool
		ledger      string
		warning     bool
		fault       string
	}{
		{"mcpproxy", `"quarantined": true`, config.ScopeUser, true, "", false, ""},
		{"nothing", `"quarantined": false`, config.ScopeUser, false, "", false, ""},
		{"trust", `"ledger": "trust"`, config.ScopeUser, false, config.LedgerTrust, false, ""},
		{"pin", `"ledger": "pin"`, config.ScopeUser, false, config.LedgerPin, false, ""},
		{"review", `"ledger": "review"`, config.ScopeUser, false, config.LedgerReview, false, ""},
		{"unknown", `"ledger": "none"`, config.ScopeUser, false, "", false, "write trust, pin or review"},
		{"project: quarantine", `"quarantined": true`, config.ScopeProject, true, "", false, ""},
		{"project: review", `"ledger": "review"`, config.ScopeProject, false, config.LedgerReview, false, ""},
		{"project: pin", `"ledger": "pin"`, config.ScopeProject, false, "", true, ""},
		{"project: trust", `"ledger": "trust"`, config.ScopeProject, false, "", true, ""},
	} {
		all := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"s": {"command": "x", `+c.keys+`}}}`), &config.Options{Scope: c.scope}))(t)
		s := all.Servers[0]
		if s.Quarantined != c.quarantined || s.Ledger != c.ledger {
			t.Errorf("%s: got quarantined %v and ledger %q, want %v and %q", c.name, s.Quarantined, s.Ledger, c.quarantined, c.ledger)
		}
		if got := len(s.Warnings) > 0; got != c.warning {
			t.Errorf("%s: got the warnings %v, want one: %v", c.name, s.Warnings, c.warning)
		}
		if c.fault == "" && s.Err != nil || c.fault != "" && (s.Err == nil || !strings.Contains(s.Err.Error(), c.fault)) {
			t.Errorf("%s: got the error %v, want %q", c.name, s.Err, c.fault)
		}
	}
}
