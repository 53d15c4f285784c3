package auth

import (
	"errors"
	"net/http"
)

// A Challenge is one challenge of a WWW-Authenticate field (RFC 9110, section
// 11.6.1).
type Challenge struct {
	// Scheme is in lower case, such as "bearer" or "dpop".
	Scheme string
	// Params are the parameters, their names in lower case.
	Params map[string]string
}

// Challenges returns the challenges of a response. What cannot be read of a field
// is left out.
func Challenges(h http.Header) []Challenge { return nil }

// Authorize adds to header what a request needs to be let in with the grant: the
// token, and a proof of possession if the token is bound to a key. body is the
// body of a POST, for the proof's content digest; nonce is the newest that the
// server has given, or empty.
func (g *Grant) Authorize(header http.Header, method, target string, body []byte, nonce string) error {
	return errors.New("not implemented")
}
