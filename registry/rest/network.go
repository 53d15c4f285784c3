package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// A target is an address of an API. Its host is fixed; secrets may be in the path
// and in the query.
type target struct {
	origin string // https://api.example
	host   string // without port
	path   secretText
	query  secretText // without its question mark
	secret bool       // what is put in is not shown in answers
}

// parseTarget reads an address. A problem shows nothing of it.
func parseTarget(place, raw string) (t target, problem string) {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return t, "is no absolute URL: write https:// and the host"
	}
	at := strings.IndexAny(rest, "/?#")
	if at < 0 {
		at = len(rest)
	}
	t.origin = scheme + "://" + rest[:at]
	path, query, _ := strings.Cut(rest[at:], "?")
	if strings.Contains(t.origin, "$") {
		return t, "has a reference to a secret before its path: which host is spoken to must be written down"
	}
	if t.path, problem = parseSecretText(place, path); problem == "" {
		t.query, problem = parseSecretText(place, query)
	}
	if problem != "" {
		return t, problem
	}
	sample := t.origin + t.path.sample()
	if strings.Contains(t.path.sample(), "?") {
		return t, "has a ? that comes from nowhere"
	}
	if !t.query.empty() {
		sample += "?" + t.query.sample()
	}
	u, err := url.Parse(sample)
	if err != nil || !guardhttp.Plain(sample) {
		return t, "is no URL; characters that no URL has are written as %20"
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return t, "has a segment . or .. in its path: write what it leads to"
		}
	}
	t.host = u.Hostname()
	return t, ""
}

// pathText returns the path with its secrets put in, each as a part of a segment.
func (t *target) pathText(ctx context.Context, k *keyring) (string, error) {
	filled, err := t.path.fill(func(name string) (string, error) {
		value, err := k.value(ctx, t.path.place, name)
		if err != nil {
			return "", err
		}
		if t.secret || soundsSecret(name) {
			k.hide(value)
		}
		return url.PathEscape(value), nil
	})
	if err != nil {
		return "", err
	}
	for segment := range strings.SplitSeq(filled, "/") {
		if segment == "." || segment == ".." {
			return "", &SecretError{API: k.api, Place: t.path.place, Err: errors.New("has a segment . or .. with its secrets put in: give them other values")}
		}
	}
	return filled, nil
}

// queryText returns the query with its secrets put in, each as a part of a value.
func (t *target) queryText(ctx context.Context, k *keyring) (string, error) {
	return t.query.fill(func(name string) (string, error) {
		value, err := k.value(ctx, t.query.place, name)
		if err != nil {
			return "", err
		}
		if t.secret || soundsSecret(name) {
			k.hide(value)
		}
		return escape(value), nil
	})
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
