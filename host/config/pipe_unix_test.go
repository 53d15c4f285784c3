//go:build unix

package config

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A pipe in a usual place blocks nobody.
func TestLoadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".mcp.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := LoadAll(t.Context(), []Location{{Format: "mcpServers", Scope: ScopeProject, Path: path, Exists: true}}, nil)
	assert.Is(t, err, errNotRegular)
}
