package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// browse is a browser whose user agrees to everything: it goes where it is sent.
func browse(_ context.Context, page string) error {
	res, err := http.Get(page)
	if err == nil {
		res.Body.Close()
	}
	return err
}

// newLoginDesk returns a desk with the server acme, at which users log in.
func newLoginDesk(t *testing.T, o *authtest.Options) (*desk, *authtest.Server) {
	t.Helper()
	server := authtest.NewServer(t, o)
	d := newDesk(t)
	d.write(t, ".config/mcpbelt/mcp.json", `{"mcpServers": {
	"acme": {"url": "`+server.NewMCP(nil).URL+`", "type": "http"},
	"local": {"command": "x"},
	"header": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer x"}}
}}`)
	d.env.Browse = browse
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return d, server
}

// TestLoginWithBrowser logs in, uses the login, shows it, and logs out.
func TestLoginWithBrowser(t *testing.T) {
	d, server := newLoginDesk(t, nil)
	d.run(t, cli.LoginNeeded, "tools", "acme")
	assert.True(t, strings.HasPrefix(d.run(t, cli.OK, "login", "acme"), "logged in at acme by http://"))
	d.run(t, cli.OK, "tools", "acme")
	assert.True(t, regexp.MustCompile(`(?m)^acme +logged in +yes`).MatchString(d.run(t, cli.OK, "sessions")))
	all := d.run(t, cli.OK, "sessions", "--json") + d.run(t, cli.OK, "sessions") + d.stderr.String()
	assert.LacksAll(t, all, server.Secrets()...)
	d.run(t, cli.OK, "logout", "acme")
	d.run(t, cli.LoginNeeded, "tools", "acme")
	d.run(t, cli.OK, "login", "acme", "--json")
	d.run(t, cli.OK, "logout", "acme", "--json")
}

// TestLoginAccounts keeps the logins of two accounts apart.
func TestLoginAccounts(t *testing.T) {
	d, _ := newLoginDesk(t, nil)
	d.run(t, cli.OK, "login", "acme", "--as", "work")
	d.run(t, cli.OK, "tools", "acme", "--as", "work")
	d.run(t, cli.LoginNeeded, "tools", "acme")
	d.run(t, cli.OK, "login", "acme")
	assert.Equal(t, strings.Count(d.run(t, cli.OK, "sessions"), "logged in"), 2)
	d.run(t, cli.OK, "logout", "acme", "--as", "work")
	d.run(t, cli.OK, "tools", "acme")
	d.run(t, cli.Usage, "sessions", "--as", "../x")
	assert.Lacks(t, d.run(t, cli.OK, "sessions", "--as", "work"), "yes", "the sessions")
}

// A typist reads what is shown until something matches, and types an answer to it.
type typist struct {
	mu     sync.Mutex
	shown  bytes.Buffer
	match  *regexp.Regexp
	answer func(match string) string
	in     io.Writer
	done   bool
}

func (y *typist) Write(p []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.shown.Write(p)
	if found := y.match.FindString(y.shown.String()); found != "" && !y.done {
		y.done = true
		go io.WriteString(y.in, y.answer(found))
	}
	return len(p), nil
}

// TestLoginByPaste: the user opens the address elsewhere, and pastes where they ended.
func TestLoginByPaste(t *testing.T) {
	d, server := newLoginDesk(t, nil)
	in, typed, err := os.Pipe()
	assert.OK(t, err)
	defer in.Close()
	defer typed.Close()
	d.env.Browse = func(context.Context, string) error { t.Error("a browser is opened"); return nil }
	d.env.Stdin = in
	d.env.Stderr = &typist{match: regexp.MustCompile(`http://\S+[?&]state=\S+\s`), in: typed, answer: func(page string) string {
		callback, err := server.Approve(t.Context(), strings.TrimSpace(page))
		assert.Equal(t, err, nil)
		return callback + "\n"
	}}
	d.run(t, cli.OK, "login", "acme", "--no-browser")
	d.run(t, cli.OK, "tools", "acme")
}

