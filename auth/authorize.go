package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/secret"
)

// pendingLifetime is how long a user may take to log in.
const pendingLifetime = 10 * time.Minute

// Begin makes a login that waits for the user. It sends nothing. redirectURI is
// https, or http on a loopback address; c has to be a's.
//
// It fails if a cannot be used for such a login. Other errors are [*URLError] for the
// authorization endpoint and redirectURI, and [*IssuerMismatchError].
func (f *Flow) Begin(a *Authority, c *Client, redirectURI string, scopes []string) (*Pending, error) {
	if c.Issuer != a.Issuer {
		return nil, f.mismatch("registered client", a.Issuer, c.Issuer)
	}
	if a.AuthorizationEndpoint == "" {
		return nil, f.metadataError(a.Issuer, "authorization_endpoint", "is missing, so users cannot log in with a browser")
	}
	page, err := f.browserURL("authorization_endpoint", a.AuthorizationEndpoint)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(page.RawQuery)
	if err != nil {
		return nil, &URLError{f.config.Server, "authorization_endpoint", originOf(a.AuthorizationEndpoint), "its query cannot be read"}
	}
	if _, err := f.browserURL("redirect URI", redirectURI); err != nil {
		return nil, err
	}
	scopes = c.registered(scopes)
	p := &Pending{
		Server:      f.config.Server,
		Grant:       AuthorizationCode,
		Expires:     wallTime().Add(pendingLifetime),
		Authority:   *a,
		Client:      bare(c),
		Scopes:      slices.Clone(scopes),
		RedirectURI: redirectURI,
		State:       random(),
		Verifier:    random(),
	}
	challenge := sha256.Sum256([]byte(p.Verifier.Reveal()))
	for name, values := range f.config.LoginParams {
		query[name] = slices.Clone(values)
	}
	query.Set("response_type", "code")
	query.Set("client_id", c.ID)
	query.Set("redirect_uri", redirectURI)
	query.Set("state", p.State.Reveal())
	query.Set("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
	query.Set("code_challenge_method", "S256")
	f.demand(query, a, scopes)
	if slices.Contains(scopes, offlineAccess) && c.Source != Preregistered && f.config.LoginParams["prompt"] == nil {
		query.Set("prompt", "consent") // OpenID Connect Core, section 11
	}
	if p.DPoPKey, err = f.bindingKey(a); err != nil {
		return nil, err
	}
	if p.DPoPKey != "" {
		print, err := thumbprint(p.DPoPKey)
		if err != nil {
			return nil, f.noProof(err)
		}
		query.Set("dpop_jkt", print)
	}
	page.RawQuery = query.Encode()
	p.URL = page.String()
	return p, nil
}

// random returns 256 random bits, as state and as code verifier (RFC 7636,
// section 4.1).
func random() Secret {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	return Secret(base64.RawURLEncoding.EncodeToString(bits[:]))
}

// bindingKey returns a new key to bind tokens to (RFC 9449), if they are to be bound.
func (f *Flow) bindingKey(a *Authority) (Secret, error) {
	if !f.config.DPoP && !a.DPoPRequired {
		return "", nil
	}
	if !slices.Contains(a.DPoPAlgorithms, dpopAlgorithm) {
		return "", f.metadataError(a.Issuer, "dpop_signing_alg_values_supported", "lacks "+dpopAlgorithm+", and tokens are to be bound to a key")
	}
	key, err := newDPoPKey()
	if err != nil {
		return "", f.noProof(err)
	}
	return key, nil
}

// Complete makes a token set of a login and the address at which the user's browser
// came back, as a whole or from its path on. The response is checked before
// anything is sent: [*StateError] for an answer to another login, or one that
// comes too late, [*IssuerMismatchError] for that of another authorization
// server. If the user said no it returns an [*OAuthError] with the code
// access_denied. Other errors are [*RegistrationError] if the client is no longer
// configured, and those of requests.
//
// It does not keep p from being completed twice: the authorization server does,
// and the caller that stores p has to remove it first.
func (f *Flow) Complete(ctx context.Context, p *Pending, callback string) (*TokenSet, error) {
	if p.Grant != AuthorizationCode || p.State == "" {
		return nil, &StateError{p.Server, "the login is not one with a redirect URI"}
	}
	if err := f.sameIssuer(&p.Authority); err != nil {
		return nil, err
	}
	r, err := readCallback(callback)
	if err != nil {
		return nil, &StateError{p.Server, err.Error()}
	}
	if err := r.answers(p, wallTime()); err != nil {
		return nil, err
	}
	code, err := f.code(r, p)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {p.RedirectURI},
		"code_verifier": {p.Verifier.Reveal()},
	}
	post := &clientPost{request: "token", authority: &p.Authority, client: &p.Client, form: form, key: p.DPoPKey}
	token, scopes, err := f.token(ctx, post)
	if err != nil {
		return nil, err
	}
	return newTokenSet(p, post.client, token, scopes), nil
}

// newTokenSet returns what a login has brought to a client. scopes are those of the answer.
func newTokenSet(p *Pending, c *Client, t *Token, scopes []string) *TokenSet {
	if scopes == nil {
		scopes = slices.Clone(p.Scopes)
	}
	return &TokenSet{
		Authority: p.Authority,
		Client:    bare(c),
		Token:     *t,
		Scopes:    scopes,
		Requested: slices.Clone(p.Scopes),
		DPoPKey:   p.DPoPKey,
	}
}

// sameIssuer refuses an authority that the Config has left since.
func (f *Flow) sameIssuer(a *Authority) error {
	if want := f.config.Issuer; want != "" && want != a.Issuer {
		return f.mismatch("session", want, a.Issuer)
	}
	if given := f.config.Authority; given != nil && given.TokenEndpoint != a.TokenEndpoint {
		return f.mismatch("token endpoint of the session", given.TokenEndpoint, a.TokenEndpoint)
	}
	return nil
}

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
	// Client is the client that the program is.
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

// maxURL bounds the addresses that a browser is sent to, before anything is added
// to them, in bytes.
const maxURL = 8 << 10

// browserURL parses an address that the user's browser is sent to, or comes back
// to: https, or http on a loopback address. field is where it comes from. The
// error is a [*URLError].
func (f *Flow) browserURL(field, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	problem := ""
	switch {
	case len(raw) > maxURL:
		problem = "longer than a browser takes"
	case !guardhttp.Plain(raw):
		problem = "has characters that no URL has"
	case err != nil:
		problem = "not a URL"
	case u.Scheme != "https" && u.Scheme != "http":
		problem = "the scheme is neither https nor http"
	case u.Hostname() == "":
		problem = "has no host"
	case u.User != nil:
		problem = "has a user name, which makes it look like one of another host"
	case u.Fragment != "":
		problem = "has a fragment"
	case u.Scheme == "http" && !f.config.Network.AllowHTTP && !guardhttp.Loopback(u.Hostname()):
		problem = "without TLS"
	default:
		return u, nil
	}
	refused := &URLError{Server: f.config.Server, Field: field, Problem: problem}
	if u != nil && guardhttp.Plain(u.Scheme+u.Host) && len(u.Host) <= maxHost {
		refused.Origin = u.Scheme + "://" + u.Host
	}
	return nil, refused
}

// maxHost bounds a host with its port, in bytes.
const maxHost = 255 + len(":65535")
