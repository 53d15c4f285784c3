package oidc

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/host/access"
)

// Options say whose tokens are accepted, and for what.
type Options struct {
	// Issuers are the authorization servers, exactly as their metadata names them. At least one.
	// They are reached by https, or by http at a loopback address.
	Issuers []string
	// Resource is the URL of the gateway, such as https://belt.example. That of a view, such as
	// https://belt.example/p/office/mcp, is the audience of its tokens.
	Resource string
	// Audiences are further audiences, good for all views: those of an authorization server that
	// knows one name for the gateway, or what a client is known to ask for, such as
	// https://belt.example/ with its slash. Default: none.
	Audiences []string
	// Grant returns what a token allows, usually by its scopes. A [*access.RefusedError] with status 403
	// and a scope has the client ask for that. It is called for each request, at the same time too.
	// Default: use all servers.
	Grant func(*Claims) (*access.Grant, error)
	// UserClaim is the claim that names the user. If that is email, the token has to say that it
	// is verified. With several issuers, the issuer and "#" come first, since two of them may give
	// one name to two people. Default: sub.
	UserClaim string
	// Client makes the requests to issuers. Default: one that follows no redirects.
	Client *http.Client
}

// Claims are what a token says.
type Claims struct {
	Issuer  string                     // the claim iss: one of Options.Issuers
	Subject string                     // the claim sub
	Client  string                     // the id of the client that the token was issued to, if it says that
	Scopes  []string                   // of the claim scope or scp
	All     map[string]json.RawMessage // all claims by their names
}

// maxToken bounds a token, in bytes.
const maxToken = 16 << 10

// New returns an [access.Authenticator] for Bearer tokens. Tokens of another form than a JWT, or of
// another issuer, are not recognized, so that [access.Any] asks further. Requests to
// issuers are made when a token needs them, and end with ctx. It fails if an option is wrong.
func New(ctx context.Context, o *Options) (access.Authenticator, error) {
	if o == nil || len(o.Issuers) == 0 {
		return nil, errors.New("oidc: there is no issuer")
	}
	base, err := url.Parse(o.Resource)
	if err != nil || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("oidc: %q is not the URL of a gateway", o.Resource)
	}
	v := &verifier{
		base: strings.TrimRight(o.Resource, "/"), audiences: slices.Clone(o.Audiences),
		grant: o.Grant, userClaim: cmp.Or(o.UserClaim, "sub"), issuers: map[string]*issuer{},
	}
	client := cmp.Or(o.Client, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
	for _, name := range o.Issuers {
		if !isSecure(name) {
			return nil, fmt.Errorf("oidc: the issuer %q is not reached by https", name)
		}
		v.issuers[name] = &issuer{name: name, ctx: ctx, client: client, turn: make(chan struct{}, 1)}
	}
	return v.authenticate, nil
}

// isSecure reports whether an address has https, or is one of this machine.
func isSecure(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return u.Scheme == "http" || u.Scheme == "https"
	}
	return u.Scheme == "https"
}

// A verifier examines tokens.
type verifier struct {
	base      string // URL of the gateway, without a slash at the end
	audiences []string
	grant     func(*Claims) (*access.Grant, error)
	userClaim string
	issuers   map[string]*issuer
}

// authenticate implements [access.Authenticator].
func (v *verifier) authenticate(r *http.Request) (*access.Caller, error) {
	raw, err := access.BearerToken(r)
	if err != nil {
		return nil, err
	}
	kind, name, ok := peek(raw)
	switch {
	case !ok:
		return nil, &access.RefusedError{Reason: "the token is no JWT", Err: access.ErrUnrecognized}
	case v.issuers[name] == nil:
		return nil, &access.RefusedError{Credential: fmt.Sprintf("%.200q", name), Reason: "the issuer is not one of those that are accepted", Err: access.ErrUnrecognized}
	}
	refuse := func(reason string, err error) (*access.Caller, error) {
		return nil, &access.RefusedError{Credential: name, Reason: reason, Err: err}
	}
	claims, all, err := v.issuers[name].verify(r.Context(), raw)
	var away *awayError
	switch {
	case errors.As(err, &away):
		return nil, &access.RefusedError{Status: http.StatusServiceUnavailable, Credential: name, Reason: "the issuer cannot be asked for its keys", Err: away.err}
	case errors.Is(err, errExpired):
		return refuse(err.Error(), nil)
	case err != nil:
		return refuse("the token is not valid", err)
	}
	c := &Claims{Issuer: claims.Issuer, Subject: claims.Subject, All: all}
	if why := c.read(); why != "" {
		return refuse(why, nil)
	}
	if !v.isFor(r, claims.Audience) {
		return refuse(fmt.Sprintf("the token is for another audience, %.300q", claims.Audience), nil)
	}
	if why := c.noAccessToken(kind); why != "" {
		return refuse(why, nil)
	}
	user, why := v.user(c)
	if why != "" {
		return refuse(why, nil)
	}
	return withGrant(&access.Caller{User: user, Credential: name + "#" + c.Client}, c, v.grant)
}

