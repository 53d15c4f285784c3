package session

import (
	"crypto/ed25519"
	"crypto/tls"
	"net/http"
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A Config function that makes a new Config each time gets one flow, and so one pool of
// connections and one set of nonces, as long as the content is the same.
func TestEqualConfigsShareAFlow(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	assert.OK(t, err)
	trust := &tls.Config{MinVersion: tls.VersionTLS13}
	env := newEnv(t, nil, nil)
	config := func() *auth.Config {
		return &auth.Config{
			URL: env.rs.URL, Scopes: []string{"a"}, Client: &auth.Client{ID: "c", Issuer: env.as.Issuer, Secret: "s"},
			SigningKey: &auth.SigningKey{Signer: private, ID: "1"}, Network: auth.Network{TLS: trust},
		}
	}
	next := config()
	m := env.manager(&Options{Config: func(Key) (*auth.Config, error) { return next, nil }})
	flow := func() *auth.Flow {
		t.Helper()
		f, _, err := m.flow(alice)
		assert.OK(t, err)
		return f
	}
	first := flow()
	next = config()
	assert.Equal(t, flow(), first, "an equal Config: got another flow, want the same")
	for name, change := range map[string]func(*auth.Config){
		"scopes": func(c *auth.Config) { c.Scopes = []string{"b"} },
		"secret": func(c *auth.Config) { c.Client.Secret = "other" },
		"key id": func(c *auth.Config) { c.SigningKey.ID = "2" },
		"TLS":    func(c *auth.Config) { c.Network.TLS = &tls.Config{} },
		"function": func(c *auth.Config) {
			c.Network.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		},
	} {
		next = config()
		change(next)
		changed := flow()
		assert.True(t, changed != first, "a Config with another %s: got the same flow, want another", name)
		assert.Equal(t, flow(), changed, "the same Config with another %s again: got another flow, want the same", name)
	}
}

// The flows of many servers are bounded.
func TestFlowsAreBounded(t *testing.T) {
	env := newEnv(t, nil, nil)
	m := env.manager(&Options{Config: func(key Key) (*auth.Config, error) {
		return &auth.Config{URL: "https://" + key.Server + ".example/mcp"}, nil
	}})
	for i := range maxFlows + 10 {
		_, _, err := m.flow(Key{Server: "s" + string(rune('a'+i%26)) + string(rune('a'+i/26))})
		assert.OK(t, err)
	}
	assert.Equal(t, len(m.flows), maxFlows, "flows")
}
