package host_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// What needs a host that runs says that it is closed, of servers that it had and of others.
func TestMethodsOfAClosedHost(t *testing.T) {
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: loginCallback}}))(t)
	t.Cleanup(func() { _ = logins.Close() })
	h := open(t, write(t, "s", `{"command": "x"}`, "w", `{"url": "http://127.0.0.1:1"}`), fakes(&host.Options{Logins: logins}))
	assert.OK(t, h.Close())
	ctx := watchdog(t)
	m := manage.New(h, record.NewMemoryStore(&record.Record{Name: "s", Command: "x"}), nil)
	methods := map[string]func(server string) error{
		"Apply":       func(string) error { _, err := h.Apply(ctx, &config.Config{}); return err },
		"Enable":      func(s string) error { return h.Enable(ctx, s) },
		"Disable":     func(s string) error { return h.Disable(ctx, s) },
		"Restart":     func(s string) error { return h.Restart(ctx, s) },
		"Refresh":     func(s string) error { return h.Refresh(ctx, s) },
		"Refresh all": func(string) error { return h.Refresh(ctx) },
		"Discover":    func(s string) error { return h.Discover(ctx, session.Key{Server: s}) },
		"Login":       func(s string) error { _, err := h.Login(ctx, session.Key{Server: s}); return err },
		"Logout":      func(s string) error { return h.Logout(ctx, session.Key{Server: s}) },
		"Client":      func(s string) error { _, err := h.Client(ctx, session.Key{Server: s}); return err },
		"Approve":     func(s string) error { return h.AllowLaunch(ctx, "ann", s) },
		"Reject":      func(s string) error { return h.DenyLaunch(ctx, "ann", s) },
		"ReadResource": func(s string) error {
			_, err := content.New(h).ReadResource(ctx, content.Address(s, "x://y"), nil)
			return err
		},
		"GetPrompt": func(s string) error { _, err := content.New(h).GetPrompt(ctx, s+"__x", nil, nil); return err },
		"ApplyServers": func(s string) error {
			_, err := h.ApplyServers(ctx, "remove", []string{s}, func(context.Context) (map[string]*config.Server, error) { return nil, nil })
			return err
		},
		"Add": func(s string) error {
			_, err := m.Add(ctx, &record.Record{Name: s + "2", Command: "x"})
			return err
		},
		"Update":  func(s string) error { _, err := m.Update(ctx, s, patch(t, `{}`)); return err },
		"Remove":  func(s string) error { _, err := m.Remove(ctx, s); return err },
		"Restore": func(s string) error { _, err := m.Restore(ctx, s); return err },
		"Test": func(s string) error {
			_, err := doctor.Test(ctx, h, &config.Server{Name: s, Command: "x", Transport: config.TransportStdio}, nil)
			return err
		},
		"Follow": func(string) error {
			return h.Follow(ctx, func(context.Context) iter.Seq[[]string] { return func(func([]string) bool) {} }, nil, nil)
		},
		"WithClient": func(s string) error {
			return h.WithClient(ctx, session.Key{Server: s}, func(context.Context, *mcp.Client) error { return nil })
		},
	}
	for name, method := range methods {
		for _, server := range []string{"s", "w", "none"} {
			if err := method(server); !errors.Is(err, host.ErrClosed) {
				t.Errorf("%s(%q): got %v, want %v", name, server, err, host.ErrClosed)
			}
		}
	}
}
