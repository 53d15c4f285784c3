package rest

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// A Network says which addresses a [Service] may speak to besides https addresses
// on public networks. Each address is checked when it is connected to, whatever
// its name led to before.
//
// The hosts of the base URL and of [TokenRequest].URL are always allowed. A name
// among them may lead into private networks, but never to link-local addresses or
// those where clouds give credentials to their machines. If one of them is localhost
// or a loopback address, all loopback addresses are allowed, and http there.
type Network struct {
	// PublicOnly takes these rights from the hosts of the API: set it if the API
	// was described by somebody who may not reach what this program can.
	PublicOnly bool
	// Allow are networks whose addresses may be spoken to.
	Allow []netip.Prefix
	// AllowHTTP allows http, without TLS, for all that may be spoken to. Secrets
	// then travel readable.
	AllowHTTP bool
	// TLS replaces the TLS configuration, for private certificate authorities and
	// client certificates.
	TLS *tls.Config
	// Proxy replaces [http.ProxyFromEnvironment]. A proxy resolves names by
	// itself: behind one, only addresses in URLs can be checked.
	Proxy func(*http.Request) (*url.URL, error)
}

// guard returns what sends requests of an API whose hosts are given. Names are
// looked up by a resolver; nil for the usual one.
func (n *Network) guard(names *net.Resolver, hosts ...string) *guardhttp.Client {
	o := guardhttp.Options{Networks: slices.Clone(n.Allow), AllowHTTP: n.AllowHTTP, TLS: n.TLS, Proxy: n.Proxy, Resolver: names}
	for _, host := range hosts {
		if !n.PublicOnly && !guardhttp.Special(host) {
			o.Trusted = append(o.Trusted, host)
		}
	}
	return guardhttp.New(o)
}
