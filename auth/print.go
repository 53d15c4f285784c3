package auth

import "fmt"

// The types below hold secrets and are held by pointers. Package fmt prints what a
// pointer leads to without calling its methods when it is given a verb that the pointer
// does not have, so they print themselves.

// Format prints whom the client is known to, and no secret.
func (c Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "client %q of %q", c.ID, c.Issuer)
}

// Format prints the token's type and end, and no secret.
func (t Token) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s token until %v", t.Type, t.Expires)
}

// Format prints who issued the token set and for what, and no secret.
func (g TokenSet) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "grant of %q for %q with scopes %q, %v", g.Authority.Issuer, g.Authority.Resource, g.Scopes, g.Token)
}

// Format prints whose login it is and until when, and no secret.
func (p Pending) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "login at %q for server %q until %v", p.Authority.Issuer, p.Server, p.Expires)
}

// Format prints the code for the user, and no secret.
func (d Device) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "device code with user code %q", d.UserCode)
}

// Format prints the key's id and algorithm, and nothing of the key.
func (k SigningKey) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "signing key %q for %q", k.ID, k.Algorithm)
}

// Format prints the identity provider, and no secret.
func (e Enterprise) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "identity provider %q", e.Issuer)
}
