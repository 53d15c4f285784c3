package access_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The first authenticator that knows the credential decides.
func TestAny(t *testing.T) {
	failed := &access.RefusedError{Reason: "no"}
	by := func(name string, user string, err error) access.Authenticator {
		return func(r *http.Request) (*access.Caller, error) {
			if r.Header.Get(name) == "" {
				return nil, access.ErrUnrecognized
			}
			return &access.Caller{User: user}, err
		}
	}
	either := access.Any(by("A", "a", nil), by("B", "b", failed), by("C", "c", nil))
	for _, c := range []struct {
		fields []string
		user   string
		err    error
	}{
		{[]string{"A: 1"}, "a", nil},
		{[]string{"C: 1"}, "c", nil},
		{[]string{"A: 1", "B: 1"}, "a", nil},
		{[]string{"B: 1", "C: 1"}, "", failed},
		{nil, "", access.ErrUnrecognized},
	} {
		caller, err := either(request(c.fields...))
		assert.Is(t, err, c.err, "%q", c.fields)
		if err == nil {
			assert.Equal(t, caller.User, c.user, "%q", c.fields)
		}
	}
}

// The answer says what to do, and nothing of why.
func TestRefuse(t *testing.T) {
	resource := &access.Resource{AuthorizationServers: []string{"https://as.example"}}
	const metadata = `resource_metadata="http://belt.example/.well-known/oauth-protected-resource/mcp"`
	for name, c := range map[string]struct {
		err             error
		resource        *access.Resource
		fields          []string
		status          int
		challenge, text string
	}{
		"nothing sent":   {access.ErrUnrecognized, resource, nil, 401, "Bearer " + metadata, "not allowed\n"},
		"no metadata":    {access.ErrUnrecognized, nil, nil, 401, "Bearer", "not allowed\n"},
		"bad token":      {&access.RefusedError{Reason: "secret reason"}, resource, []string{"Authorization: Bearer x"}, 401, "Bearer " + metadata + `, error="invalid_token"`, "not allowed\n"},
		"bad key":        {&access.RefusedError{}, nil, []string{"X-API-Key: x"}, 401, `Bearer error="invalid_token"`, "not allowed\n"},
		"another error":  {errors.New("secret"), nil, nil, 401, "Bearer", "not allowed\n"},
		"scope":          {&access.RefusedError{Status: 403, Scope: "belt.write"}, resource, nil, 403, "Bearer " + metadata + `, error="insufficient_scope", scope="belt.write"`, "not allowed\n"},
		"may not":        {&access.RefusedError{Status: 403, Answer: "never"}, resource, nil, 403, "", "never\n"},
		"issuer is away": {&access.RefusedError{Status: 503}, resource, nil, 503, "", "it cannot be found out now who makes the request\n"},
	} {
		w := httptest.NewRecorder()
		access.Refuse(w, request(c.fields...), c.resource, c.err)
		assert.Equal(t, w.Code, c.status, "%s", name)
		assert.Equal(t, w.Header().Get("WWW-Authenticate"), c.challenge, "%s: the challenge", name)
		assert.Equal(t, w.Body.String(), c.text, "%s", name)
	}
}

// The metadata has the URL as it was asked for, below the path of its view.
func TestResource(t *testing.T) {
	plain := &access.Resource{AuthorizationServers: []string{"https://as.example"}, Scopes: []string{"belt"}}
	proxied := &access.Resource{URL: "https://proxy.example/belt/"}
	const well = "/.well-known/oauth-protected-resource"
	for _, c := range []struct {
		resource *access.Resource
		tls      bool
		path     string
		status   int
		want     string
	}{
		{plain, false, "", 200, "http://belt.example"},
		{plain, false, "/", 200, "http://belt.example/"},
		{plain, true, "/mcp", 200, "https://belt.example/mcp"},
		{plain, false, "/mcp/", 200, "http://belt.example/mcp/"},
		{plain, false, "/p/office/mcp", 200, "http://belt.example/p/office/mcp"},
		{plain, false, "/s/a%20b/mcp/", 200, "http://belt.example/s/a%20b/mcp/"},
		{plain, false, "/other", 404, ""},
		{plain, false, "/mcp/tools/list", 404, ""},
		{plain, false, "x", 404, ""},
		{proxied, false, "/belt/mcp", 200, "https://proxy.example/belt/mcp"},
		{proxied, false, "/belt/p/office/mcp/", 200, "https://proxy.example/belt/p/office/mcp/"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://belt.example"+well+c.path, nil)
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		w := httptest.NewRecorder()
		c.resource.ServeHTTP(w, r)
		assert.Equal(t, w.Code, c.status, "%s", c.path)
		var got struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
		}
		err := json.Unmarshal(w.Body.Bytes(), &got)
		assert.True(t, w.Code != 200 || err == nil, "%s: %q is JSON", c.path, w.Body)
		assert.Equal(t, got.Resource, c.want, "%s: the resource", c.path)
		same := len(got.Servers) == len(c.resource.AuthorizationServers)
		assert.True(t, same || c.status != 200, "%s: the servers %q are %q", c.path, got.Servers, c.resource.AuthorizationServers)
	}
	for path, want := range map[string]string{
		"/mcp":               "http://belt.example" + well + "/mcp",
		"/mcp/":              "http://belt.example" + well + "/mcp/",
		"/p/office/mcp":      "http://belt.example" + well + "/p/office/mcp",
		"/p/office/readyz":   "http://belt.example" + well + "/p/office/mcp",
		"/mcp/tools/call":    "http://belt.example" + well + "/mcp",
		"/s/a%22b/mcp/other": "http://belt.example" + well + "/s/a%22b/mcp",
	} {
		w := httptest.NewRecorder()
		access.Refuse(w, httptest.NewRequest(http.MethodPost, "http://belt.example"+path, nil), plain, access.ErrUnrecognized)
		assert.Equal(t, w.Header().Get("WWW-Authenticate"), `Bearer resource_metadata="`+want+`"`, "%s: the challenge", path)
	}
}