// TestLoginWithoutBrowser: no browser opens here, so the user can paste where one elsewhere ended, and is told
// of the code that the server has. The address is the one that the entry names.
func TestLoginWithoutBrowser(t *testing.T) {
	d, server := newLoginDesk(t, &authtest.Options{Device: time.Second})
	free := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	redirect := "http://" + free.Addr().String() + "/back"
	assert.OK(t, free.Close())
	d.write(t, ".config/mcpbelt/mcp.json", `{"mcpServers": {"acme": {"type": "http", "url": "`+server.NewMCP(nil).URL+`", "oauth": {"redirectUri": "`+redirect+`"}}}}`)
	in, typed, err := os.Pipe()
	assert.OK(t, err)
	defer in.Close()
	defer typed.Close()
	d.env.Browse = func(context.Context, string) error { return errors.New("there is no browser") }
	d.env.Stdin, d.env.InTerminal = in, true
	y := &typist{match: regexp.MustCompile(`paste it here(?s:.*)`), in: typed}
	y.answer = func(string) string {
		page := regexp.MustCompile(`http://\S+[?&]state=\S+`).FindString(y.shown.String())
		callback, err := server.Approve(t.Context(), page)
		assert.Equal(t, err, nil)
		assert.True(t, strings.HasPrefix(callback, redirect+"?"), "it comes back to the address of the entry: %.60s", callback)
		return callback + "\n"
	}
	d.env.Stderr = y
	d.run(t, cli.OK, "login", "acme")
	assert.Contains(t, y.shown.String(), "mcpbelt login acme --device")
	d.run(t, cli.OK, "tools", "acme")
}

// TestLoginByDevice: the user types a code on another device.
func TestLoginByDevice(t *testing.T) {
	d, server := newLoginDesk(t, &authtest.Options{Device: time.Second})
	d.env.Browse = func(_ context.Context, page string) error { return nil }
	d.env.Stderr = &typist{match: regexp.MustCompile(`\b[A-Z0-9]{4}-[A-Z0-9]{4}\b`), in: io.Discard, answer: func(code string) string {
		assert.Equal(t, server.ApproveDevice(code), nil)
		return ""
	}}
	d.run(t, cli.OK, "login", "acme", "--device")
	d.run(t, cli.OK, "tools", "acme")
}

// TestLoginExits: each way in which a login fails has its exit.
func TestLoginExits(t *testing.T) {
	d, server := newLoginDesk(t, nil)
	d.run(t, cli.Usage, "login", "local")
	d.run(t, cli.Usage, "login", "header")
	d.run(t, cli.NotFound, "login", "nothing")
	d.run(t, cli.Usage, "login")
	d.run(t, cli.Usage, "login", "acme", "--device", "--no-browser")
	d.run(t, cli.NotFound, "logout", "acme")
	d.run(t, cli.NotFound, "logout", "nothing")
	d.env.Stdin = strings.NewReader("\n")
	d.run(t, cli.Declined, "login", "acme", "--no-browser")
	d.env.Browse = func(ctx context.Context, page string) error {
		callback, err := server.Deny(ctx, page)
		if err == nil {
			err = browse(ctx, callback)
		}
		return err
	}
	d.run(t, cli.Declined, "login", "acme")
	d.env.Browse = func(context.Context, string) error { return nil }
	d.run(t, cli.Failed, "login", "acme", "--timeout", "20ms")

	// No login begins at a project's server before its launch was allowed.
	d.env.Dir = filepath.Join(d.home, "project")
	d.write(t, "project/.mcp.json", `{"mcpServers": {"strange": {"url": "https://example.com/mcp"}}}`)
	d.run(t, cli.ApprovalNeeded, "login", "strange")

	// A login at a server that is not configured any more can be ended.
	d.env.Browse = browse
	d.run(t, cli.OK, "login", "acme")
	d.write(t, ".config/mcpbelt/mcp.json", `{"mcpServers": {}}`)
	assert.Contains(t, d.run(t, cli.OK, "sessions"), "acme", "the sessions")
	d.run(t, cli.OK, "logout", "acme")
	assert.Contains(t, d.run(t, cli.OK, "sessions"), "no logins", "the sessions")
}

// TestLoginInDatabase: a login in the database is none of those in files.
func TestLoginInDatabase(t *testing.T) {
	d, server := newLoginDesk(t, nil)
	url := server.NewMCP(nil).URL
	d.run(t, cli.OK, "login", url, "--database")
	d.run(t, cli.LoginNeeded, "tools", url)
	d.run(t, cli.NotFound, "logout", url)
	d.run(t, cli.NotFound, "logout", url, "--database", "--as", "work")
	d.run(t, cli.OK, "logout", url, "--database")
	d.run(t, cli.NotFound, "login", "acme", "--database") // whose servers are those that serve has put there
}
