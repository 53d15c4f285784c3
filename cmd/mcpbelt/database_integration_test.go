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
	none := w.command("serve", "--database="+server.URL)
	out, err := none.CombinedOutput()
	assert.Equal(t, exitOf(err), 2, "without a key")
	assert.Contains(t, string(out), "needs a sealing key", "without a key")
	server.Stop()
	away := w.command("keys", "--database="+server.URL)
	_, err = away.CombinedOutput()
	assert.Equal(t, exitOf(err), 16, "while the server is away")
}

// exitOf returns the exit of a command; -1 if it did not fail so.
func exitOf(err error) int {
	if failed, ok := err.(*exec.ExitError); ok {
		return failed.ExitCode()
	}
	return -1
}
