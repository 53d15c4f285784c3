//go:build integration && unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/pgtest"
)

func TestServeSharedByPostgreSQL(t *testing.T) {
	server := pgtest.New(t)
	checkShared(t, server.URL)

	w := newWorld(t, labServer)
	none := w.command("serve", "--database="+server.URL)
	if out, err := none.CombinedOutput(); exitOf(err) != 2 || !strings.Contains(string(out), "needs a sealing key") {
		t.Errorf("without a key: got %v, %s, want the exit 2", err, out)
	}
	server.Stop()
	away := w.command("keys", "--database="+server.URL)
	if out, err := away.CombinedOutput(); exitOf(err) != 16 {
		t.Errorf("while the server is away: got %v, %s, want the exit 16", err, out)
	}
}

// exitOf returns the exit of a command; -1 if it did not fail so.
func exitOf(err error) int {
	if failed, ok := err.(*exec.ExitError); ok {
		return failed.ExitCode()
	}
	return -1
}
