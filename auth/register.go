package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// Register returns the client as which to speak to a: the Config's own; else its
// metadata document, where a takes such; else known, if a issued it, its secret
// has not expired, it has redirectURI and may ask for the scopes; else one that it
// registers. redirectURI is empty for logins without one. The scopes are those that the
// login will ask for: many authorization servers hold a client to those that it was
// registered for. Where they take no registration that names some, it names none.
//
// The client may be stored. One that the Config gives holds no secret: it is
// looked up in the Config where it is needed.
//
// Its errors are [*IssuerMismatchError] if the Config's client is another
// authorization server's, [*RegistrationError] if there is no client to be had,
// and those of requests. It also fails if nothing but the guess of [Flow.Discover] speaks for
// a, and that registers no clients.
func (f *Flow) Register(ctx context.Context, a *Authority, redirectURI string, scopes []string, known *Client) (*Client, error) {
	if own := f.config.Client; own != nil {
		if own.Issuer != a.Issuer && own.Issuer != "" {
			return nil, f.mismatch("registered client", a.Issuer, own.Issuer)
		}
		client := bare(own)
		client.Issuer = a.Issuer
		return &client, nil
	}
	if f.config.Grant == WorkloadIdentity {
		return &Client{Issuer: a.Issuer}, nil // the platform's JWT says who it is
	}
	if id := f.config.ClientMetadataURL; id != "" && a.MetadataDocuments {
		client := &Client{Issuer: a.Issuer, ID: id, AuthMethod: authNone, Source: MetadataDocument}
		if f.config.SigningKey != nil {
			client.AuthMethod = authKey
		}
		return client, nil
	}
	if known.serves(a, redirectURI, wallTime()) {
		if len(known.Scopes) == 0 || len(union(known.Scopes, known.registered(scopes))) == len(known.Scopes) {
			return new(bare(known)), nil
		}
		scopes = union(known.Scopes, scopes) // all who share it need no third
	}
	if a.RegistrationEndpoint == "" {
		return nil, f.noClient(a, errors.New("it registers no clients by itself"))
	}
	return f.registerNew(ctx, a, redirectURI, scopes)
}

func (f *Flow) noClient(a *Authority, err error) *RegistrationError {
	return &RegistrationError{server: f.config.Server, issuer: a.Issuer, err: err,
		cure: ": register one there by hand, and give it as " + f.name("Client")}
}

// serves reports whether a client that was registered before can be used for a
// login. One that was registered without redirect URI is for other grant types
// than one that has some.
func (c *Client) serves(a *Authority, redirectURI string, now time.Time) bool {
	switch {
	case c == nil, c.Source != Dynamic, c.ID == "", c.Issuer != a.Issuer:
		return false
	case !c.SecretExpires.IsZero() && !now.Before(c.SecretExpires):
		return false
	case redirectURI == "":
		return len(c.RedirectURIs) == 0
	}
	return slices.Contains(c.RedirectURIs, redirectURI)
}

