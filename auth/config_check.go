package auth

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// New checks a Config, copies it and returns its Flow. The errors are
// [*ConfigError].
func New(c *Config) (*Flow, error) {
	if c == nil {
		return nil, &ConfigError{Field: "Config", Problem: "is nil"}
	}
	own := c.clone()
	own.URL, _, _ = strings.Cut(own.URL, "#") // a fragment is never sent
	u, err := url.Parse(own.URL)
	if own.Server == "" && err == nil {
		own.Server = u.Host
	}
	own.completeAuthority(u)
	own.ClientName = cmp.Or(own.ClientName, "MCP client")
	guard := guardhttp.New(guardhttp.Options{
		Trusted:   own.hosts(),
		Networks:  own.Network.Allow,
		AllowHTTP: own.Network.AllowHTTP,
		TLS:       own.Network.TLS,
		Proxy:     own.Network.Proxy,
	})
	check := &configCheck{config: own, guard: guard}
	check.all()
	if check.err != nil {
		return nil, check.err
	}
	if own.Issuer == "" && own.Client != nil {
		own.Issuer = own.Client.Issuer // it is known nowhere else
	}
	return &Flow{config: *own, http: guard}, nil
}

// clone returns a copy that shares nothing with c that can be written, but for the lists of
// its Authority.
func (c *Config) clone() *Config {
	own := *c
	own.Client, own.SigningKey, own.Authority = copyOf(c.Client), copyOf(c.SigningKey), copyOf(c.Authority)
	if own.Enterprise = copyOf(c.Enterprise); own.Enterprise != nil {
		own.Enterprise.SigningKey = copyOf(own.Enterprise.SigningKey)
	}
	if own.Client != nil {
		own.Client.RedirectURIs = slices.Clone(c.Client.RedirectURIs)
	}
	own.Scopes, own.Network.Allow = slices.Clone(c.Scopes), slices.Clone(c.Network.Allow)
	own.LoginParams, own.Names = url.Values(http.Header(c.LoginParams).Clone()), maps.Clone(c.Names)
	if c.Network.TLS != nil {
		own.Network.TLS = c.Network.TLS.Clone()
	}
	return &own
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// hosts returns the hosts that the Config itself names, which may be on private
// networks.
func (c *Config) hosts() []string {
	named := []string{c.URL, c.Issuer}
	if c.Client != nil {
		named = append(named, c.Client.Issuer)
	}
	if c.Enterprise != nil {
		named = append(named, c.Enterprise.Issuer, c.Enterprise.TokenEndpoint, c.Enterprise.Client.Issuer)
	}
	if a := c.Authority; a != nil {
		named = append(named, a.Issuer)
		for _, e := range a.endpoints() {
			named = append(named, *e.url)
		}
	}
	var hosts []string
	for _, raw := range named {
		if u, err := url.Parse(raw); err == nil && u.Host != "" {
			hosts = append(hosts, u.Hostname())
		}
	}
	return hosts
}

// A configCheck checks a Config and keeps the first problem.
type configCheck struct {
	config *Config
	guard  *guardhttp.Client
	err    error
}

func (k *configCheck) fail(field, format string, a ...any) {
	if k.err == nil {
		k.err = &ConfigError{Server: k.config.Server, Field: field, Problem: fmt.Sprintf(format, a...), name: k.config.Names[field]}
	}
}

func (k *configCheck) all() {
	c := k.config
	if c.URL == "" {
		k.fail("URL", "is empty: give the server's MCP endpoint")
	}
	k.address("URL", c.URL)
	for i, p := range c.Network.Allow {
		if !p.IsValid() || p.Addr().Is4In6() {
			k.fail(fmt.Sprintf("Network.Allow[%d]", i), "is no network")
		}
	}
	k.issuer("Issuer", c.Issuer)
	if c.Authority != nil {
		k.authority(c.Authority)
	}
	for _, s := range c.Scopes {
		if !validScope(s) {
			k.fail("Scopes", "has %q, which is not one scope", s)
		}
	}
	k.loginParams()
	k.signingKey("SigningKey", c.SigningKey)
	if c.Client != nil {
		k.client("Client", c.Client, c.SigningKey)
		if secret := c.Client.Secret != "" || c.SigningKey != nil; c.Client.Issuer == "" && secret {
			k.fail("Client.Issuer", "is empty: name the authorization server that has registered the client, so that its credentials go to no other")
		} else if c.Issuer != "" && c.Client.Issuer != "" && c.Issuer != c.Client.Issuer {
			k.fail("Client.Issuer", "is not Issuer: the client is unknown there")
		}
	}
	if c.ClientMetadataURL != "" {
		k.metadataURL()
	}
	k.grant()
}

// address checks an address that requests go to.
func (k *configCheck) address(field, raw string) {
	if _, err := k.guard.Check(raw); err != nil && raw != "" {
		k.fail(field, "%s", problemOf(err))
	}
}

// issuer checks an issuer identifier (RFC 8414, section 2).
func (k *configCheck) issuer(field, raw string) {
	k.address(field, raw)
	if strings.Contains(raw, "?") {
		k.fail(field, "has a query, which no issuer has")
	}
}

// loginParams checks that parameters of logins are none that say who logs in where,
// and how the answer comes back.
func (k *configCheck) loginParams() {
	for _, name := range slices.Sorted(maps.Keys(k.config.LoginParams)) {
		switch name {
		case "":
			k.fail("LoginParams", "has a parameter without a name")
		case "response_type", "response_mode", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method",
			"scope", "resource", "dpop_jkt", "request", "request_uri":
			k.fail("LoginParams", "has %q, which is set otherwise", name)
		}
	}
	if len(k.config.LoginParams) > 0 && k.config.Grant != AuthorizationCode {
		k.fail("LoginParams", "is set, but Grant is not AuthorizationCode")
	}
}

// client checks a client. key is what it can sign with; nil for nothing.
func (k *configCheck) client(field string, c *Client, key *SigningKey) {
	if c.ID == "" {
		k.fail(field+".ID", "is empty: give the client_id")
	}
	k.issuer(field+".Issuer", c.Issuer)
	switch c.AuthMethod {
	case "", "none":
	case "client_secret_basic", "client_secret_post":
		if c.Secret == "" {
			k.fail(field+".Secret", "is empty, but AuthMethod is %s", c.AuthMethod)
		}
	case "private_key_jwt":
		if key == nil {
			k.fail(strings.TrimSuffix(field, "Client")+"SigningKey", "is nil, but %s.AuthMethod is private_key_jwt", field)
		}
	default:
		k.fail(field+".AuthMethod", "is %q: it must be none, client_secret_basic, client_secret_post, private_key_jwt or empty", c.AuthMethod)
	}
}

// metadataURL checks the address of the program's metadata document (Client ID
// Metadata Documents, section 3).
func (k *configCheck) metadataURL() {
	const field = "ClientMetadataURL"
	raw := k.config.ClientMetadataURL
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil:
		k.fail(field, "is not an https address without a user name")
	case u.Path == "" || u.Path == "/":
		k.fail(field, "has no path")
	case strings.Contains(raw, "#"):
		k.fail(field, "has a fragment")
	case slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }):
		k.fail(field, "has . or .. in its path")
	}
}

