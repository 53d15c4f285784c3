package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
)

// A call at a terminal logs the user in, if they agree.
func TestCallLogsIn(t *testing.T) {
	d, _ := newLoginDesk(t, &authtest.Options{})
	d.env.InTerminal, d.env.ErrTerminal, d.env.Width = true, true, 80
	var opened atomic.Int32
	d.env.Browse = func(ctx context.Context, page string) error {
		opened.Add(1)
		return browse(ctx, page)
	}
	d.env.Stdin = strings.NewReader("n\n")
	d.run(t, cli.LoginNeeded, "call", "acme", "nothing", "--yes")
	if got := opened.Load(); got != 0 {
		t.Errorf("got %d pages in the browser of a user who did not agree, want none", got)
	}
	if got := d.stderr.String(); !strings.Contains(got, `Server "acme" wants a login. Log in now? [y/N]`) {
		t.Errorf("got %q, want the question", got)
	}
	d.env.Stdin = strings.NewReader("y\n")
	d.run(t, cli.NotFound, "call", "acme", "nothing", "--yes") // it is logged in, and has no such tool
}
