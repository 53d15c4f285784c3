package jwt

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpbelt/mcpbelt/host/access"
)

const (
	minKey   = 32 // bytes of a key, as RFC 7518 wants
	maxToken = 16 << 10
)

// Options configure [New].
type Options struct {
	// Key is the secret that tokens are signed with, 32 bytes at least. It is required.
	Key []byte
	// Issuer is what the claim iss has to be. Default: it is not looked at.
	Issuer string
	// Audience is what the claim aud has to hold. Default: it is not looked at.
	Audience string
	// Leeway is by how much clocks may differ. Default: none.
	Leeway time.Duration
	// Grant returns what the caller of a token may. Do not change the claims. Default: use all
	// servers, and change none.
	Grant func(claims map[string]any) *access.Grant
}

// New returns an Authenticator of tokens in the Authorization field of requests. They must end
// some time (exp), and name a user (sub). A token that is refused is told by its user and its id
// (jti) in the log, if its signature is right, and never as it is. What is no JWT is not recognized, so
// that [access.Any] asks the next Authenticator. The error says what is wrong with the options.
func New(opts *Options) (access.Authenticator, error) {
	if opts == nil || len(opts.Key) < minKey {
		return nil, fmt.Errorf("jwt: Options.Key needs %d bytes at least", minKey)
	}
	o := *opts
	o.Key = append([]byte{}, opts.Key...)
	parse := []jwt.ParserOption{
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(o.Leeway),
	}
	if o.Issuer != "" {
		parse = append(parse, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		parse = append(parse, jwt.WithAudience(o.Audience))
	}
	parser := jwt.NewParser(parse...)
	return func(r *http.Request) (*access.Caller, error) {
		token, err := access.BearerToken(r)
		if err != nil {
			return nil, err
		}
		if strings.Count(token, ".") != 2 {
			return nil, access.ErrUnrecognized
		}
		if len(token) > maxToken {
			return nil, &access.RefusedError{Reason: "the token is too long"}
		}
		claims := jwt.MapClaims{}
		_, err = parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return o.Key, nil })
		if err != nil {
			return nil, &access.RefusedError{Credential: credentialOf(claims, err), Reason: reasonOf(err)}
		}
		user, err := claims.GetSubject()
		if err != nil || user == "" {
			return nil, &access.RefusedError{Reason: "the token names no user in sub"}
		}
		caller := &access.Caller{User: user, Credential: credentialOf(claims, nil)}
		if o.Grant != nil {
			caller.Grant = o.Grant(claims)
		}
		return caller, nil
	}, nil
}

// credentialOf names a token by its claims, unless these may be anybody's.
func credentialOf(claims jwt.MapClaims, err error) string {
	if errors.Is(err, jwt.ErrTokenMalformed) || errors.Is(err, jwt.ErrTokenUnverifiable) || errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		return ""
	}
	name := "jwt"
	for _, claim := range []string{"sub", "jti"} {
		if text, ok := claims[claim].(string); ok {
			name += ":" + text
		}
	}
	return name
}

// reasonOf says why a token was refused, without its words.
func reasonOf(err error) string {
	for _, is := range []struct {
		err    error
		reason string
	}{
		{jwt.ErrTokenMalformed, "the token cannot be read"},
		{jwt.ErrTokenUnverifiable, "the token cannot be checked"},
		{jwt.ErrTokenSignatureInvalid, "the token has another signature or method"},
		{jwt.ErrTokenExpired, "the token has expired"},
		{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
		{jwt.ErrTokenUsedBeforeIssued, "the token was made later than now"},
		{jwt.ErrTokenInvalidIssuer, "the token has another issuer"},
		{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
	} {
		if errors.Is(err, is.err) {
			return is.reason
		}
	}
	return "the token lacks a claim"
}
