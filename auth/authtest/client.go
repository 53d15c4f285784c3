package authtest

import (
	"cmp"
	"context"
	"crypto"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The ways in which clients authenticate themselves.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// A Client is one that is registered by hand.
type Client struct {
	// ID is its client_id.
	ID string
	// Secret is its secret. It may be empty.
	Secret string
	// AuthMethod is the only way in which it may authenticate itself: none,
	// client_secret_basic, client_secret_post or private_key_jwt. Default: none
	// if there are neither Secret nor Keys; private_key_jwt if there are Keys;
	// client_secret_basic otherwise.
	AuthMethod string
	// Keys are the public keys of private_key_jwt.
	Keys []crypto.PublicKey
	// RedirectURIs are those that it may use.
	RedirectURIs []string
}

// A client is one that the server knows, however it came to that.
type client struct {
	Client
	grants  []string // that it may use; nil for any
	dynamic bool
	expires time.Time // of the secret; zero for never
}

func (s *Server) add(c Client) error {
	switch {
	case c.AuthMethod != "":
	case c.Keys != nil:
		c.AuthMethod = authJWT
	case c.Secret != "":
		c.AuthMethod = authBasic
	default:
		c.AuthMethod = authNone
	}
	if c.ID == "" || s.clients[c.ID] != nil {
		return fmt.Errorf("authtest: Options.Clients: each has an ID of its own; %q is none", c.ID)
	}
	s.clients[c.ID] = &client{Client: c}
	s.keep(c.Secret)
	return nil
}

// Purge forgets all clients that have registered themselves. Their logins can
// then be neither completed nor refreshed: the answer is invalid_client.
func (s *Server) Purge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.clients {
		if c.dynamic {
			delete(s.clients, id)
		}
	}
}

// client returns the client with an id.
func (s *Server) client(ctx context.Context, id string) (*client, error) {
	s.mu.Lock()
	c := s.clients[id]
	s.mu.Unlock()
	switch {
	case c != nil:
		return c, nil
	case s.options.Documents != nil && strings.Contains(id, "://"):
		return s.document(ctx, id)
	}
	return nil, refusef("invalid_client", "client_id %q is not known", id)
}

// document returns the client that a Client ID Metadata Document describes.
func (s *Server) document(ctx context.Context, id string) (*client, error) {
	u, err := url.Parse(id)
	if err != nil || u.Scheme != "https" || u.Path == "" || u.Path == "/" || u.Fragment != "" || u.User != nil {
		return nil, refusef("invalid_client", "client_id %q: want https, a path, and neither fragment nor user", id)
	}
	data, err := s.options.Documents(ctx, id)
	if err != nil {
		return nil, refusef("invalid_client", "client_id %q: %v", id, err)
	}
	var d struct {
		ID   string `json:"client_id"`
		Name string `json:"client_name"`
		clientMetadata
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, refusef("invalid_client", "client_id %q: %v", id, err)
	}
	d.AuthMethod = cmp.Or(d.AuthMethod, authNone)
	switch {
	case d.ID != id || d.Name == "" || len(d.RedirectURIs) == 0:
		return nil, refusef("invalid_client", "client_id %q: the document needs that client_id, client_name and redirect_uris", id)
	case d.AuthMethod != authNone && d.AuthMethod != authJWT:
		return nil, refusef("invalid_client", "client_id %q: such a client cannot have a secret", id)
	}
	c, err := d.client()
	if err != nil {
		return nil, refusef("invalid_client", "client_id %q: %v", id, err)
	}
	c.ID = id
	return c, nil
}

// clientMetadata are what clients say of themselves (RFC 7591, section 2).
type clientMetadata struct {
	RedirectURIs []string        `json:"redirect_uris"`
	AuthMethod   string          `json:"token_endpoint_auth_method"`
	GrantTypes   []string        `json:"grant_types"`
	JWKS         json.RawMessage `json:"jwks"`
}

// client returns a client, which has no ID yet.
func (m *clientMetadata) client() (*client, error) {
	c := &client{grants: m.GrantTypes, Client: Client{AuthMethod: m.AuthMethod, RedirectURIs: m.RedirectURIs}}
	var err error
	if m.AuthMethod == authJWT {
		if c.Keys, err = parseJWKS(m.JWKS); err != nil {
			return nil, fmt.Errorf("jwks: %w", err)
		}
	}
	return c, nil
}

// authenticate returns the client that makes a request with a form.
func (s *Server) authenticate(r *http.Request, form url.Values) (*client, error) {
	id, secret, basic := r.BasicAuth()
	method := authBasic
	ways := 0
	for _, used := range []bool{basic, form.Has("client_assertion"), form.Has("client_secret")} {
		if used {
			ways++
		}
	}
	switch other := form.Get("client_id"); {
	case ways > 1:
		return nil, refusef("invalid_client", "two ways of client authentication")
	case form.Has("client_assertion"):
		return s.authenticateJWT(r.Context(), form)
	case form.Has("client_secret"):
		id, secret, method = other, form.Get("client_secret"), authPost
	case !basic:
		id, method = other, authNone
	default:
		var err1, err2 error
		id, err1 = url.QueryUnescape(id)
		secret, err2 = url.QueryUnescape(secret)
		if err1 != nil || err2 != nil || other != "" && other != id {
			return nil, refusef("invalid_client", "two ids of clients, or an id and a secret of client_secret_basic that are not form-encoded")
		}
	}
	s.keep(secret)
	c, err := s.client(r.Context(), id)
	if err != nil {
		return nil, err
	}
	switch {
	case c.AuthMethod != method:
		return nil, refusef("invalid_client", "the client authenticates itself by %s, not by %s", c.AuthMethod, method)
	case subtle.ConstantTimeCompare([]byte(c.Secret), []byte(secret)) != 1:
		return nil, refusef("invalid_client", "the secret is wrong")
	case !c.expires.IsZero() && time.Now().After(c.expires):
		return nil, refusef("invalid_client", "the secret has expired")
	}
	return c, nil
}

func (c *client) mayUse(grantType string) error {
	if c.grants != nil && !slices.Contains(c.grants, grantType) {
		return refusef("unauthorized_client", "the client may not use %s", grantType)
	}
	return nil
}
