package transport_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A balanced server is two replicas with sessions of their own, behind a balancer that sends a
// request with its cookie to the replica that the cookie names, and others in turns.
func balanced(cookie string) http.HandlerFunc {
	var turn atomic.Int64
	var sessions [2]atomic.Bool
	replica := func(n int64) http.Handler {
		s := &script{call: func(p *post) {
			if !sessions[n].Load() {
				p.json(404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
				return
			}
			p.json(200, answer)
		}}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") == "" {
				sessions[n].Store(true)
			}
			s.ServeHTTP(w, r)
		})
	}
	replicas := []http.Handler{replica(0), replica(1)}
	return func(w http.ResponseWriter, r *http.Request) {
		n := turn.Add(1) % 2
		if c, err := r.Cookie("AWSALB"); err == nil {
			_, _ = fmt.Sscan(c.Value, &n)
		}
		w.Header().Add("Set-Cookie", fmt.Sprintf(cookie, n))
		replicas[n].ServeHTTP(w, r)
	}
}

// The cookie by which a balancer finds the replica with the session comes back to it.
func TestCookiesKeepTheReplica(t *testing.T) {
	//report: Transports | docker/docker-agent#2902, punkpeye/mcp-remote#168, taptap/instant-games-open-mcp#92, modelcontextprotocol/modelcontextprotocol#325 | a balancer before several replicas sets a cookie (AWSALB), and sends requests without it to any of them | cookies of the server's own origin are sent back for as long as the connection lasts, and nowhere else: the session stays at one replica
	l := shake(t, &transport.HTTP{URL: listen(t, balanced("AWSALB=%d; Path=/; Max-Age=600; HttpOnly"))})
	for range 4 {
		wantResult(t, l, okResult)
	}
}

// Cookies are heeded as their attributes say, beside a configured one, and end with the connection.
func TestCookies(t *testing.T) {
	big := strings.Repeat("x", 5000)
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("c%d=1", i))
	}
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"plain":        {[]string{"a=1"}, "k=v; a=1"},
		"path":         {[]string{"a=1; Path=/mcp", "b=2; Path=/other"}, "k=v; a=1"},
		"secure":       {[]string{"a=1; Secure"}, "k=v"}, // as http is not
		"over":         {[]string{"a=1; Max-Age=0"}, "k=v"},
		"other domain": {[]string{"a=1; Domain=example.com"}, "k=v"},
		"too large":    {[]string{"a=" + big, "b=2"}, "k=v; b=2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{call: func(p *post) {
				for _, cookie := range c.set {
					p.Header().Add("Set-Cookie", cookie)
				}
				p.json(200, answer)
			}}
			recipe := &transport.HTTP{URL: "http://server/mcp/x", Header: http.Header{"Cookie": {"k=v"}}, RoundTripper: inMemory(t, s)}
			l := shake(t, recipe)
			wantResult(t, l, okResult)
			wantResult(t, l, okResult)
			assert.Equal(t, strings.Join(s.last().Header.Values("Cookie"), "; "), c.want, "cookies")
			shake(t, recipe)
			assert.Equal(t, s.requests(http.MethodGet)[1].Header.Get("Cookie"), "k=v", "cookies of the next connection")
		})
	}
	s := &script{call: func(p *post) { p.Header()["Set-Cookie"] = many; p.json(200, answer) }}
	l := shakeWith(t, s)
	wantResult(t, l, okResult)
	wantResult(t, l, okResult)
	assert.Equal(t, len(s.last().Cookies()), 32, "cookies that are kept")
}
