package auth

import (
	"cmp"
	"net/url"
)

// An Authority is what discovery has found out about a server: the resource that
// it is, and one authorization server that it trusts. It holds no secrets.
type Authority struct {
	// Resource is the server's identifier, for the resource parameter.
	Resource string `json:"resource"`
	// ResourceScopes are the scopes that the resource names for basic use.
	ResourceScopes []string `json:"resource_scopes,omitempty"`
	// DPoPRequired says that the resource takes only tokens bound to a key.
	DPoPRequired bool `json:"dpop_required,omitempty"`
	// HasMetadata says that the resource has protected resource metadata.
	// It is false after the fallback to revision 2025-03-26.
	HasMetadata bool `json:"has_metadata,omitempty"`

	// Issuer identifies the authorization server.
	Issuer string `json:"issuer"`
	// AuthorizationEndpoint is where the user logs in; empty if nowhere.
	AuthorizationEndpoint string `json:"authorization_endpoint,omitempty"`
	// TokenEndpoint issues tokens.
	TokenEndpoint string `json:"token_endpoint"`
	// RegistrationEndpoint registers clients; empty if there is none.
	RegistrationEndpoint string `json:"registration_endpoint,omitempty"`
	// RevocationEndpoint revokes tokens; empty if there is none.
	RevocationEndpoint string `json:"revocation_endpoint,omitempty"`
	// DeviceEndpoint begins logins by device code; empty if there is none.
	DeviceEndpoint string `json:"device_authorization_endpoint,omitempty"`
	// Scopes are those that the authorization server says it supports.
	Scopes []string `json:"scopes,omitempty"`
	// AuthMethods are how clients can authenticate themselves at TokenEndpoint;
	// empty if it does not say.
	AuthMethods []string `json:"auth_methods,omitempty"`
	// PKCE says that it supports PKCE with S256.
	PKCE bool `json:"pkce,omitempty"`
	// NamesIssuer says that its responses name their issuer (RFC 9207).
	NamesIssuer bool `json:"names_issuer,omitempty"`
	// MetadataDocuments says that it takes Client ID Metadata Documents.
	MetadataDocuments bool `json:"metadata_documents,omitempty"`
	// DPoPAlgorithms are the algorithms it takes for DPoP; empty if it does not
	// support DPoP.
	DPoPAlgorithms []string `json:"dpop_algorithms,omitempty"`

	// guessed is set if nothing speaks for it: what there was at each place that was looked at.
	guessed placesError
}

// An endpoint is one of an authorization server: the field of Authority that holds it, and
// the member of its metadata.
type endpoint struct {
	field, member string
	url           *string
}

func (a *Authority) endpoints() []endpoint {
	return []endpoint{
		{"AuthorizationEndpoint", "authorization_endpoint", &a.AuthorizationEndpoint},
		{"TokenEndpoint", "token_endpoint", &a.TokenEndpoint},
		{"RegistrationEndpoint", "registration_endpoint", &a.RegistrationEndpoint},
		{"RevocationEndpoint", "revocation_endpoint", &a.RevocationEndpoint},
		{"DeviceEndpoint", "device_authorization_endpoint", &a.DeviceEndpoint},
	}
}

// completeAuthority sets what Authority and the rest of the Config say of each other.
func (c *Config) completeAuthority(server *url.URL) {
	a := c.Authority
	if a == nil {
		return
	}
	a.PKCE, a.HasMetadata = true, false
	if a.Resource == "" && server != nil {
		a.Resource = canonicalResource(server)
	}
	if a.Issuer = cmp.Or(a.Issuer, c.Issuer); a.Issuer == "" && c.Client != nil {
		a.Issuer = c.Client.Issuer
	}
	if u, err := url.Parse(a.TokenEndpoint); a.Issuer == "" && err == nil && u.Host != "" {
		a.Issuer = resourceOrigin(u)
	}
	c.Issuer = cmp.Or(c.Issuer, a.Issuer)
	if c.Client != nil && c.Client.Issuer == "" {
		c.Client.Issuer = a.Issuer
	}
}

// authority checks an authority that takes the place of discovery.
func (k *configCheck) authority(a *Authority) {
	if a.TokenEndpoint == "" {
		k.fail("Authority.TokenEndpoint", "is empty: name it, or leave Authority to discovery")
	}
	k.issuer("Authority.Issuer", a.Issuer)
	for _, e := range a.endpoints() {
		k.address("Authority."+e.field, *e.url)
	}
	if a.AuthorizationEndpoint != "" {
		flow := &Flow{config: *k.config}
		if _, err := flow.browserURL("Authority.AuthorizationEndpoint", a.AuthorizationEndpoint); err != nil {
			k.fail("Authority.AuthorizationEndpoint", "cannot be shown to a browser: %v", err)
		}
	}
	switch {
	case k.config.Issuer != a.Issuer:
		k.fail("Authority.Issuer", "is not Issuer")
	case k.config.Grant == AuthorizationCode && a.AuthorizationEndpoint == "":
		k.fail("Authority.AuthorizationEndpoint", "is empty: name where users log in")
	case k.config.Grant == DeviceCode && a.DeviceEndpoint == "":
		k.fail("Authority.DeviceEndpoint", "is empty, but Grant is DeviceCode")
	}
}
