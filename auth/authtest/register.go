package authtest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// serveRegistration registers a client (RFC 7591).
func (s *Server) serveRegistration(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return &refusal{code: "invalid_request", status: http.StatusMethodNotAllowed, text: "clients are registered with POST"}
	}
	var document map[string]any
	var asked struct {
		RedirectURIs    []string        `json:"redirect_uris"`
		AuthMethod      string          `json:"token_endpoint_auth_method"`
		GrantTypes      []string        `json:"grant_types"`
		ApplicationType string          `json:"application_type"`
		JWKS            json.RawMessage `json:"jwks"`
	}
	body, err := readBody(w, r)
	if err == nil {
		err = json.Unmarshal(body, &document)
	}
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil {
		return refusef("invalid_client_metadata", "%v", err)
	}
	for _, uri := range asked.RedirectURIs {
		u, err := url.Parse(uri)
		if err != nil || !u.IsAbs() || u.Fragment != "" {
			return refusef("invalid_redirect_uri", "%q: want an absolute address without a fragment", uri)
		}
	}
	c := &client{dynamic: true, Client: Client{
		AuthMethod:   asked.AuthMethod,
		RedirectURIs: asked.RedirectURIs,
		GrantTypes:   asked.GrantTypes,
	}}
	if c.GrantTypes == nil {
		c.GrantTypes = []string{grantCode}
	}
	if slices.Contains(c.GrantTypes, grantCode) && len(asked.RedirectURIs) == 0 {
		return refusef("invalid_redirect_uri", "redirect_uris is missing")
	}
	if c.AuthMethod == "" {
		c.AuthMethod = authBasic // RFC 7591, section 2
	}
	if s.options.ClientAuth != "" {
		c.AuthMethod = s.options.ClientAuth
	}
	switch c.AuthMethod {
	case authNone:
	case authBasic, authPost:
		c.Secret = "secret-" + rand.Text()
		if s.options.SecretLifetime != 0 {
			c.expires = time.Now().Add(s.options.SecretLifetime)
		}
	case authJWT:
		if c.Keys, err = parseJWKS(asked.JWKS); err != nil {
			return refusef("invalid_client_metadata", "jwks: %v", err)
		}
	default:
		return refusef("invalid_client_metadata", "token_endpoint_auth_method %q is not supported", c.AuthMethod)
	}
	s.records.keep(c.Secret)
	s.mu.Lock()
	s.serial++
	c.ID = fmt.Sprintf("client-%d-%s", s.serial, rand.Text()[:8])
	s.clients[c.ID] = c
	s.mu.Unlock()

	document["client_id"] = c.ID
	document["client_id_issued_at"] = time.Now().Unix()
	document["token_endpoint_auth_method"] = c.AuthMethod
	document["grant_types"] = c.GrantTypes
	if c.Secret != "" {
		document["client_secret"] = c.Secret
		document["client_secret_expires_at"] = 0
		if !c.expires.IsZero() {
			document["client_secret_expires_at"] = c.expires.Unix()
		}
	}
	writeJSON(w, http.StatusCreated, document)
	return nil
}
