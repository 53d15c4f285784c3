package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"time"
)

// pendingLife is how long a user may take to log in.
const pendingLife = 10 * time.Minute

// Begin makes a login that waits for the user. It sends nothing. redirectURI is
// https, or http on a loopback address; c has to be a's.
//
// Its errors are [*MetadataError] if a cannot be used for such a login,
// [*URLError] for the authorization endpoint and redirectURI, and
// [*IssuerMismatchError].
func (f *Flow) Begin(a *Authority, c *Client, redirectURI string, scopes []string) (*Pending, error) {
	if c.Issuer != a.Issuer {
		return nil, &IssuerMismatchError{Server: f.config.Server, What: "registered client", Want: a.Issuer, Got: c.Issuer}
	}
	if a.AuthorizationEndpoint == "" {
		return nil, &MetadataError{f.config.Server, a.Issuer, "authorization_endpoint", "is missing, so users cannot log in with a browser"}
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
	p := &Pending{
		Server:      f.config.Server,
		Grant:       AuthorizationCode,
		Expires:     wallTime().Add(pendingLife),
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
	if len(scopes) > 0 {
		query.Set("scope", strings.Join(scopes, " "))
	}
	if slices.Contains(scopes, offlineAccess) && (f.config.AskConsent || c.Source != Preregistered) && f.config.LoginParams["prompt"] == nil {
		query.Set("prompt", "consent") // OpenID Connect Core, section 11
	}
	if a.Resource != "" && !f.config.NoResource {
		query.Set("resource", a.Resource)
	}
	if p.DPoPKey, err = f.bindingKey(a); err != nil {
		return nil, err
	}
	if p.DPoPKey != "" {
		print, err := thumbprint(p.DPoPKey)
		if err != nil {
			return nil, &ProofError{Server: f.config.Server, Err: err}
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

// bindingKey returns a new key to bind tokens to, if they are to be bound.
func (f *Flow) bindingKey(a *Authority) (Secret, error) {
	if !f.config.DPoP && !a.DPoPRequired {
		return "", nil
	}
	if !slices.Contains(a.DPoPAlgorithms, dpopAlgorithm) {
		return "", &MetadataError{f.config.Server, a.Issuer, "dpop_signing_alg_values_supported", "lacks " + dpopAlgorithm + ", and tokens are to be bound to a key"}
	}
	key, err := newDPoPKey()
	if err != nil {
		return "", &ProofError{Server: f.config.Server, Err: err}
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
	code, err := r.code(p)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {p.RedirectURI},
		"code_verifier": {p.Verifier.Reveal()},
	}
	token, scopes, err := f.token(ctx, &tokenRequest{"token", &p.Authority, &p.Client, form, p.DPoPKey})
	if err != nil {
		return nil, err
	}
	return newTokenSet(p, token, scopes), nil
}

// newTokenSet returns what a login has brought. scopes are those of the answer.
func newTokenSet(p *Pending, t *Token, scopes []string) *TokenSet {
	if scopes == nil {
		scopes = slices.Clone(p.Scopes)
	}
	return &TokenSet{
		Authority: p.Authority,
		Client:    bare(&p.Client),
		Token:     *t,
		Scopes:    scopes,
		Requested: slices.Clone(p.Scopes),
		DPoPKey:   p.DPoPKey,
	}
}

// sameIssuer refuses an authority that the Config has left since.
func (f *Flow) sameIssuer(a *Authority) error {
	if want := f.config.Issuer; want != "" && want != a.Issuer {
		return &IssuerMismatchError{Server: f.config.Server, What: "session", Want: want, Got: a.Issuer}
	}
	if given := f.config.Authority; given != nil && given.TokenEndpoint != a.TokenEndpoint {
		return &IssuerMismatchError{Server: f.config.Server, What: "token endpoint of the session", Want: given.TokenEndpoint, Got: a.TokenEndpoint}
	}
	return nil
}
