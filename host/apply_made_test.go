package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestApplyOfAConfigMadeByHand: what no file can say is refused as a whole, and changes
// nothing.
func TestApplyOfAConfigMadeByHand(t *testing.T) {
	town := &acceptTown{}
	h := acceptNew(t, town.options(), acceptParse(t, "s", `{"command": "x"}`))
	made := func(names ...string) *config.Config {
		c := &config.Config{}
		for _, name := range names {
			c.Servers = append(c.Servers, &config.Server{Name: name, Transport: config.TransportStdio, Command: "y", Enabled: true})
		}
		return c
	}
	withNil := made("s")
	withNil.Servers = append(withNil.Servers, nil)
	for name, test := range map[string]struct {
		c    *config.Config
		want string
	}{
		"nil":       {nil, "no config"},
		"nil entry": {withNil, "nil"},
		"twice":     {made("a", "b", "a"), `"a"`},
		"no name":   {made("a", ""), "name"},
	} {
		report, err := h.Apply(watchdog(t), test.c)
		if err == nil || !strings.Contains(err.Error(), test.want) || len(report.Started) > 0 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		if servers := h.Servers(); len(servers) != 1 || servers[0].Name != "s" || names(h) != "s__echo" {
			t.Errorf("%s: %+v", name, servers)
		}
	}
	if report, err := h.Apply(watchdog(t), made("a", "b")); err != nil || len(report.Started) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	if err := errors.Join(h.Close()); err != nil {
		t.Error(err)
	}
}

// TestApplyFollowsAMoveToAnotherScope: an entry that waits for approval in a project's
// file starts when the user takes it over into a file of his own, and the other way
// round it waits.
func TestApplyFollowsAMoveToAnotherScope(t *testing.T) {
	town := &acceptTown{}
	parse := func(scope config.Scope) *config.Config {
		t.Helper()
		c := assert.Value(config.Parse(t.Context(), string(scope)+".json", []byte(`{"mcpServers": {"s": {"url": "https://127.0.0.1:1/mcp"}}}`), &config.Options{Scope: scope}))(t)
		return c
	}
	h := acceptNew(t, town.options(), parse(config.ScopeProject))
	for _, test := range []struct {
		scope config.Scope
		want  string
	}{{config.ScopeProject, ""}, {config.ScopeUser, "s__echo"}, {config.ScopeProject, ""}} {
		assert.Value(h.Apply(watchdog(t), parse(test.scope)))(t)
		if got := names(h); got != test.want {
			t.Errorf("%v: tools %q, want %q; %+v", test.scope, got, test.want, h.Servers())
		}
	}
}
