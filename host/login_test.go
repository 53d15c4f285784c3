package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A server that wants a login keeps its tools: who calls one learns where to log
// in, not that there is no such tool.
func TestToolsOfAServerThatWantsALogin(t *testing.T) {
	ctx := watchdog(t)
	as := authtest.NewServer(t, nil)
	rs := as.NewMCP(nil)
	server := &auth.Config{Server: "s", URL: rs.URL}
	m, err := session.NewManager(session.Memory(), &session.Options{
		Config:      func(session.Key) (*auth.Config, error) { return server, nil },
		RedirectURL: "http://127.0.0.1:1/callback",
	})
	assert.OK(t, err)
	defer func() { _ = m.Close() }()
	key := session.Key{Server: "s"}
	logIn := func(ctx context.Context, url string) {
		t.Helper()
		callback, err := as.Approve(ctx, url)
		if err == nil {
			_, err = m.Complete(ctx, callback, nil)
		}
		assert.OK(t, err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := fmt.Sprintf(`{"mcpServers": {"s": {"url": %q}}}`, rs.URL)
	assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
	h := open(t, path, &host.Options{
		Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
			return &transport.HTTP{URL: e.URL, OAuth: m.Handler(key)}, nil
		},
		ToolGrace: -1,
	})
	asked := func(s host.Status) bool { return s.State.Phase == mcp.Authenticating }
	until(t, h, "s", "asked to log in", asked)
	logIn(ctx, status(t, h, "s").State.LoginURL)
	until(t, h, "s", "ready", func(s host.Status) bool { return s.Tools == 2 })

	as.EndAll()
	_, err = h.Registry().Call(ctx, "s__echo", json.RawMessage(`{"text":"hi"}`))
	var required *auth.LoginRequiredError
	if !errors.As(err, &required) {
		t.Fatalf("call: %v", err)
	}
	until(t, h, "s", "asked to log in again", asked)
	assert.Equal(t, names(h), "s__echo s__whoami", "tools")
	logIn(ctx, required.URL)
	if _, err := h.Registry().Call(ctx, "s__echo", json.RawMessage(`{"text":"hi"}`)); err != nil {
		t.Error(err)
	}
	if status, err := m.Status(ctx, key); err != nil || status.Phase != session.LoggedIn {
		t.Errorf("session: %+v, %v", status, err)
	}
}
