package guardhttp

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// O4: names that lead to where addresses must not.
func TestNamesThatLeadInside(t *testing.T) {
	canary := newCanary(t)
	six := hasIPv6()
	for _, to := range []string{
		"127.0.0.1", "::1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16",
		"0.0.0.0", "::", "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "fe80::1", "fd00:ec2::254", "fc00::1", "fec0::1",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1",
		"127.0.0.1 ::1", "10.0.0.1 127.0.0.1",
	} {
		if strings.Contains(to, ":") && !six {
			continue
		}
		z := &zone{names: map[string][]string{"evil.example": {to}}}
		// All of these are spoken to without TLS, so that only the address saves us.
		c := New(Options{Trusted: []string{"mcp.example"}, AllowHTTP: true, Resolver: z.resolver(t)})
		for _, err := range everything(t, c, "http://evil.example:"+canary.port+"/?q=secret") {
			assert.Equal(t, assert.As[*Refusal](t, err, "%s", to).Origin, "http://evil.example:"+canary.port, "%s", to)
			assert.Lacks(t, err.Error(), "secret", "%s", to)
		}
	}
	canary.wantUntouched(t)
}

// O4: a name that is public when it is looked at and private when it is used. The
// first connection fails, as nothing listens there.
func TestRebinding(t *testing.T) {
	canary := newCanary(t)
	z := &zone{names: map[string][]string{"evil.example": {"127.0.0.2", "127.0.0.1"}}}
	c := New(Options{AllowHTTP: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, Resolver: z.resolver(t)})
	_, err := c.Get(t.Context(), "http://evil.example:"+canary.port, nil)
	assert.True(t, wantFailure(t, err, "refused").NotSent, "sent, but nothing listened")
	for _, err := range everything(t, c, "http://evil.example:"+canary.port) {
		assert.As[*Refusal](t, err)
	}
	canary.wantUntouched(t)
}

// A redirect within the origin is looked up, and checked, anew.
func TestRebindingBetweenRedirects(t *testing.T) {
	var port string
	z := &zone{names: map[string][]string{"evil.example": {"127.0.0.1", "10.0.0.1"}}}
	hits := 0
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hits++
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "http://evil.example:"+port+"/next", http.StatusFound)
	})
	port = parsePort(t, at)
	c := New(Options{AllowHTTP: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: z.resolver(t)})
	assert.As[*Refusal](t, errOf(c.Get(t.Context(), "http://evil.example:"+port, nil)))
	assert.Equal(t, hits, 1, "hits")
}

// A name that the configuration gives may lead into the organisation, and not to
// where machines get their credentials.
func TestTrustedNames(t *testing.T) {
	at := serve(t, func(w http.ResponseWriter, r *http.Request) { answerJSON(w, 200, `{}`) })
	port, six := parsePort(t, at), hasIPv6()
	for _, test := range []struct {
		to string
		ok bool
	}{{"127.0.0.1", true}, {"169.254.169.254", false}, {"100.100.100.200", false}, {"168.63.129.16", false}, {"0.0.0.0", false}, {"fd00:ec2::254", false}, {"fd00:c1::a9fe:a9fe", false}} {
		z := &zone{names: map[string][]string{"mcp.example": {test.to}, "other.example": {test.to}}}
		c := New(Options{Trusted: []string{"MCP.example."}, AllowHTTP: true, Resolver: z.resolver(t)})
		t.Cleanup(c.Close)
		_, err := c.Get(t.Context(), "http://mcp.example:"+port, nil)
		assert.Equal(t, err == nil, test.ok, "trusted, at %s", test.to)
		if !test.ok && (six || !strings.Contains(test.to, ":")) {
			assert.As[*Refusal](t, err, "trusted, at %s", test.to)
		}
		assert.Fails(t, errOf(c.Get(t.Context(), "http://other.example:"+port, nil)), "not trusted, at %s: let through", test.to)
	}
}

// localhost is this machine, whoever is asked for it.
func TestLocalhostThatLeadsElsewhere(t *testing.T) {
	z := &zone{names: map[string][]string{"x.localhost": {"8.8.8.8"}}}
	c := New(Options{Trusted: []string{"localhost"}, Resolver: z.resolver(t)})
	assert.As[*Refusal](t, errOf(c.Get(t.Context(), "http://x.localhost:1/", nil)))
}

func TestUnknownName(t *testing.T) {
	z := &zone{names: map[string][]string{}}
	_, err := New(Options{Resolver: z.resolver(t)}).PostForm(t.Context(), "https://unknown.example/", nil, nil)
	assert.True(t, wantFailure(t, err, "name").NotSent, "sent to a name that does not exist")
}
