package webguard

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at returns a request that came in at an address, to a host, from a page of an origin.
func at(local net.Addr, host, origin string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://"+host+"/", nil)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
}

func TestForeign(t *testing.T) {
	loopback, open := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}
	for _, c := range []struct {
		local        net.Addr
		host, origin string
		hosts        []string
		foreign      bool
	}{
		{loopback, "localhost:80", "", nil, false},
		{loopback, "[::1]:80", "", nil, false},
		{loopback, "evil.example", "", nil, true},
		{open, "belt.example", "", nil, false},
		{open, "belt.example", "", []string{"belt.example"}, false},
		{loopback, "BELT.example:80", "", []string{"belt.example"}, false},
		{open, "evil.example", "", []string{"belt.example"}, true},
		{open, "belt.example", "http://belt.example", nil, false},
		{open, "belt.example", "https://app.example", nil, false},
		{open, "belt.example", "https://evil.example", nil, true},
		{open, "belt.example", "http://localhost", nil, true},
		{loopback, "localhost:80", "http://127.0.0.1:99", nil, false},
		{loopback, "localhost:80", "null", nil, true},
		{loopback, "localhost:80", "%", nil, true},
	} {
		got := Foreign(at(c.local, c.host, c.origin), c.hosts, []string{"https://app.example"})
		assert.Equal(t, got != "", c.foreign, "%v %s from %q: %q", c.local, c.host, c.origin, got)
	}
}

// A page of another site that asks without an Origin is told by what the browser says of it; a link is followed.
func TestForeignWithoutOrigin(t *testing.T) {
	for _, c := range []struct {
		site, mode string
		foreign    bool
	}{
		{"cross-site", "no-cors", true},
		{"same-site", "no-cors", true},
		{"cross-site", "navigate", false},
		{"same-origin", "cors", false},
		{"none", "navigate", false},
		{"", "", false},
	} {
		r := at(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, "localhost:80", "")
		r.Header.Set("Sec-Fetch-Site", c.site)
		r.Header.Set("Sec-Fetch-Mode", c.mode)
		assert.Equal(t, Foreign(r, nil, nil) != "", c.foreign, "%+v: got foreign", c)
	}
}

func TestIsLocal(t *testing.T) {
	for _, c := range []struct {
		local net.Addr
		want  bool
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, true},
		{&net.TCPAddr{IP: net.IPv6loopback}, true},
		{&net.UnixAddr{Name: "belt", Net: "unix"}, true},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, false},
		{&net.TCPAddr{IP: net.IPv4zero}, false},
		{&net.IPAddr{IP: net.IPv6loopback}, false},
		{nil, false},
	} {
		assert.Equal(t, IsLocal(at(c.local, "localhost", "")), c.want, "%v", c.local)
	}
}