// A registration is what a client asks to be registered as (RFC 7591, section 2).
type registration struct {
	Name            string   `json:"client_name"`
	ApplicationType string   `json:"application_type"`
	RedirectURIs    []string `json:"redirect_uris,omitempty"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types,omitempty"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	Scope           string   `json:"scope,omitempty"`
	DPoP            bool     `json:"dpop_bound_access_tokens,omitempty"`
}

// registration returns what to be registered as. Servers with OpenID Connect take
// only certain redirect URIs for each application type, and "web" for granted.
func (f *Flow) registration(a *Authority, redirectURI string) *registration {
	r := &registration{
		Name:            f.config.ClientName,
		ApplicationType: "native",
		AuthMethod:      authNone,
		DPoP:            f.config.DPoP || a.DPoPRequired,
	}
	switch f.config.Grant {
	case DeviceCode:
		r.GrantTypes = []string{grantDeviceCode, "refresh_token"}
	case EnterpriseManaged:
		r.GrantTypes = []string{grantJWTBearer}
	default:
		r.GrantTypes = []string{"authorization_code", "refresh_token"}
		r.ResponseTypes = []string{"code"}
	}
	if redirectURI != "" {
		r.RedirectURIs = []string{redirectURI}
		if u, err := url.Parse(redirectURI); err != nil || !guardhttp.Loopback(u.Hostname()) {
			r.ApplicationType = "web"
		}
	}
	// A program in the hands of its users keeps no secret from them. Many servers that list both
	// others look for the client in the form alone (python-sdk#1315).
	for _, method := range []string{authNone, authPost, authBasic} {
		if slices.Contains(a.AuthMethods, method) {
			r.AuthMethod = method
			break
		}
	}
	return r
}

// registerNew registers a client (RFC 7591).
func (f *Flow) registerNew(ctx context.Context, a *Authority, redirectURI string, scopes []string) (*Client, error) {
	wanted := f.registration(a, redirectURI)
	wanted.Scope = strings.Join(scopes, " ")
	client, err := f.registerAs(ctx, a, wanted)
	if wanted.Scope != "" && refusesScopes(err) {
		wanted.Scope = ""
		client, err = f.registerAs(ctx, a, wanted)
	}
	refused, failed := (*OAuthError)(nil), (*RequestError)(nil)
	switch {
	case a.guessed != nil && (errors.As(err, &refused) && refused.Code == "" && !refused.passes() || errors.As(err, &failed) && failed.answered):
		e := f.discoveryError(authorityStage, append(a.guessed, placeError{a.RegistrationEndpoint, err}))
		e.noOAuth = true
		return nil, e
	case errors.As(err, &refused):
		return nil, f.noClient(a, refused)
	}
	return client, err
}

// refusesScopes reports whether an authorization server may register a client that names no scopes:
// some take none in a registration (muster#1086), others only those that they know
// (mcp-remote#204, keycloak#43654).
func refusesScopes(err error) bool {
	refused := (*OAuthError)(nil)
	if !errors.As(err, &refused) || refused.Status >= 500 {
		return false
	}
	return slices.Contains([]string{"invalid_client_metadata", "invalid_scope", "insufficient_scope", "invalid_request"}, refused.Code) ||
		refused.Code == "" && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusUnprocessableEntity)
}

func (f *Flow) registerAs(ctx context.Context, a *Authority, wanted *registration) (*Client, error) {
	const request = "registration"
	body, err := json.Marshal(wanted)
	if err != nil {
		return nil, f.noClient(a, err)
	}
	res, err := f.client().PostJSON(ctx, a.RegistrationEndpoint, nil, body)
	if failed := (*guardhttp.Failure)(nil); errors.As(err, &failed) && failed.Status != 0 {
		return nil, &RequestError{server: f.config.Server, request: request, host: failed.Host, err: failed.Err, answered: true}
	}
	if err != nil {
		return nil, f.requestError(request, err)
	}
	client := &Client{Issuer: a.Issuer, RedirectURIs: wanted.RedirectURIs, Scopes: scopesOf(wanted.Scope), Source: Dynamic}
	if err := f.read(request, a.RegistrationEndpoint, res, func(r *reader) { client.read(r, a) }); err != nil {
		return nil, err
	}
	return client, nil
}

// registered returns the scopes that a client may ask for: offline_access, which this package
// adds by itself, is left out if the client was registered for other scopes alone.
func (c *Client) registered(scopes []string) []string {
	if len(c.Scopes) == 0 || slices.Contains(c.Scopes, offlineAccess) {
		return scopes
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == offlineAccess })
}

// read reads the answer to a registration (RFC 7591, section 3.2.1).
func (c *Client) read(r *reader, a *Authority) {
	c.ID, c.Secret = r.needed("client_id", " ").Reveal(), r.credential("client_secret", " ")
	if said, _ := r.members.text("scope"); said != "" && !slices.Contains(scopesOf(said), offlineAccess) {
		c.Scopes = slices.DeleteFunc(c.Scopes, func(s string) bool { return s == offlineAccess }) // see registered
	}
	switch c.AuthMethod = r.text("token_endpoint_auth_method"); c.AuthMethod {
	case "":
		c.AuthMethod = authMethod(a, c, nil)
	case authNone:
	case authBasic, authPost:
		if c.Secret == "" {
			c.AuthMethod = authNone // nothing else can be meant
		}
	default:
		r.fail(errors.New("token_endpoint_auth_method is none that was asked for"))
	}
	if c.AuthMethod == authNone {
		c.Secret = "" // of no use
	} else if at := r.seconds("client_secret_expires_at"); at > 0 { // 0 stands for never
		c.SecretExpires = time.Unix(int64(min(at, maxUnix)), 0).UTC()
	}
}

// maxUnix bounds a time, so that it can be written as JSON: the end of the year
// 9999.
const maxUnix = 253402300799

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
	key := f.signingKey(c)
	switch method := authMethod(a, c, key); method {
	case authNone:
		form.Set("client_id", c.ID)
	case authBasic, authPost:
		if c.Secret == "" {
			return f.configError("Client.Secret", "is empty, and the client authenticates itself by "+method)
		}
		if method == authPost {
			form.Set("client_id", c.ID)
			form.Set("client_secret", c.Secret.Reveal())
			break
		}
		// Both parts are encoded as in a form first (RFC 6749, section 2.3.1).
		header.Set("Authorization", "Basic "+c.pair())
	case authKey:
		if key == nil {
			return f.configError("SigningKey", "is missing, and the client authenticates itself by "+method)
		}
		assertion, err := key.assertion(c.ID, a.Issuer, time.Now())
		if err != nil {
			return f.configError("SigningKey", "cannot sign: "+err.Error())
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion.Reveal())
	default:
		return f.configError("Client.AuthMethod", fmt.Sprintf("is %q; it can be %s, %s, %s or %s", method, authNone, authBasic, authPost, authKey))
	}
	return nil
}

// pair returns the id and the secret of a client as client_secret_basic has them.
func (c *Client) pair() string {
	return base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret.Reveal())))
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
		return nil, f.mismatch("registered client", issuer, c.Issuer)
	}
	if c.Source != Preregistered || c.ID == "" && f.config.Grant == WorkloadIdentity {
		return c, nil
	}
	own := copyOf(f.config.Client)
	if own == nil || own.ID != c.ID || own.Issuer != c.Issuer && own.Issuer != "" {
		return nil, &RegistrationError{server: f.config.Server, issuer: issuer, err: errNoClient}
	}
	own.Issuer = c.Issuer
	if own.AuthMethod == "" && own.Secret != "" { // it was found out
		own.AuthMethod = c.AuthMethod
	}
	return own, nil
}

// bare returns what may be stored of a client.
func bare(c *Client) Client {
	stored := *c
	if stored.Source == Preregistered {
		stored.Secret = ""
	}
	stored.RedirectURIs, stored.Scopes = slices.Clone(stored.RedirectURIs), slices.Clone(stored.Scopes)
	return stored
}
