package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// A target is an address of an API. Its host is fixed; secrets may be in the path.
type target struct {
	origin string // https://api.example
	host   string // without port; empty if there is a problem
	place  string // in the API
	path   string // with references to secrets
}

// parseTarget reads an address, and notes what is wrong with it, of which it shows nothing.
func parseTarget(place, raw string, p *problems) target {
	t, problem := readTarget(place, raw)
	if problem != "" {
		p.add(place, problem)
		t.host = ""
	}
	return t
}

func readTarget(place, raw string) (t target, problem string) {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return t, "is no absolute URL: write https:// and the host"
	}
	at := strings.IndexAny(rest, "/?#")
	if at < 0 {
		at = len(rest)
	}
	t.origin = scheme + "://" + rest[:at]
	switch {
	case strings.Contains(t.origin, "$"):
		return t, "has a reference to a secret before its path: which host is spoken to must be written down"
	case strings.Contains(rest, "?"):
		return t, "has a query: make it parameters with a default, or fields, or the login's"
	}
	t.place, t.path = place, rest[at:]
	sample, err := t.sample()
	if err != nil {
		return t, err.Error()
	}
	u, err := url.Parse(sample)
	if err != nil || !guardhttp.Plain(sample) {
		return t, "is no URL; characters that no URL has are written as %20"
	}
	if hasDots(u.Path) {
		return t, "has a segment . or .. in its path: write what it leads to"
	}
	t.host = u.Hostname()
	return t, ""
}

// hasDots reports whether a path has a segment that stands for another one.
func hasDots(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// sample returns the address with x for each secret.
func (t *target) sample() (string, error) {
	path, err := sample(t.path)
	return t.origin + path, err
}

// url returns the address with its secrets put in, each as a part of a segment.
func (t *target) url(ctx context.Context, k *keyring) (string, error) {
	path, err := expand(t.path, func(name string) (string, error) {
		value, err := k.value(ctx, t.place, name, false)
		return url.PathEscape(value), err
	})
	if err == nil && hasDots(path) {
		err = &secretError{place: t.place, err: errors.New("has a segment . or .. with its secrets put in: give them other values")}
	}
	return t.origin + path, err
}

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
	// was described by a person who may not reach what this program can.
	PublicOnly bool
	// Allow are networks whose addresses may be spoken to.
	Allow []netip.Prefix
	// AllowHTTP allows http, without TLS, for all that may be spoken to. Secrets
	// then travel readable.
	AllowHTTP bool
	// TLS replaces the TLS configuration, for private certificate authorities and
	// client certificates.
	TLS *tls.Config

	names *net.Resolver // of tests; nil: the usual one
}

// guard returns what sends requests of an API whose hosts are given.
func (n *Network) guard(hosts ...string) *guardhttp.Client {
	o := guardhttp.Options{Networks: n.Allow, AllowHTTP: n.AllowHTTP, TLS: n.TLS, Resolver: n.names}
	for _, host := range hosts {
		if host != "" && !n.PublicOnly && !guardhttp.Special(host) {
			o.Trusted = append(o.Trusted, host)
		}
	}
	return guardhttp.New(o)
}
