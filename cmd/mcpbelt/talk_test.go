package main

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// A call at a terminal logs the user in, if they agree.
func TestCallLogsIn(t *testing.T) {
	d, _ := newLoginDesk(t, &authtest.Options{})
	d.env.InTerminal, d.env.ErrTerminal, d.env.Width = true, true, 80
	d.env.Stdin = strings.NewReader("n\n")
	d.run(t, cli.LoginNeeded, "call", "acme", "nothing", "--yes")
	if got := d.stderr.String(); !strings.Contains(got, `Server "acme" wants a login. Log in now? [y/N]`) {
		t.Errorf("got %q, want the question", got)
	}
	d.env.Stdin = strings.NewReader("y\n")
	d.run(t, cli.NotFound, "call", "acme", "nothing", "--yes") // it is logged in, and has no such tool
}
