package auth

import "net/http"

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
