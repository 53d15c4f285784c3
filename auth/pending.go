package auth

import (
	"encoding/json"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/secret"
)

// A Pending is a login that waits for the user. It can be stored and completed
// once, within ten minutes (with a device code: as long as the authorization
// server says, an hour at most), by any process that has the same [Config].
type Pending struct {
	// Server is what errors call the server.
	Server string `json:"server"`
	// Grant is AuthorizationCode or DeviceCode.
	Grant GrantType `json:"grant"`
	// URL is where the user has to go. It is http or https, and was checked.
	URL string `json:"url"`
	// Expires is when it is too late.
	Expires time.Time `json:"expires"`
	// Authority is where the user logs in. Its issuer is what the response has
	// to name (RFC 9207).
	Authority Authority `json:"authority"`
	// Client is as whom the program asks.
	Client Client `json:"client"`
	// Scopes are what is asked for.
	Scopes []string `json:"scopes,omitempty"`
	// RedirectURI is where the browser comes back to.
	RedirectURI string `json:"redirect_uri,omitempty"`
	// State tells the response to this login from others.
	State Secret `json:"state,omitempty"`
	// Verifier is the PKCE code verifier.
	Verifier Secret `json:"verifier,omitempty"`
	// DPoPKey is the key that the token will be bound to; see [TokenSet].
	DPoPKey Secret `json:"dpop_key,omitempty"`
	// Device is set for a DeviceCode login.
	Device *Device `json:"device,omitempty"`
}

// A Device is what a login by device code adds to a [Pending].
type Device struct {
	// UserCode is what the user types at Pending.URL.
	UserCode string `json:"user_code"`
	// CompleteURL is Pending.URL with the code in it; it may be empty.
	CompleteURL string `json:"complete_url,omitempty"`
	// Code is the device code.
	Code Secret `json:"device_code"`
	// Interval is the least time between two polls.
	Interval time.Duration `json:"interval"`
}

// MarshalBinary returns the login as JSON with its secrets in clear. Seal it
// wherever it is kept.
func (p *Pending) MarshalBinary() ([]byte, error) { return secret.Encode(p) }

// UnmarshalBinary reads what MarshalBinary has written.
func (p *Pending) UnmarshalBinary(data []byte) error {
	*p = Pending{}
	return json.Unmarshal(data, p)
}
