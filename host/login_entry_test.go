package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// fromFile runs the servers of a file called mcp_servers.json.
func (w *loginWorld) fromFile(data string, variables map[string]string) {
	w.t.Helper()
	c := assert.Value(config.Parse(context.Background(), "mcp_servers.json", []byte(data), &config.Options{Scope: config.ScopeUser,
		Lookup: func(name string) (string, bool) { value, ok := variables[name]; return value, ok }}))(w.t)
	for _, s := range c.Servers {
		if s.Err != nil {
			w.t.Fatal(s.Err)
		}
		for _, warning := range s.Warnings {
			w.t.Errorf("got the warning %v, want none", warning)
		}
	}
	assert.Value(w.host.Apply(watchdog(w.t), c))(w.t)
}

// IronClaw's entry with the endpoints of an authorization server that publishes nothing.
func TestLoginWithGivenEndpoints(t *testing.T) {
	as := authtest.NewServer(t, &authtest.Options{Discovery: authtest.NoMetadata, NoRegistration: true,
		Clients: []authtest.Client{{ID: "by-hand", Secret: "hush-hush", RedirectURIs: []string{loginCallback}}}})
	rs := as.NewMCP(&authtest.ResourceOptions{Placement: authtest.MetadataNowhere})
	w := newLoginWorld(t, nil)
	w.fromFile(`{
  "servers": {
    "github": {
      "url": "`+rs.URL+`",
      "auth": {
        "type": "oauth",
        "authorization_url": "`+as.URL(authtest.AuthorizationEndpoint)+`",
        "token_url": "`+as.URL(authtest.TokenEndpoint)+`",
        "client_id": "${GITHUB_OAUTH_CLIENT_ID}",
        "client_secret": "${GITHUB_OAUTH_CLIENT_SECRET}",
        "scopes": ["repo", "read:org"],
        "extra_params": {"access_type": "offline"}
      }
    }
  }
}`, map[string]string{"GITHUB_OAUTH_CLIENT_ID": "by-hand", "GITHUB_OAUTH_CLIENT_SECRET": "hush-hush"})
	login := assert.Value(w.host.Login(watchdog(t), session.Key{Server: "github"}))(t)
	for _, want := range []string{"access_type=offline", "client_id=by-hand", "code_challenge_method=S256", "scope=repo+read%3Aorg"} {
		if !strings.Contains(login.URL, want) {
			t.Errorf("got the address %s, want %s in it", login.URL, want)
		}
	}
	w.logIn(as, "", "github")
	until(t, w.host, "github", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
	if got, err := w.whoami("", "github"); err != nil || got != "user repo read:org" {
		t.Errorf("got %q and %v, want the user with both scopes", got, err)
	}
	assert.Equal(t, as.Count(authtest.MetadataEndpoint), 0, "requests for metadata")
}

// An entry can have users log in with a short code.
func TestLoginByDeviceCodeFromAFile(t *testing.T) {
	as := authtest.NewServer(t, &authtest.Options{Device: &authtest.DeviceOptions{}})
	rs := as.NewMCP(nil)
	w := newLoginWorld(t, nil)
	w.fromFile(`{"servers":{"s":{"url":"`+rs.URL+`","auth":{"grant":"device_code"}}}}`, nil)
	login := assert.Value(w.host.Login(watchdog(t), session.Key{Server: "s"}))(t)
	if login.UserCode == "" {
		t.Fatalf("got a login at %s without a code, want one by device code", login.URL)
	}
	assert.OK(t, as.ApproveDevice(login.UserCode))
	until(t, w.host, "s", "ready", func(s host.Status) bool { return s.Stage == host.StageReady })
}

// The client's secret is not sent to another token endpoint than it was stored for.
func TestSecretOfAMovedTokenEndpoint(t *testing.T) {
	stored := &record.Record{Name: "s", URL: "https://mcp.example.com/mcp", Auth: &config.Auth{ClientID: "c", ClientSecret: "hush-hush-hush",
		AuthorizationURL: "https://as.example.com/a", TokenURL: "https://as.example.com/t"}}
	shown := assert.Value(json.Marshal(stored))(t)
	var patch record.Patch
	assert.OK(t, json.Unmarshal([]byte(strings.ReplaceAll(string(shown), "https://as.example.com/t", "https://evil.example/t")), &patch))
	if _, err := stored.Apply(&patch); !errors.Is(err, &record.Error{Code: record.CodeSecretMoved}) {
		t.Errorf("got %v, want %s", err, record.CodeSecretMoved)
	}
}
