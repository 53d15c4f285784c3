package auth

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	// maxCallback bounds the address that a browser came back to, in bytes.
	maxCallback = 64 << 10
	// maxState bounds a state, in bytes. Those of Begin have 43.
	maxState = 256
	// maxIssuer bounds what is shown of the issuer of a response, in bytes.
	maxIssuer = 256
)

// A response is what an authorization server has sent by way of the user's
// browser, and therefore perhaps an attacker.
type response struct {
	address *url.URL
	query   url.Values
}

// readCallback reads the address that a browser came back to, absolute or from
// its path on. Its errors show nothing of it.
func readCallback(callback string) (*response, error) {
	callback = strings.TrimSpace(callback)
	if len(callback) > maxCallback {
		return nil, fmt.Errorf("it is longer than %d bytes", maxCallback)
	}
	u, err := url.Parse(callback)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("its query cannot be read")
	}
	for _, name := range []string{"state", "iss", "error", "code"} {
		if len(query[name]) > 1 {
			return nil, errors.New(name + " occurs more than once")
		}
	}
	if query.Get("state") == "" {
		return nil, errors.New("its state is missing")
	}
	return &response{u, query}, nil
}

// StateOf returns the state of the address that a browser came back to, by which
// the [Pending] is found that it answers. [Flow.Complete]
// checks that it is the right one. The error is a [*StateError].
func StateOf(callback string) (string, error) {
	r, err := readCallback(callback)
	if err != nil {
		return "", &StateError{Problem: err.Error()}
	}
	state := r.query.Get("state")
	if len(state) > maxState {
		return "", &StateError{Problem: fmt.Sprintf("its state is longer than %d bytes", maxState)}
	}
	return state, nil
}

// answers checks that a response is the answer to a login, of the right
// authorization server, and in time.
func (r *response) answers(p *Pending, now time.Time) error {
	if subtle.ConstantTimeCompare([]byte(r.query.Get("state")), []byte(p.State.Reveal())) != 1 {
		return &StateError{p.Server, "its state is another one"}
	}
	if !now.Before(p.Expires) {
		return &StateError{p.Server, "it comes too late"}
	}
	if r.address.IsAbs() || r.address.Host != "" {
		want, err := url.Parse(p.RedirectURI)
		if err != nil || place(want) != place(r.address) {
			return &StateError{p.Server, "it came to another address than the redirect URI"}
		}
	}
	return r.namesIssuer(p)
}

// namesIssuer compares the issuer of a response (RFC 9207, section 2.4). It comes
// before all else that the response says: of another issuer's nothing is used,
// and nothing shown.
func (r *response) namesIssuer(p *Pending) error {
	want := p.Authority.Issuer
	got := r.query.Get("iss")
	if got == want || !r.query.Has("iss") && !p.Authority.NamesIssuer {
		return nil
	}
	if len(got) > maxIssuer {
		got = got[:maxIssuer]
	}
	return &IssuerMismatchError{server: p.Server, what: "response", want: want, got: got}
}

// code returns the authorization code of a response.
func (f *Flow) code(r *response, p *Pending) (string, error) {
	if r.query.Has("error") {
		return "", f.withCure(&OAuthError{
			Server: p.Server, Request: "authorization", host: hostOf(p.Authority.AuthorizationEndpoint), Code: cleanCode(r.query.Get("error")),
			said: describe(r.query.Get("error_description"), p.State.Reveal(), p.Verifier.Reveal(), r.query.Get("code")),
		})
	}
	code := r.query.Get("code")
	if code == "" {
		return "", &RequestError{
			server: p.Server, request: "authorization", host: hostOf(p.Authority.AuthorizationEndpoint),
			err: errors.New("the response has neither a code nor an error"),
		}
	}
	return code, nil
}

// place returns what addresses are compared by: scheme, host, port and path.
func place(u *url.URL) string {
	return resourceOrigin(u) + cmp.Or(u.EscapedPath(), "/")
}
