package auth

import (
	"net/url"
	"sync"
)

// maxNonces bounds the origins whose nonces are kept. A Flow speaks to few.
const maxNonces = 16

// nonces are the newest nonces for proofs of possession, by origin (RFC 9449,
// section 8). It is safe for concurrent use.
type nonces struct {
	mu       sync.Mutex
	byOrigin map[string]string
}

// originOf returns scheme and host of an address that was checked.
func originOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// newest returns the nonce for an endpoint; empty if there is none.
func (n *nonces) newest(endpoint string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byOrigin[originOf(endpoint)]
}

// keep keeps the nonce that an endpoint has given. It reports false if there is
// none, or what cannot be one.
func (n *nonces) keep(endpoint, nonce string) bool {
	if nonce == "" || checkNonce(nonce) != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byOrigin == nil || len(n.byOrigin) >= maxNonces {
		n.byOrigin = map[string]string{} // what is lost costs a round
	}
	n.byOrigin[originOf(endpoint)] = nonce
	return true
}