// peek returns the type of a token, in lower case, and its issuer, of which nothing is known to be true yet.
func peek(raw string) (kind, issuer string, ok bool) {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 || len(raw) > maxToken {
		return "", "", false
	}
	var header, claims map[string]json.RawMessage
	for i, into := range []*map[string]json.RawMessage{&header, &claims} {
		data, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(data, into) != nil {
			return "", "", false
		}
	}
	return strings.ToLower(text(header["typ"])), text(claims["iss"]), true
}

// text returns a string in JSON; empty if it is none.
func text(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s)
	return s
}

// read takes out of the claims what has a field. It returns why the claims are not accepted: one stands there
// in two spellings, or one of the registered names in another case, and who reads it elsewhere may take the other.
func (c *Claims) read() (why string) {
	known := map[string]string{}
	for _, name := range append(slices.Sorted(maps.Keys(c.All)), "iss", "sub", "aud", "exp", "nbf", "iat", "jti") {
		if folded := strings.ToLower(name); known[folded] == "" || known[folded] == name {
			known[folded] = name
		} else {
			return "the token has the claim " + folded + " in another case"
		}
	}
	c.Client = cmp.Or(text(c.All["client_id"]), text(c.All["azp"]))
	for _, name := range []string{"scope", "scp"} {
		var list []string
		if json.Unmarshal(c.All[name], &list) != nil {
			list = strings.Fields(text(c.All[name]))
		}
		c.Scopes = append(c.Scopes, list...)
	}
	return ""
}

// isFor reports whether one of the audiences is the view that a request is made of, or the gateway's.
func (v *verifier) isFor(r *http.Request, audience []string) bool {
	view := v.base + (&url.URL{Path: strings.TrimSuffix(access.ResourcePath(r.URL.Path), "/")}).EscapedPath()
	return slices.ContainsFunc(audience, func(a string) bool {
		return a == view || a == view+"/" || slices.Contains(v.audiences, a)
	})
}

// noAccessToken says why a token of a type is none that lets its bearer in; empty if it is one.
func (c *Claims) noAccessToken(kind string) string {
	if c.All["cnf"] != nil {
		return "the token is bound to a key of the client, which is not supported"
	}
	switch kind {
	case "at+jwt", "application/at+jwt":
		return ""
	case "", "jwt", "application/jwt":
	default:
		return "the token is of another type than at+jwt"
	}
	for _, name := range []string{"nonce", "at_hash", "c_hash", "s_hash", "events"} {
		if c.All[name] != nil {
			return "the token is no access token: it has the claim " + name
		}
	}
	for _, name := range []string{"typ", "token_use"} { // of Keycloak and of Cognito
		switch strings.ToLower(text(c.All[name])) {
		case "", "bearer", "access", "at+jwt", "jwt":
		default:
			return "the token is no access token: by its claim " + name
		}
	}
	return ""
}

// user returns who the user is, or why that is not known.
func (v *verifier) user(c *Claims) (user, why string) {
	user = text(c.All[v.userClaim])
	switch {
	case user == "" || len(user) > 200 || !utf8.ValidString(user):
		return "", "the token has no user in the claim " + v.userClaim
	case v.userClaim == "email" && string(c.All["email_verified"]) != "true":
		return "", "the token does not say that the email is verified"
	case len(v.issuers) > 1:
		user = c.Issuer + "#" + user
	}
	return user, ""
}