func (k *configCheck) signingKey(field string, key *SigningKey) {
	if key == nil {
		return
	}
	if err := key.check(); err != nil {
		k.fail(field, "cannot be used: %v", err)
	}
}

// grant checks what the grant type needs, and what only another one uses.
func (k *configCheck) grant() {
	switch c := k.config; {
	case c.Grant < AuthorizationCode || c.Grant > WorkloadIdentity:
		k.fail("Grant", "is no grant type")
	case c.Grant == ClientCredentials && c.Client == nil:
		k.fail("Client", "is nil, but Grant is ClientCredentials")
	case c.Grant == ClientCredentials && c.Client.Secret == "" && c.SigningKey == nil:
		k.fail("Client.Secret", "is empty and SigningKey is nil, but Grant is ClientCredentials")
	case c.Enterprise != nil && c.Grant != EnterpriseManaged:
		k.fail("Enterprise", "is set, but Grant is not EnterpriseManaged")
	case c.Assertion != nil && c.Grant != WorkloadIdentity:
		k.fail("Assertion", "is set, but Grant is not WorkloadIdentity")
	case c.Assertion == nil && c.Grant == WorkloadIdentity:
		k.fail("Assertion", "is nil, but Grant is WorkloadIdentity")
	case c.Grant == EnterpriseManaged:
		k.enterprise()
	}
}

func (k *configCheck) enterprise() {
	e := k.config.Enterprise
	if e == nil {
		k.fail("Enterprise", "is nil, but Grant is EnterpriseManaged")
		return
	}
	if e.Issuer == "" && e.TokenEndpoint == "" {
		k.fail("Enterprise.Issuer", "is empty: name the identity provider")
	}
	k.issuer("Enterprise.Issuer", e.Issuer)
	k.address("Enterprise.TokenEndpoint", e.TokenEndpoint)
	k.signingKey("Enterprise.SigningKey", e.SigningKey)
	k.client("Enterprise.Client", &e.Client, e.SigningKey)
	if e.Client.Issuer != "" && e.Issuer != "" && e.Client.Issuer != e.Issuer {
		k.fail("Enterprise.Client.Issuer", "is not Enterprise.Issuer: the client is unknown there")
	}
	if e.SubjectToken == nil {
		k.fail("Enterprise.SubjectToken", "is nil")
	}
}
