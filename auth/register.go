package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// Register returns the client as which to speak to a: the Config's own; else its
// metadata document, where a takes such; else known, if a issued it, its secret
// has not expired and it has redirectURI; else one that it registers. redirectURI
// is empty for logins without one.
//
// The client may be stored. One that the Config gives holds no secret: it is
// looked up in the Config where it is needed.
//
// Its errors are [*IssuerMismatchError] if the Config's client is another
// authorization server's, [*RegistrationError] if there is no client to be had,
// and those of requests.
func (f *Flow) Register(ctx context.Context, a *Authority, redirectURI string, known *Client) (*Client, error) {
	if own := f.config.Client; own != nil {
		if own.Issuer != a.Issuer {
			return nil, &IssuerMismatchError{Server: f.config.Server, What: "registered client", Want: a.Issuer, Got: own.Issuer}
		}
		client := bare(own)
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
		client := bare(known)
		return &client, nil
	}
	switch {
	case f.config.NoRegistration:
		return nil, f.noClient(a, errors.New("registering is ruled out by NoRegistration: set Client to one that was registered by hand"))
	case a.RegistrationEndpoint == "":
		return nil, f.noClient(a, errors.New("it registers no clients by itself: register one by hand and set Client"))
	}
	return f.registerNew(ctx, a, redirectURI)
}

func (f *Flow) noClient(a *Authority, err error) *RegistrationError {
	return &RegistrationError{Server: f.config.Server, Issuer: a.Issuer, Err: err}
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
	URI             string   `json:"client_uri,omitempty"`
	ApplicationType string   `json:"application_type"`
	RedirectURIs    []string `json:"redirect_uris,omitempty"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types,omitempty"`
	AuthMethod      string   `json:"token_endpoint_auth_method"`
	DPoP            bool     `json:"dpop_bound_access_tokens,omitempty"`
}

// registration returns what to be registered as. Servers with OpenID Connect take
// only certain redirect URIs for each application type, and "web" for granted.
func (f *Flow) registration(a *Authority, redirectURI string) *registration {
	r := &registration{
		Name:            f.config.ClientName,
		URI:             f.config.ClientURI,
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
	// A program in the hands of its users keeps no secret from them.
	for _, method := range []string{authNone, authBasic, authPost} {
		if slices.Contains(a.AuthMethods, method) {
			r.AuthMethod = method
			break
		}
	}
	return r
}

// registerNew registers a client (RFC 7591).
func (f *Flow) registerNew(ctx context.Context, a *Authority, redirectURI string) (*Client, error) {
	const request = "registration"
	wanted := f.registration(a, redirectURI)
	body, err := json.Marshal(wanted)
	if err != nil {
		return nil, f.noClient(a, err)
	}
	res, err := f.client().PostJSON(ctx, a.RegistrationEndpoint, nil, body)
	if err != nil {
		return nil, f.requestError(request, err)
	}
	members, err := f.success(request, hostOf(a.RegistrationEndpoint), res)
	if refused := (*OAuthError)(nil); errors.As(err, &refused) {
		return nil, f.noClient(a, refused)
	}
	if err != nil {
		return nil, err
	}
	client, err := readClient(members, a)
	if err != nil {
		return nil, f.unreadable(request, hostOf(a.RegistrationEndpoint), err)
	}
	client.RedirectURIs = wanted.RedirectURIs
	return client, nil
}

// readClient reads the answer to a registration (RFC 7591, section 3.2.1).
func readClient(members answer, a *Authority) (*Client, error) {
	id, err := members.credential("client_id", " ")
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, errors.New("client_id is missing")
	}
	secret, err := members.credential("client_secret", " ")
	if err != nil {
		return nil, err
	}
	method, err := members.text("token_endpoint_auth_method")
	if err != nil {
		return nil, err
	}
	client := &Client{Issuer: a.Issuer, ID: id, Secret: Secret(secret), AuthMethod: method, Source: Dynamic}
	switch method {
	case "":
		client.AuthMethod = authMethod(a, client, nil)
	case authNone:
	case authBasic, authPost:
		if secret == "" {
			client.AuthMethod = authNone // nothing else can be meant
		}
	default:
		return nil, errors.New("token_endpoint_auth_method is none that was asked for")
	}
	if client.AuthMethod == authNone {
		client.Secret = "" // of no use
		return client, nil
	}
	// 0 stands for never.
	at, _, err := members.seconds("client_secret_expires_at")
	if err != nil {
		return nil, err
	}
	if at > 0 {
		client.SecretExpires = time.Unix(int64(min(at, maxUnix)), 0).UTC()
	}
	return client, nil
}

// maxUnix bounds a time, so that it can be written as JSON: the end of the year
// 9999.
const maxUnix = 253402300799
