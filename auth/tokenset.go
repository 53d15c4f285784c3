package auth

import (
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/internal/secret"
)

// A Client is a program as an authorization server knows it. Its JSON, like that of all
// values of this package that can be stored, has the member names of OAuth.
type Client struct {
	// Issuer is the authorization server that knows it.
	Issuer string `json:"issuer"`
	// ID is its client_id.
	ID string `json:"client_id"`
	// Secret is its client_secret; empty if it has none.
	Secret Secret `json:"client_secret,omitempty"`
	// SecretExpires is when Secret ends; zero if it does not.
	SecretExpires time.Time `json:"client_secret_expires,omitempty"`
	// AuthMethod is how it authenticates itself at the token endpoint: none,
	// client_secret_basic, client_secret_post or private_key_jwt. Empty means
	// the best that the authorization server supports and the client can do.
	AuthMethod string `json:"token_endpoint_auth_method,omitempty"`
	// RedirectURIs are the redirect URIs that it was registered with. Empty
	// means that any may be used.
	RedirectURIs []string `json:"redirect_uris,omitempty"`
	// Scopes are those that it was registered for. Empty means that it may ask for any.
	Scopes []string `json:"scopes,omitempty"`
	// Source is where it comes from.
	Source ClientSource `json:"source,omitempty"`
}

// A ClientSource is where a [Client] comes from.
type ClientSource int

const (
	// Preregistered clients are given by the Config.
	Preregistered ClientSource = iota
	// MetadataDocument clients are described by their Client ID Metadata
	// Document.
	MetadataDocument
	// Dynamic clients were registered by the program itself (RFC 7591).
	Dynamic
)

// A Token is what an authorization server has issued.
type Token struct {
	// Access is the access token.
	Access Secret `json:"access_token"`
	// Type is "Bearer" or "DPoP".
	Type string `json:"token_type"`
	// Refresh is the refresh token; empty if there is none.
	Refresh Secret `json:"refresh_token,omitempty"`
	// Obtained is when the token was issued.
	Obtained time.Time `json:"obtained"`
	// Expires is when the access token ends; zero if that is not known.
	Expires time.Time `json:"expires,omitempty"`
}

// OAuth2 returns the token as package oauth2 has it, with its secrets in clear.
func (t *Token) OAuth2() *oauth2.Token {
	return &oauth2.Token{AccessToken: t.Access.Reveal(), TokenType: t.Type, RefreshToken: t.Refresh.Reveal(), Expiry: t.Expires}
}

// A TokenSet is what a login has brought: the token, and what is needed to renew
// it. It is never changed; Refresh makes a new one.
type TokenSet struct {
	// Authority issued it.
	Authority Authority `json:"authority"`
	// Client is the client that it was issued to.
	Client Client `json:"client"`
	// Token is the newest token.
	Token Token `json:"token"`
	// Scopes are the scopes of the token: those that the authorization server
	// names, else those that were asked for.
	Scopes []string `json:"scopes,omitempty"`
	// Requested are the scopes that were asked for.
	Requested []string `json:"requested,omitempty"`
	// RefreshWithScopes says that the authorization server takes no refresh that does not name the scopes.
	RefreshWithScopes bool `json:"refresh_with_scopes,omitempty"`
	// DPoPKey is the private key that the token is bound to, PKCS #8 in base64;
	// empty if it is bound to none.
	DPoPKey Secret `json:"dpop_key,omitempty"`
}

// MarshalBinary returns the token set as JSON with its secrets in clear. Seal it
// wherever it is kept.
func (g *TokenSet) MarshalBinary() ([]byte, error) { return secret.Encode(g) }

// UnmarshalBinary reads what MarshalBinary has written.
func (g *TokenSet) UnmarshalBinary(data []byte) error {
	*g = TokenSet{}
	return json.Unmarshal(data, g)
}

// A Secret is text that must not be seen in logs, errors or JSON, such as a
// token: whatever prints it gets "[redacted]". Its method Reveal returns the text
// itself.
type Secret = secret.Secret

// The types of this package that hold secrets are held by pointers. Package fmt prints what a
// pointer leads to without calling its methods when it is given a verb that the pointer
// does not have, so they print themselves.

// Format prints whose login it is and until when, and no secret.
func (p Pending) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "login at %q for server %q until %v", p.Authority.Issuer, p.Server, p.Expires)
}

// Format prints the key's id, and nothing of the key.
func (k SigningKey) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "signing key %q", k.ID)
}
