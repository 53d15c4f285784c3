package guardhttp

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURL bounds an address, in bytes.
const maxURL = 8 << 10

// places are those that may be spoken to.
type places struct {
	trusted  []string // hosts as canonical returns them
	networks []netip.Prefix
	http     bool
	loopback []netip.Addr // those of this machine that a trusted host leads to
}

func newPlaces(o Options) places {
	p := places{networks: slices.Clone(o.Networks), http: o.AllowHTTP}
	for _, host := range o.Trusted {
		host = canonical(host)
		p.trusted = append(p.trusted, host)
		p.loopback = append(p.loopback, loopbackOf(host)...)
	}
	return p
}

// Check parses an address that a request could go to and refuses it for what can
// be seen without resolving it. The error is a [*Refusal].
func (c *Client) Check(raw string) (*url.URL, error) {
	u, problem := parse(raw)
	if problem == "" {
		problem = c.places.checkURL(u)
	}
	if problem != "" {
		return nil, &Refusal{Origin: originOf(u), Problem: problem}
	}
	return u, nil
}

// parse parses an absolute http or https address in plain form. It returns the
// URL, as far as there is one, also with a problem.
func parse(raw string) (u *url.URL, problem string) {
	if len(raw) > maxURL {
		return nil, "is longer than 8 KiB"
	}
	if !Plain(raw) {
		return nil, "has characters that no URL has"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, "is not a URL"
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "is neither https nor http"
	case u.User != nil:
		return nil, "has a user name or password"
	case u.Opaque != "" || u.Host == "":
		return nil, "names no host"
	case strings.Contains(raw, "#"):
		return u, "has a fragment"
	}
	host := u.Hostname()
	if addr, err := netip.ParseAddr(host); err != nil || strings.HasPrefix(u.Host, "[") != addr.Is6() {
		if !isName(host) || strings.HasPrefix(u.Host, "[") {
			return nil, "names no host that can be used"
		}
		if endsInNumber(host) {
			return u, "writes a numeric address in an unusual form"
		}
	}
	if rest := strings.TrimPrefix(u.Host, "["+host+"]"); strings.Contains(strings.TrimPrefix(rest, host), ":") {
		if n, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || n == 0 {
			return nil, "has a port that does not exist"
		}
	}
	return u, ""
}

// Plain reports whether text has only characters that URLs have (RFC 3986, appendix
// A). Among the others are those that browsers take for a slash, and those that mean
// something to shells and to the quoting of arguments.
func Plain(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\\\"<>^`{|}", c) })
}

// isName reports whether a host is a name that can be looked up.
func isName(host string) bool {
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	return len(host) <= 253
}

// endsInNumber reports whether a host could be taken for an address of version 4
// in one of its older forms, such as 2130706433 or 0x7f.1.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = hex, digits+"abcdef"
	} else if last == "" {
		return false
	}
	return strings.Trim(last, digits) == ""
}

// checkURL refuses what can be seen to lead nowhere that is allowed.
func (p *places) checkURL(u *url.URL) (problem string) {
	host := canonical(u.Hostname())
	if addr, err := netip.ParseAddr(host); err == nil {
		if problem := p.checkAddr(host, addr); problem != "" {
			return problem
		}
	} else if isLocal(host) && !slices.ContainsFunc(usualLoopback(), p.allows) { // it may lead nowhere
		return refusal(loopback)
	}
	if u.Scheme == "http" && !p.http && !(len(p.loopback) > 0 && isLocal(host)) {
		return "is http, which is not encrypted; it must be https"
	}
	return ""
}

// checkAddr decides about an address that host was resolved to, or that it is.
func (p *places) checkAddr(host string, addr netip.Addr) (problem string) {
	if addr.Zone() != "" {
		return refusal(special)
	}
	addr = addr.Unmap()
	kind := kindOf(addr)
	if isLocal(host) && kind != loopback {
		return "is this machine's own name but leads elsewhere"
	}
	switch {
	case kind == public, p.allows(addr):
		return ""
	case slices.Contains(p.trusted, host) && !isLocal(host):
		// An address that the configuration writes as a number is meant. A name that it
		// gives may lead into a network of the organisation, but the owner of
		// the name decides where it leads, and there are no servers in the rest.
		if _, err := netip.ParseAddr(host); err == nil || kind != special {
			return ""
		}
	}
	return refusal(kind)
}

// allows reports whether an address is one of those that are allowed by themselves.
func (p *places) allows(a netip.Addr) bool {
	return slices.Contains(p.loopback, a) || slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// usualLoopback returns the addresses to which localhost leads.
func usualLoopback() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
}

// loopbackOf returns the addresses of this machine that a canonical host stands for.
// The usual ones are one place; another one may be that of another program, such as a
// resolver, or of a container.
func loopbackOf(host string) []netip.Addr {
	addr, err := netip.ParseAddr(host)
	switch {
	case !isLocal(host):
		return nil
	case err != nil, slices.Contains(usualLoopback(), addr):
		return usualLoopback()
	}
	return []netip.Addr{addr}
}

func refusal(k kind) string {
	return "leads to " + k.String() + "; if that is meant, allow it by Network.Allow"
}

// canonical returns a host in lower case, without brackets and without the dot at
// its end, and an address in its usual form.
func canonical(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return host
}

// isLocal reports whether a canonical host is this machine by its form (RFC 6761,
// section 6.3).
func isLocal(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Loopback reports whether a host of a URL is this machine by its form: localhost
// or a loopback address.
func Loopback(host string) bool { return isLocal(canonical(host)) }

// originOf returns scheme and host, or "" of nil.
func originOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// portOf returns the port of a URL, also if that is left out.
func portOf(u *url.URL) string {
	if u.Port() == "" && u.Scheme == "http" {
		return "80"
	}
	return cmp.Or(u.Port(), "443")
}
