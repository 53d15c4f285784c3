//go:build integration && unix

package main

import (
	"os/exec"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
)

func TestServeSharedByPostgreSQL(t *testing.T) {
	server := pgtest.New(t)
	checkShared(t, server.URL)

	w := newWorld(t, labServer)
	out, err := w.command("serve", "--database="+server.URL).CombinedOutput()
	assert.Equal(t, exitOf(err), 2, "without a key")
	assert.Contains(t, string(out), "needs a sealing key", "without a key")
	server.Stop()
	assert.Equal(t, exitOf(assert.Err(w.command("keys", "--database="+server.URL).CombinedOutput())), 16, "while the server is away")
}

// exitOf returns the exit of a command; -1 if it did not fail so.
func exitOf(err error) int {
	if failed, ok := err.(*exec.ExitError); ok {
		return failed.ExitCode()
	}
	return -1
}
