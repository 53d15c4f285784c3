package auth

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// A canary is a server on a private network: nothing may arrive there.
type canary struct {
	port string
	hits atomic.Int32
}

func newCanary(t testing.TB) *canary {
	c := &canary{}
	c.port = portOf(newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		c.hits.Add(1)
		jsonDoc(members{})(w, r)
	}).url)
	t.Cleanup(func() { assert.Equal(t, c.hits.Load(), 0, "requests to the canary") })
	return c
}

func portOf(raw string) string { return raw[strings.LastIndexByte(raw, ':')+1:] }

// allHere resolves every name to 127.0.0.1 (RFC 1035, section 4.1).
func allHere(t testing.TB) *net.Resolver {
	t.Helper()
	pc := assert.Value(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	var served sync.WaitGroup
	served.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			end := 12
			for buf[end] != 0 {
				end += 1 + int(buf[end])
			}
			end += 5
			reply := append([]byte{buf[0], buf[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, buf[12:min(end, n)]...)
			if binary.BigEndian.Uint16(buf[end-4:]) == 1 {
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
			}
			_, _ = pc.WriteTo(reply, from)
		}
	})
	t.Cleanup(func() { _ = pc.Close(); served.Wait() })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// publicly returns the Flow of a server that counts as one on the internet. Its
// name leads to the site, and so would all others, if they were let.
func publicly(t testing.TB, s *site, c Config) (f *Flow, origin string) {
	t.Helper()
	origin = "http://mcp.example:" + portOf(s.url)
	c.URL = origin + "/mcp"
	c.Network.AllowHTTP = true // else TLS would save us where the address must
	f = flowOf(t, &c)
	f.http = guardhttp.New(guardhttp.Options{Trusted: f.config.hosts(), AllowHTTP: true, Resolver: allHere(t)})
	t.Cleanup(f.http.Close)
	return f, origin
}

// hostileURLs lead inside, or are none that a browser should be sent to. Those in
// names can only be told when they are used.
func hostileURLs(c *canary) (visible, names []string) {
	for _, host := range []string{
		"127.0.0.1", "localhost", "x.localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0.0.0.0", "0",
		"10.0.0.1", "192.168.0.1", "172.16.0.1", "100.64.0.1", "169.254.169.254", "[fd00:ec2::254]", "[fe80::1%25lo]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::1]", "168.63.129.16",
		"SECRET@127.0.0.1", "mcp.example@127.0.0.1",
	} {
		visible = append(visible, "http://"+host+":"+c.port+"/x?q=SECRET", "https://"+host+":"+c.port+"/")
	}
	return append(visible,
		"javascript:fetch('http://127.0.0.1:"+c.port+"')", "JAVASCRIPT://x.example/%0aSECRET", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "ftp://x.example/",
		"a:$(calc)?", "--upload-pack=x", "-x", `\\unc\share`, "//127.0.0.1:"+c.port, "/relative", "", " ", "https:127.0.0.1", "https:///x",
		`https://x.example/"&calc&"`, "https://x.example/\r\nX: y", "https://x.example/\x00", "https://x.example/a b", "https://x.example\\@y.example/", "https://x.example/`id`",
		"https://user:SECRET@x.example/", "https://x.example/#f", "https://x.example:99999/", "https://x.example/"+strings.Repeat("x", 1<<16),
	), []string{"http://evil.example:" + c.port + "/x", "http://mcp.example.evil.example:" + c.port + "/", "http://127.0.0.1.nip.example:" + c.port + "/"}
}

// wantURLError checks what is told of an address that may not be used.
func wantURLError(t *testing.T, err error, field, raw string) {
	t.Helper()
	e := wantAs[*URLError](t, err)
	assert.Equal(t, e.Field, field, "%.80q", raw)
	assert.True(t, len(e.Error()) <= 1024, "%.80q: %d bytes are few", raw, len(e.Error()))
}

// O4: the address that a challenge names.
func TestHostileResourceMetadata(t *testing.T) {
	visible, names := hostileURLs(newCanary(t))
	server := newSite(t)
	f, _ := publicly(t, server, Config{})
	for _, raw := range append(visible, names...) {
		_, err := f.Discover(t.Context(), &DiscoverOptions{Challenges: []Challenge{{Scheme: "bearer", Params: params{"resource_metadata": raw}}}})
		wantURLError(t, err, "resource_metadata", raw)
	}
	server.wantAsked(t) // nothing is guessed in place of it
}

// O1, O4: the authorization servers that the server names.
func TestHostileAuthorizationServers(t *testing.T) {
	visible, names := hostileURLs(newCanary(t))
	for _, raw := range append(append(visible, names...), "https://x.example/?tenant=SECRET", "https://x.example?") {
		server := newSite(t)
		f, origin := publicly(t, server, Config{})
		server.resource(pathPRM, origin+"/mcp", raw, origin)
		server.put(rootAS, jsonDoc(authorityDoc(origin, nil)))
		wantURLError(t, errOf(f.Discover(t.Context(), nil)), "authorization_servers", raw)
		server.wantAsked(t, pathPRM) // a bad one is not passed over in silence
	}
}

// O2, O3, O4: the endpoints that an authorization server names.
func TestHostileEndpoints(t *testing.T) {
	visible, _ := hostileURLs(newCanary(t))
	for _, field := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "device_authorization_endpoint", "revocation_endpoint"} {
		t.Run(field, func(t *testing.T) {
			server := newSite(t)
			f, origin := publicly(t, server, Config{})
			server.resource(pathPRM, origin+"/mcp", origin)
			for _, raw := range visible {
				if raw == "" {
					continue // there is none
				}
				server.put(rootAS, jsonDoc(authorityDoc(origin, members{field: raw})))
				wantURLError(t, errOf(f.Discover(t.Context(), nil)), field, raw)
			}
		})
	}
}

