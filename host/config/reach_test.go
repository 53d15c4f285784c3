package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A file of another machine is not touched for a project's file before its approval.
func TestElsewhere(t *testing.T) {
	for path, want := range map[string]bool{`\\host\share\f`: true, `//host/share/f`: true, `\/host/f`: true, `\\?\UNC\host\f`: true, `C:\p\f`: false, `\p`: false} {
		if elsewhere("windows", path) != want || elsewhere("linux", path) {
			t.Errorf("%s", path)
		}
	}
}

// A sandbox that is not there is told.
func TestSandboxTold(t *testing.T) {
	c := assert.Value(Parse(t.Context(), "mcp.json", []byte(`{"servers":{"a":{"command":"c","sandboxEnabled":true,"sandbox":{"network":{}}},"b":{"command":"c","sandboxEnabled":false}}}`), nil))(t)
	if len(c.Warnings) != 1 || c.Warnings[0].Key != "servers.a.sandboxEnabled" || !strings.Contains(c.Warnings[0].Error(), "isolation") {
		t.Errorf("%v", c.Warnings)
	}
	if c.Servers[0].Err != nil || len(c.Servers[0].Extra) != 2 {
		t.Errorf("%v %v", c.Servers[0].Err, c.Servers[0].Extra)
	}
}

// What lies in a usual place is a regular file.
func TestLoadIrregular(t *testing.T) {
	for _, scope := range []Scope{ScopeProject, ScopeRC, ScopeUser} {
		if _, err := Load(t.Context(), t.TempDir(), &Options{Scope: scope}); !errors.Is(err, errNotRegular) {
			t.Errorf("%s: %v", scope, err)
		}
	}
}
