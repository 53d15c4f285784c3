package guardhttp

import (
	"net/netip"
	"slices"
)

// A kind is what an address is for.
type kind int

const (
	public   kind = iota
	private       // RFC 1918, RFC 4193, RFC 6598
	loopback      // this machine
	special       // the rest: link-local, metadata services, documentation, multicast, tunnels, reserved
)

func (k kind) String() string {
	return [...]string{public: "a public address", private: "a private network", loopback: "this machine", special: "an address for special purposes"}[k]
}

// Special reports whether a host of a URL is, by its form, an address without servers: of
// the link, of a cloud that gives credentials to its machines, or reserved.
func Special(host string) bool {
	addr, err := netip.ParseAddr(canonical(host))
	return err == nil && (addr.Zone() != "" || kindOf(addr.Unmap()) == special)
}

// Public reports whether an address is of the public internet.
func Public(a netip.Addr) bool { return a.IsValid() && a.Zone() == "" && kindOf(a.Unmap()) == public }

// kindOf returns the kind of an address, which is unmapped. Of version 6 only what
// is assigned to the public is public; where an address has one of version 4 in it
// that the packets go to, that decides.
func kindOf(a netip.Addr) kind {
	switch {
	case a.IsLoopback():
		return loopback
	case within(a, // where a cloud gives credentials to its machines
		"100.100.100.200/32", // Alibaba
		"168.63.129.16/32",   // Azure
		"fd00:ec2::/32",      // Amazon
		"fd20:ce::254/128",   // Google
		"fd00:c1::/32",       // Oracle
	):
		return special
	case within(a, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"):
		return private
	case within(a, "64:ff9b::/96"): // NAT64: how networks without version 4 reach it
		b := a.As16()
		return kindOf(netip.AddrFrom4([4]byte(b[12:])))
	case a.Is6() && !within(a, "2000::/3"), within(a,
		"0.0.0.0/8",         // this network
		"169.254.0.0/16",    // link-local
		"192.0.0.0/24",      // protocol assignments
		"192.0.2.0/24",      // documentation
		"192.31.196.0/24",   // AS112
		"192.52.193.0/24",   // AMT
		"192.88.99.0/24",    // relays of 6to4
		"192.175.48.0/24",   // AS112
		"198.18.0.0/15",     // benchmarks
		"198.51.100.0/24",   // documentation
		"203.0.113.0/24",    // documentation
		"224.0.0.0/3",       // multicast, reserved, broadcast
		"2001::/23",         // protocol assignments, with Teredo, AMT, AS112 and ORCHID
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4
		"2620:4f:8000::/48", // AS112
		"3ffe::/16",         // 6bone
		"3fff::/20",         // documentation
	):
		return special
	}
	return public
}

func within(a netip.Addr, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return netip.MustParsePrefix(p).Contains(a) })
}
