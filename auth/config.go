package auth

import (
	"cmp"
	"context"
	"crypto"
	"crypto/tls"
	"net/http"
	"net/netip"
	"net/url"
)

// A GrantType is the way in which a client comes to its first token.
type GrantType int

const (
	// AuthorizationCode: the user logs in with a browser that comes back to a
	// redirect URI (RFC 6749, section 4.1, with PKCE). The default.
	AuthorizationCode GrantType = iota
	// DeviceCode: the user logs in with a browser anywhere, by a short code
	// (RFC 8628).
	DeviceCode
	// ClientCredentials: the program logs in as itself (RFC 6749, section 4.4).
	// It needs Config.Client, with a secret or Config.SigningKey.
	ClientCredentials
	// EnterpriseManaged: the user's login at the identity provider of their
	// organisation is exchanged for a token of the server (ID-JAG). It needs
	// Config.Enterprise.
	EnterpriseManaged
	// WorkloadIdentity: the platform that runs the program vouches for it by a
	// JWT (RFC 7523, section 2.1). It needs Config.Assertion.
	WorkloadIdentity
)

func (g GrantType) String() string {
	return cmp.Or(map[GrantType]string{
		AuthorizationCode: "authorization code", DeviceCode: "device code", ClientCredentials: "client credentials",
		EnterpriseManaged: "enterprise-managed authorization", WorkloadIdentity: "workload identity",
	}[g], "unknown grant type")
}

// Interactive reports whether a human takes part.
func (g GrantType) Interactive() bool { return g == AuthorizationCode || g == DeviceCode }

// A Registration says how authorization servers know the program, and where they send its users back.
type Registration struct {
	// ClientMetadataURL is the address of a Client ID Metadata Document of the
	// program, https and with a path. It is used where the authorization server
	// supports that and there is no Client.
	ClientMetadataURL string
	// ClientName is what dynamic registration calls the program. Default: "MCP
	// client".
	ClientName string
	// RedirectURL is where the browser of a user comes back to on their own machine, in the
	// place of what a [Prompt] or the program chooses. Without a port it stands for any port.
	RedirectURL string
}

// A Config says how to log in at one MCP server. Only URL is required.
type Config struct {
	// Server is what errors call the server, usually the name under which it is
	// configured. Default: the host of URL.
	Server string
	// URL is the server's MCP endpoint: https, or http on a loopback address.
	URL string
	// Grant is the way to come to a token.
	Grant GrantType

	// Client is a client that was registered by hand. Its Issuer is required if it has
	// a secret, or SigningKey is set: that is sent to no other authorization server.
	Client *Client
	// SigningKey authenticates Client, or the client of ClientMetadataURL, by
	// private_key_jwt.
	SigningKey *SigningKey

	Registration

	// Scopes are asked for instead of those that the server proposes.
	Scopes []string
	// Issuer is the authorization server to use. Default: that of Client, or else
	// the first that the server names and that works. Its metadata has to say
	// exactly the same; the server may write it with or without a slash at its
	// end.
	Issuer string
	// Authority, if set, is the authorization server, in the place of discovery: for
	// servers that publish no metadata. It needs TokenEndpoint and what the grant type
	// begins at. Its Issuer is by default Issuer, that of Client, or else the origin of
	// TokenEndpoint; Client and Issuer are its own if they name none. Its Resource is by
	// default URL. That it supports PKCE with S256 is assumed, so it also serves those that
	// do and do not say so in their metadata. Nothing
	// is looked up: an authority that needs more than this is not reached.
	Authority *Authority
	// NoResource leaves out the resource parameter (RFC 8707), for identity
	// providers that refuse requests that have it.
	NoResource bool
	// LoginParams are added to the address where users log in, with grant type
	// AuthorizationCode, for what authorization servers want besides what is
	// specified: access_type=offline has Google issue refresh tokens, and
	// audience tells some what the token is for. Parameters that are set
	// otherwise are refused. Where the scope offline_access is asked for,
	// prompt=consent is added unless Client is set or a prompt stands here: some
	// authorization servers issue no refresh tokens otherwise. With Client it was perhaps
	// an administrator who has given consent, and users cannot.
	LoginParams url.Values
	// DPoP binds tokens to a key of the session (RFC 9449). Without it that is
	// done only where the server requires it.
	DPoP bool

	// Enterprise is where EnterpriseManaged begins.
	Enterprise *Enterprise
	// Assertion returns the JWT of WorkloadIdentity for the authorization server
	// with the given issuer and token endpoint. It is asked for each token, and
	// has to end with its context. One of the two is the JWT's audience: the MCP
	// extension says the token endpoint, many authorization servers the issuer.
	// Set Issuer, unless the JWT is of no use to another authorization server:
	// the MCP server names them.
	Assertion func(ctx context.Context, issuer, tokenEndpoint string) (Secret, error)

	// Network says which addresses may be spoken to.
	Network Network

	// Names are what errors call fields of the Config, such as "Client.Issuer", where the user has
	// written them in another form. Default: the fields' own names.
	Names map[string]string
}

// A Network says which addresses a login may speak to besides https addresses on
// public networks. The host of Config.URL is always allowed, and so are the hosts
// of the issuers and endpoints that a Config names; a name among them may lead
// into private networks, but not to link-local addresses or those where clouds
// give credentials to their machines. If one of these hosts is localhost, 127.0.0.1 or
// ::1, these three are allowed, and http there; if one is another loopback address, that
// one is. Metadata that names yet another one needs Allow.
type Network struct {
	// Allow are private networks, or networks of this machine such as 127.0.0.0/8, whose
	// addresses may be spoken to.
	Allow []netip.Prefix
	// AllowHTTP allows http, without TLS, for all that may be spoken to. Tokens
	// then travel readable.
	AllowHTTP bool
	// TLS replaces the TLS configuration, for private certificate authorities. A
	// client certificate in it is shown to every host that asks for one, also to
	// those that the server names.
	TLS *tls.Config
	// Proxy replaces [http.ProxyFromEnvironment]. A proxy resolves names by
	// itself: behind one, only addresses in URLs can be checked.
	Proxy func(*http.Request) (*url.URL, error)
}

// A SigningKey signs JWTs by which a client authenticates itself
// (private_key_jwt, RFC 7523).
type SigningKey struct {
	// Signer holds the key: RSA of 2048 bits or more (signs by RS256), ECDSA (P-256,
	// P-384, P-521: ES256, ES384, ES512) or Ed25519 (EdDSA). See [ParsePrivateKey]. It
	// must be safe for concurrent use; no context interrupts it.
	Signer crypto.Signer
	// ID is the key's id in the client's JWKS. It may be empty.
	ID string
	// Audience is the audience of the JWTs. Default: the issuer of the
	// authorization server. Some take only the address of their token endpoint.
	Audience string
}

// An Enterprise is the identity provider of the user's organisation, for
// enterprise-managed authorization.
type Enterprise struct {
	// Issuer is the identity provider. Its token endpoint is looked up, unless
	// TokenEndpoint says where it is.
	Issuer string
	// TokenEndpoint is the identity provider's token endpoint.
	TokenEndpoint string
	// Client is the program as it is registered with the identity provider.
	Client Client
	// SigningKey authenticates Client by private_key_jwt. It may be the same
	// as Config.SigningKey.
	SigningKey *SigningKey
	// SubjectToken returns the ID token that the user got from the identity provider when
	// they logged in there. It is asked for each token, and has to end with its context.
	SubjectToken func(context.Context) (Secret, error)
}
