package auth

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// O7: nobody can force the login of revision 2025-03-26.
func TestFallback(t *testing.T) {
	for _, test := range []struct {
		name   string
		docs   map[string]http.HandlerFunc
		config Config
		had    bool
		want   string // the authorization endpoint, or the error's type
		asked  []string
	}{
		{name: "default endpoints", want: "/authorize", asked: []string{pathPRM, rootPRM, rootAS}},
		{name: "metadata at the root", want: "/login", asked: []string{pathPRM, rootPRM, rootAS}},
		{name: "refused", docs: map[string]http.HandlerFunc{pathPRM: status(401), rootPRM: status(405)}, want: "/authorize", asked: []string{pathPRM, rootPRM, rootAS}},
		{name: "had metadata", had: true, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM}},
		{name: "ruled out", config: Config{NoFallback: true}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM}},
		{name: "server error", docs: map[string]http.HandlerFunc{pathPRM: status(500)}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM}},
		{name: "server error at the root", docs: map[string]http.HandlerFunc{rootPRM: status(503)}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM}},
		{name: "throttled", docs: map[string]http.HandlerFunc{pathPRM: status(429)}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM}},
		{name: "HTML", docs: map[string]http.HandlerFunc{pathPRM: html}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM}},
		{name: "other JSON", docs: map[string]http.HandlerFunc{rootPRM: jsonDoc(members{"x": 1})}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM}},
		{name: "broken metadata", docs: map[string]http.HandlerFunc{rootAS: status(500)}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM, rootAS}},
		{name: "HTML for metadata", docs: map[string]http.HandlerFunc{rootAS: html}, want: "*auth.DiscoveryError", asked: []string{pathPRM, rootPRM, rootAS}},
		{name: "without PKCE", want: "*auth.MetadataError", asked: []string{pathPRM, rootPRM, rootAS}},
		{name: "other issuer", want: "*auth.IssuerMismatchError", asked: []string{pathPRM, rootPRM, rootAS}},
		{name: "no device endpoint", config: Config{Grant: DeviceCode}, want: "*auth.MetadataError", asked: []string{pathPRM, rootPRM, rootAS}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newSite(t)
			for path, h := range test.docs {
				server.put(path, h)
			}
			switch test.name {
			case "metadata at the root":
				server.put(rootAS, jsonDoc(authorityDoc(server.url, members{"issuer": server.url + "/", "authorization_endpoint": server.url + "/login"})))
			case "without PKCE":
				server.put(rootAS, jsonDoc(authorityDoc(server.url, members{"code_challenge_methods_supported": nil})))
			case "other issuer":
				server.put(rootAS, jsonDoc(authorityDoc(server.url, members{"issuer": "https://other.example"})))
			}
			test.config.URL = server.url + "/mcp"
			a, err := flowOf(t, &test.config).Discover(t.Context(), &DiscoverOptions{HadMetadata: test.had})
			server.wantAsked(t, test.asked...)
			if strings.HasPrefix(test.want, "*") {
				assert.Equal(t, fmt.Sprintf("%T", err), test.want, "error %v", err)
				return
			}
			assert.OK(t, err)
			assert.Equal(t, [...]any{a.AuthorizationEndpoint, a.HasMetadata, a.Resource}, [...]any{server.url + test.want, false, server.url + "/mcp"}, "authority")
		})
	}
}
