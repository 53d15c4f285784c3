package guardhttp

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// O4: addresses that are no public ones, in all the ways to write them.
func TestLiteralsAreRefused(t *testing.T) {
	hosts := []string{
		"127.0.0.1", "127.9.9.9", "127.0.0.1.", "[::1]", "[0:0:0:0:0:0:0:1]", "localhost", "LOCALHOST.", "a.localhost",
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "169.254.170.2", "[fe80::1]", "[fe80::1%25lo]", "[::1%25lo]",
		"[fc00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[fec0::1]",
		"100.64.0.1", "100.100.100.200", "168.63.129.16",
		"0.0.0.0", "0.1.2.3", "[::]", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "[ff02::1]",
		"[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::ffff:10.0.0.1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
		"[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]",
		"[2002:7f00:1::]", "[2002:808:808::1]", "[2001::1]", "[2001:0:808:808::1]", "[2001:10::1]", "[2001:db8::1]", "[3fff::1]", "[3ffe::1]",
		"[100::1]", "[5f00::1]", "[4000::1]",
		"192.31.196.1", "192.52.193.1", "192.175.48.6", "[2001:3::1]", "[2001:4:112::1]", "[2620:4f:8000::1]", "[::ffff:192.31.196.255]",
		// Other ways to write 127.0.0.1 and its like, which some resolvers know.
		"2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "0", "127.0.0.01", "1.1.1.1.", "0x7F.0.0.0x1", "a.0x1",
		"256.1.1.1", "1.2.3.4.5",
	}
	canary := newCanary(t)
	c := public8()
	for _, host := range hosts {
		for _, port := range []string{"", ":" + canary.port} {
			to := "https://" + host + port + "/?q=secret"
			for _, err := range everything(t, c, to) {
				assert.As[*Refusal](t, err, "%s", to)
				assert.Lacks(t, err.Error(), "secret")
			}
		}
	}
	canary.wantUntouched(t)
}

// O2: what is not the plain address of a server.
func TestURLsAreRefused(t *testing.T) {
	c := public8()
	for _, raw := range []string{
		"", "/", "x", "//mcp.example/x", "https:", "https://", "https:///x", "https:mcp.example", "https:/mcp.example", "https://:443/", "https://?x",
		"http://mcp.example/", "http://8.8.8.8/", "ftp://mcp.example/", "file:///etc/passwd", "javascript:alert(1)", "JavaScript://mcp.example/%0aalert(1)",
		"data:text/html,x", "vbscript:x", "a:$(calc)?", "gopher://mcp.example/", "unix:///run/x", "--upload-pack=x", `\\unc\share`, "-https://mcp.example/",
		"https://user@mcp.example/", "https://user:secret@mcp.example/", "https://@mcp.example/", "https://mcp.example:secret@evil.example/",
		"https://mcp.example/#f", "https://mcp.example/#", "https://mcp.example/x y", "https://mcp.example/\x00", "https://mcp.example/\r\nX: y", "https://mcp.example/\t",
		"https://mcp.example/\x7f", "https://mcp.example/é", "https://mcp.example\\@evil.example/", `https://x/"&calc&"`, "https://mcp.example/`x`", "https://mcp.example/{x}", "https://mcp.example/<x>", "https://mcp.example/a|b", "https://mcp.example/^",
		"https://mcp.example:0/", "https://mcp.example:/", "https://mcp.example:65536/", "https://mcp.example:x/", "https://mcp.example:-1/", "https://[::1/", "https://[mcp.example]/", "https://[8.8.8.8]/", "https://2606:4700::1/",
		"https://mcp..example/", "https://.example/", "https://-mcp.example/", "https://mcp_example$/", "https://mcp%2eexample/", "https://mcp.example%00/", "https://mcp*example/", "https://mcp,example/", "https://...",
		"https://" + strings.Repeat("a", 64) + ".example/", "https://" + strings.Repeat("a.", 127) + "example/",
		"https://mcp.example/" + strings.Repeat("x", 1<<20), " https://mcp.example/", "https://mcp.example/ ",
	} {
		err := errOf(c.Check(raw))
		assert.As[*Refusal](t, err, "%.60q", raw)
		assert.Lacks(t, err.Error(), "secret")
		assert.True(t, len(err.Error()) <= 500, "%.60q: the error is short", raw)
	}
}

