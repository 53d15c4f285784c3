//go:build unix

package config

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe in a usual place blocks nobody.
func TestLoadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".mcp.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	_, err := LoadAll(t.Context(), []Location{{Format: "mcpServers", Scope: ScopeProject, Path: path, Exists: true}}, nil)
	if !errors.Is(err, errNotRegular) {
		t.Errorf("%v", err)
	}
}
