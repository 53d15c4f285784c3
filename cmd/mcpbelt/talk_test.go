package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/assert"
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
	assert.Equal(t, opened.Load(), 0, "pages in the browser of a user who did not agree")
	assert.Contains(t, d.stderr.String(), `Server "acme" wants a login. Log in now? [y/N]`)
	d.env.Stdin = strings.NewReader("y\n")
	d.run(t, cli.NotFound, "call", "acme", "nothing", "--yes") // it is logged in, and has no such tool
}
