// Tests of manager.go: Open, for a program on the machine of its user.

package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// browser returns a prompt whose user logs in at once.
func browser(as *authtest.Server) auth.Prompt {
	return &auth.Loopback{Out: io.Discard, Open: func(ctx context.Context, page string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		resp, err := as.Client().Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}}
}

func TestOpen(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	as := authtest.NewServer(t, nil)
	url, dir, key := as.NewMCP(nil).URL, t.TempDir(), session.Key{Server: "s"}
	for run, prompt := range []auth.Prompt{browser(as), declining{}} { // the second run needs no login
		m := assert.Value(session.Open(ctx, dir, &session.Options{Prompt: prompt}, &auth.Config{Server: "s", URL: url}))(t)
		client := mcp.NewClient("s", &transport.HTTP{URL: url, OAuth: m.Handler(key)}, nil)
		assert.OK(t, auth.AwaitLogin(ctx, client.Ready), "run %d", run)
		assert.OK(t, errors.Join(client.Close(), m.Close()), "run %d", run)
		assert.Fails(t, errOf(m.Status(ctx, key)), "run %d: a store that is closed", run)
	}
}

func TestOpenRefused(t *testing.T) {
	assert.Fails(t, errOf(session.Open(t.Context(), "", nil)), "without a folder")
	opts := &session.Options{Config: func(session.Key) (*auth.Config, error) { return nil, nil }}
	assert.Fails(t, errOf(session.Open(t.Context(), t.TempDir(), opts)), "with Options.Config")
	m := assert.Value(session.Open(t.Context(), t.TempDir(), nil, &auth.Config{Server: "s", URL: "https://s.example"}))(t)
	defer m.Close()
	assert.Fails(t, errOf(m.Login(t.Context(), session.Key{Server: "other"})), "at a server that was not named")
}

// declining is a prompt whose user never logs in.
type declining struct{}

func (d declining) Start(context.Context, []string) (auth.PromptSession, error) { return d, nil }
func (declining) RedirectURI() string                                           { return callbackURL }
func (declining) Show(context.Context, *auth.Pending) (string, error)           { return "", auth.ErrDeclined }
func (declining) Close() error                                                  { return nil }

// A login that was declined ends the wait.
func TestAwaitLoginDeclined(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	url := authtest.NewServer(t, nil).NewMCP(nil).URL
	m := assert.Value(session.Open(ctx, t.TempDir(), &session.Options{Prompt: declining{}}, &auth.Config{Server: "s", URL: url}))(t)
	defer m.Close()
	client := mcp.NewClient("s", &transport.HTTP{URL: url, OAuth: m.Handler(session.Key{Server: "s"})}, nil)
	defer client.Close()
	assert.Equal(t, assert.As[*auth.LoginRequiredError](t, auth.AwaitLogin(ctx, client.Ready)).Reason, "the login was declined", "reason")
}

func ExampleOpen() {
	ctx, url := context.Background(), "https://mcp.example.com/mcp"
	m, err := session.Open(ctx, "/home/ann/.config/my-agent/logins", nil, &auth.Config{Server: "example", URL: url})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	client := mcp.NewClient("example", &transport.HTTP{URL: url, OAuth: m.Handler(session.Key{Server: "example"})}, nil)
	defer client.Close()
	if err := auth.AwaitLogin(ctx, client.Ready); err != nil { // opens the browser, if there is no login yet
		fmt.Println(err)
	}
}
