package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// The ways in which a client authenticates itself at a token endpoint (RFC 7591,
// section 2).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// authenticate adds to a request what tells the authorization server who the
// client is. The client has all that it needs for that; see whole. The errors are
// [*ConfigError].
func (f *Flow) authenticate(form url.Values, header http.Header, a *Authority, c *Client) error {
	if c.ID == "" { // a workload, which has none
		return nil
	}
	server, key := f.config.Server, f.signingKey(c)
	switch method := authMethod(a, c, key); method {
	case authNone:
		form.Set("client_id", c.ID)
	case authBasic, authPost:
		if c.Secret == "" {
			return &ConfigError{server, "Client.Secret", "is empty, and the client authenticates itself by " + method}
		}
		if method == authPost {
			form.Set("client_id", c.ID)
			form.Set("client_secret", c.Secret.Reveal())
			break
		}
		// Both parts are encoded as in a form first (RFC 6749, section 2.3.1).
		pair := url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret.Reveal())
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case authKey:
		if key == nil {
			return &ConfigError{server, "SigningKey", "is missing, and the client authenticates itself by " + method}
		}
		assertion, err := key.assertion(c.ID, a.Issuer, time.Now())
		if err != nil {
			return &ConfigError{server, "SigningKey", "cannot sign: " + err.Error()}
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion.Reveal())
	default:
		return &ConfigError{server, "Client.AuthMethod", fmt.Sprintf("is %q; it can be %s, %s, %s or %s", method, authNone, authBasic, authPost, authKey)}
	}
	return nil
}

// signingKey returns what a client of the Config signs with; nil for nothing.
func (f *Flow) signingKey(c *Client) *SigningKey {
	if e := f.config.Enterprise; e != nil && c == &e.Client {
		return e.SigningKey
	}
	return f.config.SigningKey
}

// authMethod returns how a client authenticates itself: as it says, else by the
// first method that it is able to and the authorization server names. A client
// with a secret or a key never goes without, unless nothing else is taken: many
// authorization servers name less than they take, and every one that gives out
// secrets takes them by client_secret_basic.
func authMethod(a *Authority, c *Client, key *SigningKey) string {
	if c.AuthMethod != "" {
		return c.AuthMethod
	}
	var able []string
	if key != nil && c.Source != Dynamic {
		able = append(able, authKey)
	}
	if c.Secret != "" {
		able = append(able, authBasic, authPost)
	}
	able = append(able, authNone)
	for _, method := range able {
		if slices.Contains(a.AuthMethods, method) {
			return method
		}
	}
	return able[0]
}

// errNoClient is why a client of the Config can no longer be used.
var errNoClient = errors.New("the configuration has no longer the client of this login: log in again")

// whole returns a client with what is not stored with it: the secret of a client
// that the Config gives stays there. Nothing is done with a client of another
// issuer.
func (f *Flow) whole(c *Client, issuer string) (*Client, error) {
	if c.Issuer != issuer {
		return nil, &IssuerMismatchError{Server: f.config.Server, What: "registered client", Want: issuer, Got: c.Issuer}
	}
	if c.Source != Preregistered || c.ID == "" && f.config.Grant == WorkloadIdentity {
		return c, nil
	}
	own := f.config.Client
	if own == nil || own.ID != c.ID || own.Issuer != c.Issuer {
		return nil, &RegistrationError{Server: f.config.Server, Issuer: issuer, Err: errNoClient}
	}
	return own, nil
}

// bare returns what may be stored of a client.
func bare(c *Client) Client {
	stored := *c
	if stored.Source == Preregistered {
		stored.Secret = ""
	}
	stored.RedirectURIs = slices.Clone(stored.RedirectURIs)
	return stored
}
