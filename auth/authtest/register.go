package authtest

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	asked := clientMetadata{AuthMethod: authBasic} // RFC 7591, section 2
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, json.Unmarshal(body, &document), json.Unmarshal(body, &asked)); err != nil {
		return refusef("invalid_client_metadata", "%v", err)
	}
	for _, uri := range asked.RedirectURIs {
		u, err := url.Parse(uri)
		if err != nil || !u.IsAbs() || u.Fragment != "" {
			return refusef("invalid_redirect_uri", "%q: want an absolute address without a fragment", uri)
		}
	}
	asked.AuthMethod = cmp.Or(s.options.ClientAuth, asked.AuthMethod)
	if asked.GrantTypes == nil {
		asked.GrantTypes = []string{grantCode}
	}
	if slices.Contains(asked.GrantTypes, grantCode) && len(asked.RedirectURIs) == 0 {
		return refusef("invalid_redirect_uri", "redirect_uris is missing")
	}
	c, err := asked.client()
	if err != nil {
		return refusef("invalid_client_metadata", "%v", err)
	}
	c.dynamic = true
	switch c.AuthMethod {
	case authNone, authJWT:
	case authBasic, authPost:
		c.Secret = "secret-" + rand.Text()
		if s.options.SecretLifetime != 0 {
			c.expires = time.Now().Add(s.options.SecretLifetime)
		}
	default:
		return refusef("invalid_client_metadata", "token_endpoint_auth_method %q is not supported", c.AuthMethod)
	}
	s.keep(c.Secret)
	s.mu.Lock()
	s.serial++
	c.ID = fmt.Sprintf("client-%d-%s", s.serial, rand.Text()[:8])
	s.clients[c.ID] = c
	s.mu.Unlock()

	document["client_id"] = c.ID
	document["client_id_issued_at"] = time.Now().Unix()
	document["token_endpoint_auth_method"] = c.AuthMethod
	document["grant_types"] = c.grants
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
