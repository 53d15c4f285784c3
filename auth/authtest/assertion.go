package authtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	authJWT            = "private_key_jwt"
	grantClient        = "client_credentials"
	grantAssertion     = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange      = "urn:ietf:params:oauth:grant-type:token-exchange"
	assertionTypeJWT   = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	tokenTypeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
	tokenTypeID        = "urn:ietf:params:oauth:token-type:id_token"
	jwtTypeIDJAG       = "oauth-id-jag+jwt"
	assertionsLifetime = 5 * time.Minute
)

// authenticateJWT returns the client that signed an assertion (RFC 7523, section
// 2.2).
func (s *Server) authenticateJWT(ctx context.Context, form url.Values) (*client, error) {
	if kind := form.Get("client_assertion_type"); kind != assertionTypeJWT {
		return nil, refusef("invalid_client", "client_assertion_type is %q", kind)
	}
	j, err := parseJWT(form.Get("client_assertion"))
	if err != nil {
		return nil, refusef("invalid_client", "%v", err)
	}
	c, err := s.client(ctx, j.claims.Subject)
	if err != nil {
		return nil, err
	}
	switch id := form.Get("client_id"); {
	case id != "" && id != c.ID:
		return nil, refusef("invalid_client", "two ids of clients")
	case c.AuthMethod != authJWT:
		return nil, refusef("invalid_client", "the client authenticates itself by %s, not by %s", c.AuthMethod, authJWT)
	case j.claims.Issuer != c.ID:
		return nil, refusef("invalid_client", "iss and sub differ")
	case !slices.Contains(j.claims.Audience, s.Issuer) && !slices.Contains(j.claims.Audience, s.URL(TokenEndpoint)):
		return nil, refusef("invalid_client", "aud %q is neither the issuer nor the token endpoint", j.claims.Audience)
	}
	if err := j.check(c.Keys...); err != nil {
		return nil, refusef("invalid_client", "%v", err)
	}
	if !s.firstSight("client " + c.ID + " " + j.claims.ID) {
		return nil, refusef("invalid_client", "jti is missing or was used before")
	}
	return c, nil
}

// firstSight reports whether an id is neither empty nor known. An id ends with
// that of a JWT.
func (s *Server) firstSight(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(id, " ") || s.seen[id] {
		return false
	}
	s.seen[id] = true
	return true
}

// exchangeClient issues a token to a client for itself (RFC 6749, section 4.4).
func (s *Server) exchangeClient(c *client, form url.Values, thumb string) (map[string]any, error) {
	if c.AuthMethod == authNone {
		return nil, refusef("unauthorized_client", "the client cannot authenticate itself")
	}
	return s.direct(&family{Family: Family{ClientID: c.ID, User: c.ID, Resource: form.Get("resource")}, thumb: thumb}, form)
}

// direct issues an access token without a refresh token.
func (s *Server) direct(f *family, form url.Values) (map[string]any, error) {
	f.Scopes, f.final = strings.Fields(form.Get("scope")), true
	if err := s.checkScopes(f.Scopes); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete(f), nil
}

// exchangeAssertion issues a token for the subject of an assertion (RFC 7523,
// section 2.1). c is nil if the request names no client.
func (s *Server) exchangeAssertion(c *client, form url.Values, thumb string) (map[string]any, error) {
	assertion := form.Get("assertion")
	g := &family{Family: Family{Resource: form.Get("resource")}, thumb: thumb}
	if c != nil {
		g.ClientID = c.ID
	}
	j, err := parseJWT(assertion)
	switch {
	case err == nil && s.options.IdP != nil && strings.EqualFold(j.header.Type, jwtTypeIDJAG):
		if c == nil {
			return nil, refusef("invalid_client", "client_id is missing")
		}
		if err := s.checkIDJAG(j, c); err != nil {
			return nil, refusef("invalid_grant", "%v", err)
		}
		g.User = j.claims.Subject
		g.Resource = cmp.Or(g.Resource, j.claims.Resource)
		if g.Resource != j.claims.Resource {
			return nil, refusef("invalid_target", "resource differs from that of the assertion")
		}
		if !form.Has("scope") {
			form = url.Values{"scope": {j.claims.Scope}}
		}
	case s.options.Assertion != nil:
		if g.User, err = s.options.Assertion(assertion); err != nil {
			return nil, refusef("invalid_grant", "%v", err)
		}
	default:
		return nil, refusef("invalid_grant", "no issuer is trusted to make such assertions")
	}
	return s.direct(g, form)
}

// checkIDJAG checks the assertion of the identity provider.
func (s *Server) checkIDJAG(j *jwt, c *client) error {
	if err := j.check(&s.options.IdP.key.PublicKey); err != nil {
		return err
	}
	switch {
	case len(j.claims.Audience) != 1 || j.claims.Audience[0] != s.Issuer:
		return fmt.Errorf("aud %q is not this server", j.claims.Audience)
	case j.claims.ClientID != c.ID:
		return fmt.Errorf("client_id %q is another client's", j.claims.ClientID)
	case !s.firstSight("assertion " + j.claims.ID):
		return errors.New("jti is missing or was used before")
	}
	return nil
}

// IDToken returns an ID token by which the server, as an identity provider, says
// that a user has logged in at a client.
func (s *Server) IDToken(clientID, user string) string {
	return s.signed("JWT", jwtClaims{Issuer: s.Issuer, Subject: user, Audience: audience{clientID}})
}

// signed returns a JWT of the server.
func (s *Server) signed(kind string, claims jwtClaims) string {
	now := time.Now()
	claims.Issued = float64(now.Unix())
	claims.Expires = float64(now.Add(assertionsLifetime).Unix())
	claims.ID = rand.Text()
	text, err := sign(s.key, kind, claims)
	if err != nil {
		return "" // strings and numbers always encode, and the key is good
	}
	s.keep(text)
	return text
}

// exchangeToken makes an ID-JAG of an ID token, as the identity provider (RFC
// 8693).
func (s *Server) exchangeToken(c *client, form url.Values) (map[string]any, error) {
	if form.Get("requested_token_type") != tokenTypeIDJAG || form.Get("subject_token_type") != tokenTypeID {
		return nil, refusef("invalid_request", "want an ID-JAG for an ID token")
	}
	for _, name := range []string{"audience", "resource"} {
		if form.Get(name) == "" {
			return nil, refusef("invalid_request", "%s is missing", name)
		}
	}
	j, err := parseJWT(form.Get("subject_token"))
	if err == nil {
		err = j.check(&s.key.PublicKey)
	}
	if err != nil {
		return nil, refusef("invalid_grant", "subject_token: %v", err)
	}
	if j.claims.Issuer != s.Issuer || !slices.Contains(j.claims.Audience, c.ID) {
		return nil, refusef("invalid_grant", "the subject_token is no ID token for the client")
	}
	answer := map[string]any{
		"access_token": s.signed(jwtTypeIDJAG, jwtClaims{
			Subject:  j.claims.Subject,
			Issuer:   s.Issuer,
			Audience: audience{form.Get("audience")},
			ClientID: c.ID,
			Resource: form.Get("resource"),
			Scope:    form.Get("scope"),
		}),
		"issued_token_type": tokenTypeIDJAG,
		"token_type":        "N_A",
		"expires_in":        int(assertionsLifetime.Seconds()),
	}
	if scope := form.Get("scope"); scope != "" {
		answer["scope"] = scope
	}
	return answer, nil
}