// O4: endpoints whose names turn out to lead inside when they are used.
func TestHostileEndpointNames(t *testing.T) {
	_, names := hostileURLs(newCanary(t))
	server := newSite(t)
	f, origin := publicly(t, server, Config{})
	server.resource(pathPRM, origin+"/mcp", origin)
	for _, raw := range names {
		server.put(rootAS, jsonDoc(authorityDoc(origin, members{
			"token_endpoint": raw, "registration_endpoint": raw, "revocation_endpoint": raw, "device_authorization_endpoint": raw,
		})))
		a := assert.Value(f.Discover(t.Context(), nil))(t)
		grant := &TokenSet{Authority: *a, Client: Client{Issuer: a.Issuer, ID: "c", Source: Dynamic}, Token: Token{Access: "SECRET", Refresh: "SECRET", Type: "Bearer"}}
		wantURLError(t, errOf(f.Register(t.Context(), a, "http://127.0.0.1/cb", nil, nil)), "registration_endpoint", raw)
		wantURLError(t, errOf(f.Refresh(t.Context(), grant)), "token_endpoint", raw)
		wantURLError(t, f.Revoke(t.Context(), grant), "revocation_endpoint", raw)
	}
}

// O5: metadata is not fetched from where a redirect leads, if that is elsewhere.
func TestRedirectedMetadata(t *testing.T) {
	c := newCanary(t)
	for _, to := range []string{"http://127.0.0.1:" + c.port + "/", "http://evil.example:" + c.port + "/", "http://mcp.example:" + c.port + "/", "https://mcp.example/"} {
		server := newSite(t)
		f, origin := publicly(t, server, Config{})
		server.put(pathPRM, redirects(http.StatusFound, to))
		assert.Fails(t, errOf(f.Discover(t.Context(), nil)), "followed to %s", to)
		server.resource(pathPRM, origin+"/mcp", origin)
		server.put(rootAS, redirects(http.StatusPermanentRedirect, to))
		_, err := f.Discover(t.Context(), nil)
		assert.Fails(t, err, "followed to %s", to)
		assert.False(t, errors.As(err, new(*metadataError)), "metadata was taken from %s: %v", to, err)
	}
}

// A server on this machine may use others on this machine, and nothing inside.
func TestLocalServerOpensThisMachineOnly(t *testing.T) {
	//report: Logins | danny-avila/LibreChat#12254 | a server is on this machine, and so is its authorization server | the configuration names the former, which opens the machine to logins, and nothing else inside
	server, as := newSite(t), newSite(t)
	f := flowOf(t, &Config{URL: server.url + "/mcp"})
	f.http = guardhttp.New(guardhttp.Options{Trusted: f.config.hosts(), Resolver: allHere(t)})
	t.Cleanup(f.http.Close)
	here := "http://x.localhost:" + portOf(as.url)
	server.resource(pathPRM, server.url+"/mcp", here)
	as.put(rootAS, jsonDoc(authorityDoc(here, nil)))
	assert.Value(f.Discover(t.Context(), nil))(t)
	for _, issuer := range []string{"https://10.0.0.1", "http://169.254.169.254", "http://as.example"} {
		server.resource(pathPRM, server.url+"/mcp", issuer)
		wantURLError(t, errOf(f.Discover(t.Context(), nil)), "authorization_servers", issuer)
	}
}
