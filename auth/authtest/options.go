package authtest

import (
	"context"
	"net/http"
	"time"
)

// Options say what kind of authorization server a [Server] is. The zero value is
// one that does everything as the MCP specification wants it: metadata of RFC
// 8414, dynamic registration, PKCE, resource parameters, its name in responses,
// and refresh tokens that can be used once.
type Options struct {
	// TLS serves over https, with a certificate that Server.Client trusts.
	TLS bool
	// Path is the path of the issuer, such as "/tenant1". Default: none.
	Path string
	// Metadata may alter the metadata before it is sent. It is called for each
	// request, and must be safe for concurrent use.
	Metadata func(document map[string]any)
	// ResourceOptional takes requests without the resource parameter (RFC 8707). Their tokens
	// are good for every [Resource]. Otherwise each authorization and token request needs it.
	ResourceOptional bool
	// ResourceRefused refuses requests with it, as some identity providers do; tokens are good
	// for every [Resource].
	ResourceRefused bool

	// Clients are registered by hand.
	Clients []Client
	// Documents returns the Client ID Metadata Document at a client_id that is
	// an address. Nil means that such are not supported.
	Documents func(ctx context.Context, clientID string) ([]byte, error)
	// NoRegistration leaves out the registration endpoint.
	NoRegistration bool
	// ClientAuth is the token_endpoint_auth_method that clients are registered
	// with, whatever they ask for. Default: what they ask for.
	ClientAuth string
	// SecretLifetime is how long the secrets of registered clients last.
	// Default: forever.
	SecretLifetime time.Duration

	// Device is the least time between two polls of a login by device code (RFC 8628), in full
	// seconds. Zero means that there are none.
	Device time.Duration
	// IdP is an identity provider whose ID-JAGs are taken (enterprise-managed
	// authorization). Nil means none. Every server is one: it exchanges ID tokens of its own
	// for ID-JAGs (RFC 8693). See [Server.IDToken].
	IdP *Server
	// Assertion checks a JWT by which a platform vouches for a workload, and
	// returns the name of the workload. Nil means that none are taken. It must
	// be safe for concurrent use.
	Assertion func(assertion string) (user string, err error)
	// DPoP binds tokens to the key of the proof in their request, if it has one (RFC 9449).
	DPoP bool
	// DPoPNonce makes proofs need a nonce, those at resources, too.
	DPoPNonce bool

	// Scopes are all that there are; others are refused, and the metadata lists
	// them. Nil means any, and no list.
	Scopes []string
	// GrantScopes returns what the user grants of what was asked for. Default:
	// all of it.
	GrantScopes func(user string, asked []string) []string
	// TokenLifetime is how long access tokens last. Default: an hour. Answers
	// have it in seconds, rounded up.
	TokenLifetime time.Duration
	// KeepRefresh makes the first refresh token good forever, and answers to it bring no
	// other. Without it each can be used once and brings the next one, and the second use of
	// one revokes all tokens of its login.
	KeepRefresh bool
	// Grace is how long a used refresh token can be used again before that
	// counts as theft. Default: not at all.
	Grace time.Duration
	// Answer may alter the answers to token requests that succeed, before they
	// are sent. It must be safe for concurrent use.
	Answer func(r *http.Request, answer map[string]any)

	// LoginPage shows a page that asks for user and password, for tests with a
	// browser, and takes any. Without it every authorization request is granted at once.
	LoginPage bool
}