func TestURLsAreLetThrough(t *testing.T) {
	c := public8()
	for _, raw := range []string{
		"https://mcp.example", "https://mcp.example/", "HTTPS://MCP.example:443/a%20b;c,d/e?f=g&h=i+j'k($l)*!~", "https://mcp.example./x",
		"https://8.8.8.8/", "https://[2606:4700:4700::1111]:8443/", "https://[64:ff9b::8.8.8.8]/", "https://[::ffff:8.8.8.8]/",
		"https://xn--bcher-kva.example/", "https://a_b.example/", "https://172.15.0.1/", "https://172.32.0.1/", "https://100.63.0.1/", "https://100.128.0.1/", "https://192.0.1.1/", "https://198.17.0.1/", "https://223.255.255.255/", "https://[2001:200::1]/",
	} {
		assert.Contains(t, assert.Value(c.Check(raw))(t).String(), strings.TrimPrefix(raw, "HTTPS"))
	}
}

// What the configuration says opens what it says, and nothing else.
func TestTrust(t *testing.T) {
	net10 := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	all := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	for _, test := range []struct {
		name    string
		o       Options
		yes, no []string
	}{
		{"nothing", Options{},
			[]string{"https://a.example"},
			[]string{"http://a.example", "https://10.1.0.1", "https://localhost", "http://localhost"}},
		{"loopback", Options{Trusted: []string{"LocalHost."}},
			[]string{"http://127.0.0.1:1", "http://[::1]", "http://x.localhost", "https://localhost", "http://[::ffff:127.0.0.1]"},
			[]string{"http://a.example", "https://10.1.0.1", "http://0.0.0.0", "https://169.254.169.254"}},
		{"usual loopback alone", Options{Trusted: []string{"127.0.0.1"}},
			[]string{"http://127.0.0.1", "http://[::1]", "http://localhost"},
			[]string{"http://127.0.0.2", "https://127.0.0.53", "https://[::ffff:127.0.0.2]"}},
		{"another loopback alone", Options{Trusted: []string{"127.0.0.2"}},
			[]string{"http://127.0.0.2", "https://[::ffff:127.0.0.2]"},
			[]string{"http://127.0.0.1", "http://[::1]", "http://localhost", "http://127.0.0.3"}},
		{"another loopback by an option", Options{Trusted: []string{"127.0.0.1"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}},
			[]string{"http://127.0.0.1", "http://127.0.0.2"},
			[]string{"http://127.0.0.3"}},
		{"loopback in brackets", Options{Trusted: []string{"[::1]"}}, []string{"http://127.0.0.1"}, []string{"https://[::2]"}},
		{"private address", Options{Trusted: []string{"10.1.0.1"}},
			[]string{"https://10.1.0.1:8443", "https://[::ffff:10.1.0.1]"},
			[]string{"http://10.1.0.1", "https://10.1.0.2", "https://127.0.0.1"}},
		{"odd address", Options{Trusted: []string{"169.254.7.7"}}, []string{"https://169.254.7.7"}, []string{"https://169.254.169.254"}},
		{"networks", Options{Networks: net10},
			[]string{"https://10.1.2.3"},
			[]string{"https://10.2.0.1", "http://10.1.2.3", "https://localhost"}},
		{"http", Options{AllowHTTP: true, Networks: net10},
			[]string{"http://a.example", "http://10.1.2.3"},
			[]string{"http://10.2.0.1", "http://localhost", "ftp://a.example"}},
		{"everything", Options{AllowHTTP: true, Networks: all},
			[]string{"http://localhost", "http://169.254.169.254", "https://[fe80::1]"},
			[]string{"https://[fe80::1%25lo]", "https://0x7f.1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := New(test.o)
			for _, raw := range test.yes {
				assert.Value(c.Check(raw))(t)
			}
			for _, raw := range test.no {
				assert.Fails(t, errOf(c.Check(raw)), "%s was let through", raw)
			}
		})
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"https://mcp.example/x?y#z", "https://[::1%25lo]:1/", "http://0x7f.1", "https://a@b:c@d/", "HTTPS://é/", "https://%31/"} {
		f.Add(seed)
	}
	c := public8()
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := c.Check(raw)
		if err != nil {
			assert.As[*Refusal](t, err, "%q", raw)
			return
		}
		assert.Equal(t, u.Scheme+u.User.String()+u.Fragment, "https", "%q was let through", raw)
		assert.True(t, u.Hostname() != "", "%q has a host", raw)
		addr, err := netip.ParseAddr(u.Hostname())
		assert.True(t, err != nil || kindOf(addr.Unmap()) == public, "%q is let through to the public %v", raw, addr)
		// What is sent is what was checked.
		again, err := c.Check(u.String())
		assert.OK(t, err, "%q, as %q", raw, u)
		assert.Equal(t, again.String(), u.String(), "%q", raw)
	})
}
