package auth

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestShown(t *testing.T) {
	for raw, want := range map[string]string{
		"":                      "",
		"https://as.example":    "https://as.example",
		"https://as.example/t/": "https://as.example/t/",
		"https://u:SECRET@as.example/?SECRET#SECRET": "https://as.example/",
		"::SECRET":             "(not a URL)",
		"https://as.example/?": "https://as.example/",
	} {
		assert.Equal(t, shown(raw), want, "of %q is shown", raw)
	}
	assert.Equal(t, len(shown("https://as.example/"+strings.Repeat("x", 1<<20))) > maxShown+3, false)
}

// Whatever a document has in it, what comes out can be used.
func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{
		`{"issuer":"https://as.example","authorization_endpoint":"https://as.example/a","token_endpoint":"https://as.example/t","code_challenge_methods_supported":["S256"]}`,
		`{"resource":"https://mcp.example/mcp","authorization_servers":["https://as.example",7],"scopes_supported":["a","b c"]}`,
		`{"issuer":null,"token_endpoint":[],"scopes_supported":"x","revocation_endpoint":"javascript:x"}`,
		`[]`, `null`, `{}`, `{"token_endpoint":"https://10.0.0.1/"}`,
	} {
		f.Add([]byte(seed))
	}
	flow := flowOf(f, &Config{URL: "https://mcp.example/mcp"})
	server := parsed(f, flow.config.URL)
	f.Fuzz(func(t *testing.T, data []byte) {
		d := parseDocument(data)
		if d == nil {
			return
		}
		if m := newResourceMetadata(d); m != nil {
			if flow.checkResource(server, m) == nil && !strings.Contains(strings.ToLower(m.resource), "mcp.example") {
				t.Errorf("resource %q is taken for the server", m.resource)
			}
			assert.Equal(t, len(m.issuers) <= maxIssuers, true)
		}
		a, err := flow.acceptAuthority(d, "https://as.example")
		if err != nil {
			_ = err.Error()
			return
		}
		for _, scope := range a.Scopes {
			assert.Equal(t, validScope(scope), true, "scope %q", scope)
		}
		for _, e := range []string{a.AuthorizationEndpoint, a.TokenEndpoint, a.RegistrationEndpoint, a.RevocationEndpoint, a.DeviceEndpoint} {
			if e != "" && !strings.HasPrefix(strings.ToLower(e), "https://") {
				t.Errorf("endpoint %q", e)
			}
		}
	})
}
