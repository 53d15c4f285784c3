package oidc

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/mcpbelt/mcpbelt/host/access"
)

// minKey is how long a key has to be, in bytes, as RFC 7518 wants.
const minKey = 32

// SignedOptions configure [NewSigned].
type SignedOptions struct {
	// Key is the secret that tokens are signed with, 32 bytes at least. It is required.
	Key []byte
	// Issuer is what the claim iss has to be. Default: it is not looked at.
	Issuer string
	// Audience is what the claim aud has to hold. Default: it is not looked at.
	Audience string
	// Grant returns what a token allows, see [Options].Grant. Default: use all servers, and change none.
	Grant func(*Claims) (*access.Grant, error)
}

// NewSigned returns an [access.Authenticator] for Bearer tokens that a program signs itself, by HS256 and a secret key.
// They must end some time (exp), and name a user (sub). A token that is refused is told by its user and its id
// (jti) in the log, if its signature is right, and never as it is. What is no JWT is not recognized, so
// that [access.Any] asks further. It fails if an option is wrong.
func NewSigned(o *SignedOptions) (access.Authenticator, error) {
	if o == nil || len(o.Key) < minKey {
		return nil, fmt.Errorf("oidc: SignedOptions.Key needs %d bytes at least", minKey)
	}
	s := *o
	s.Key = bytes.Clone(o.Key)
	return s.authenticate, nil
}

// authenticate implements [access.Authenticator].
func (o *SignedOptions) authenticate(r *http.Request) (*access.Caller, error) {
	raw, err := access.BearerToken(r)
	switch {
	case err != nil:
		return nil, err
	case strings.Count(raw, ".") != 2:
		return nil, access.ErrUnrecognized
	case len(raw) > maxToken:
		return nil, &access.RefusedError{Reason: "the token is too long"}
	}
	token, err := parse(raw, jose.HS256)
	if err != nil {
		return nil, &access.RefusedError{Reason: "the token cannot be read, or has another method than HS256", Err: err}
	}
	var claims jwt.Claims
	c := &Claims{}
	if err := token.Claims(o.Key, &claims, &c.All); err != nil {
		return nil, &access.RefusedError{Reason: "the token has another signature, or its claims cannot be read"}
	}
	c.Issuer, c.Subject = claims.Issuer, claims.Subject
	if why := c.read(); why != "" {
		return nil, &access.RefusedError{Reason: why}
	}
	credential := "jwt:" + claims.Subject
	if claims.ID != "" {
		credential += ":" + claims.ID
	}
	expected := jwt.Expected{Issuer: o.Issuer, Time: time.Now()}
	if o.Audience != "" {
		expected.AnyAudience = jwt.Audience{o.Audience}
	}
	err = claims.ValidateWithLeeway(expected, 0)
	switch {
	case claims.Expiry == nil:
		err = errors.New("it has no claim exp")
	case claims.Subject == "":
		err = errors.New("it names no user in sub")
	}
	if err != nil {
		return nil, &access.RefusedError{Credential: credential, Reason: "the token is not valid", Err: err}
	}
	return withGrant(&access.Caller{User: claims.Subject, Credential: credential}, c, o.Grant)
}

// parse reads a token, of which nothing is known to be true yet. One with an extension that must be understood
// (crit) is refused: this program understands none, not even that of go-jose, b64.
func parse(raw string, methods ...jose.SignatureAlgorithm) (*jwt.JSONWebToken, error) {
	token, err := jwt.ParseSigned(raw, methods)
	if err == nil && token.Headers[0].ExtraHeaders["crit"] != nil {
		err = errors.New("it has critical extensions")
	}
	return token, err
}

// withGrant returns a caller with what its token allows.
func withGrant(caller *access.Caller, c *Claims, grant func(*Claims) (*access.Grant, error)) (_ *access.Caller, err error) {
	if grant == nil {
		return caller, nil
	}
	if caller.Grant, err = grant(c); err == nil {
		return caller, nil
	}
	if refused := (*access.RefusedError)(nil); errors.As(err, &refused) {
		return nil, err
	}
	return nil, &access.RefusedError{Status: http.StatusForbidden, Credential: caller.Credential, Reason: "no grant", Err: err}
}
