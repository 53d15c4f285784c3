package auth

import (
	"cmp"
	"net/url"
	"slices"
)

// An authorityEndpoint is an endpoint of an Authority, with the name of its field.
type authorityEndpoint struct{ field, url string }

func (a *Authority) endpoints() []authorityEndpoint {
	return []authorityEndpoint{
		{"AuthorizationEndpoint", a.AuthorizationEndpoint}, {"TokenEndpoint", a.TokenEndpoint},
		{"RegistrationEndpoint", a.RegistrationEndpoint}, {"RevocationEndpoint", a.RevocationEndpoint},
		{"DeviceEndpoint", a.DeviceEndpoint},
	}
}

func (a *Authority) clone() *Authority {
	if a == nil {
		return nil
	}
	own := *a
	own.ResourceScopes, own.Scopes = slices.Clone(a.ResourceScopes), slices.Clone(a.Scopes)
	own.GrantTypes, own.AuthMethods = slices.Clone(a.GrantTypes), slices.Clone(a.AuthMethods)
	own.DPoPAlgorithms = slices.Clone(a.DPoPAlgorithms)
	return &own
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
		if e.url != "" {
			k.address("Authority."+e.field, e.url)
		}
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
