// Package origin holds what the clients of one server's users have in common: sockets,
// which carry no state of a user.
package origin

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"slices"
	"sync"
)

// An Origin is what the clients of a server's users share. The zero Origin is ready, and
// the nil one shares nothing. It is safe for concurrent use.
type Origin struct {
	mu      sync.Mutex // guards the following
	sockets *http.Transport
	tls     *tls.Config // of sockets
	proxy   string      // of sockets
	former  []*http.Transport
	ended   bool
}

// Sockets returns what the clients send their requests with: the same for each client
// with a proxy of that name and TLS settings of that content, else what open returns. It
// is nil for the nil Origin, and after End.
func (o *Origin) Sockets(proxy string, settings *tls.Config, open func() *http.Transport) http.RoundTripper {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ended:
		return nil
	case o.sockets != nil && o.proxy == proxy && sameTLS(o.tls, settings):
		return o.sockets
	case o.sockets != nil:
		o.former = append(o.former, o.sockets)
	}
	o.sockets, o.proxy, o.tls = open(), proxy, settings
	return o.sockets
}

// End closes the idle sockets. No client is made any more; each that there is calls Rest
// when it has ended.
func (o *Origin) End() {
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.Rest()
}

// Rest closes the idle sockets that no further client is made for.
func (o *Origin) Rest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, sockets := range o.former {
		sockets.CloseIdleConnections()
	}
	if o.ended && o.sockets != nil {
		o.sockets.CloseIdleConnections()
	}
}

// sameTLS reports whether two settings of one entry were read from files that said the
// same.
func sameTLS(a, b *tls.Config) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.InsecureSkipVerify == b.InsecureSkipVerify && sameAuthorities(a.RootCAs, b.RootCAs) &&
		slices.EqualFunc(a.Certificates, b.Certificates, func(x, y tls.Certificate) bool {
			return slices.EqualFunc(x.Certificate, y.Certificate, bytes.Equal)
		})
}

func sameAuthorities(a, b *x509.CertPool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b)
}
