package auth

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// loopbackURI parses a redirect URI that leads back to the browser's own machine
// without TLS (RFC 8252, section 7.3). It is nil for others.
func loopbackURI(raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" {
		return nil
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err == nil && addr.IsLoopback() && addr.Zone() == "" || isLocalhost(u) {
		return u
	}
	return nil
}

func isLocalhost(u *url.URL) bool { return strings.EqualFold(u.Hostname(), "localhost") }

// listenFor listens where a browser connects to for the first of the registered
// redirect URIs whose port is free, and returns that. If there is none, it is one
// like the first but with another port, which some authorization servers allow.
func listenFor(ctx context.Context, registered []string) (redirect *url.URL, listeners []net.Listener, err error) {
	anywhere := &url.URL{Scheme: "http", Host: "127.0.0.1", Path: callbackPath}
	known := false
	for _, raw := range registered {
		u := loopbackURI(raw)
		if u == nil {
			continue
		}
		if redirect, listeners, err = listen(ctx, u); err == nil {
			return redirect, listeners, nil
		}
		if !known {
			known, anywhere = true, u
		}
	}
	portless := *anywhere
	portless.Host = strings.TrimSuffix(anywhere.Host, ":"+anywhere.Port())
	return listen(ctx, &portless)
}

// listen listens where a browser connects to for u, which is on any port if u
// has none (RFC 8252, section 7.3).
func listen(ctx context.Context, u *url.URL) (redirect *url.URL, listeners []net.Listener, err error) {
	if u.Port() != "" {
		listeners, err = listenOn(ctx, u, u.Port())
		return u, listeners, err
	}
	// A random port may be free at one address of localhost only.
	for range 3 {
		if listeners, err = listenOn(ctx, u, "0"); err == nil {
			_, port, _ := net.SplitHostPort(listeners[0].Addr().String())
			redirect := *u
			redirect.Host = u.Host + ":" + port
			return &redirect, listeners, nil
		}
	}
	return nil, nil, err
}

// listenOn listens at the address of u. A browser may take either address of
// localhost: no other program is to have one of them.
func listenOn(ctx context.Context, u *url.URL, port string) ([]net.Listener, error) {
	var config net.ListenConfig
	if !isLocalhost(u) {
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
		if err != nil {
			return nil, err
		}
		return []net.Listener{l}, nil
	}
	four, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, err
	}
	_, port, _ = net.SplitHostPort(four.Addr().String())
	six, err := config.Listen(ctx, "tcp6", net.JoinHostPort("::1", port))
	if err == nil {
		return []net.Listener{four, six}, nil
	}
	if probe, none := config.Listen(ctx, "tcp6", "[::1]:0"); none == nil {
		return nil, errors.Join(err, probe.Close(), four.Close())
	}
	return []net.Listener{four}, nil // there is no IPv6
}
