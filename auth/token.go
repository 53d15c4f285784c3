package auth

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// Grant types, as token requests and registrations name them.
const (
	grantDeviceCode = "urn:ietf:params:oauth:grant-type:device_code"
	grantJWTBearer  = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// A clientPost is a form that a client posts to an endpoint of an authorization
// server.
type clientPost struct {
	request   string // what errors call it, as in OAuthError
	authority *Authority
	endpoint  string
	client    *Client // with its secret, see Flow.whole; after Flow.token as it was taken
	form      url.Values
	key       Secret // for a proof of possession; empty for none
	anyBody   bool   // the body of an answer to the good means nothing
}

// post sends a form, with client authentication and proof of possession. If the
// authorization server wants another nonce in the proof, it sends the form once
// more. The answer is returned whatever its status.
func (f *Flow) post(ctx context.Context, p *clientPost) (*guardhttp.Answer, error) {
	res, err := f.postOnce(ctx, p)
	if err != nil || p.key == "" || !f.nonces.keep(p.endpoint, res.Header.Get("DPoP-Nonce")) {
		return res, err
	}
	if a, err := answerOf(res); err != nil || a.code() != "use_dpop_nonce" {
		return res, nil
	}
	if res, err = f.postOnce(ctx, p); err == nil {
		f.nonces.keep(p.endpoint, res.Header.Get("DPoP-Nonce"))
	}
	return res, err
}

func (f *Flow) postOnce(ctx context.Context, p *clientPost) (*guardhttp.Answer, error) {
	form, header := maps.Clone(p.form), http.Header{}
	if err := f.authenticate(form, header, p.authority, p.client); err != nil {
		return nil, err
	}
	if p.key != "" {
		proof, err := prove(p.key, p.endpoint, proofClaims{Method: http.MethodPost, Nonce: f.nonces.newest(p.endpoint)}, time.Now())
		if err != nil {
			return nil, f.noProof(err)
		}
		header.Set("DPoP", proof)
	}
	res, err := f.client().PostForm(ctx, p.endpoint, header, form)
	if failed := (*guardhttp.Failure)(nil); p.anyBody && errors.As(err, &failed) && failed.Status/100 == 2 {
		return &guardhttp.Answer{Status: failed.Status}, nil
	}
	if err != nil {
		return nil, f.requestError(p.request, err)
	}
	return res, nil
}

// ask posts a form, and has the answer read.
func (f *Flow) ask(ctx context.Context, p *clientPost, read func(*reader)) error {
	res, err := f.post(ctx, p)
	if err != nil {
		return err
	}
	var sent []string
	for name, values := range p.form {
		switch name {
		case "grant_type", "scope", "resource", "client_id", "redirect_uri", "audience", "token_type_hint",
			"requested_token_type", "subject_token_type":
		default:
			sent = append(sent, values...)
		}
	}
	return f.read(p.request, p.endpoint, res, read, append(sent, p.client.Secret.Reveal(), p.client.pair())...)
}

// demand names what a token is to be for: the scopes, if there are any, and the resource
// of the authority.
func (f *Flow) demand(form url.Values, a *Authority, scopes []string) {
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	if a.Resource != "" && !f.config.NoResource && !isEntra(a.Issuer) {
		form.Set("resource", a.Resource)
	}
}

// token posts a form to the token endpoint, for a token for the resource of the authority.
// scopes are those that the answer names; nil if it names none. A client with a secret that was
// not told how to show it shows it in the other way if it is not known by the first: many
// authorization servers list a way that they do not take.
func (f *Flow) token(ctx context.Context, p *clientPost) (t *Token, scopes []string, err error) {
	whole := *p
	if whole.client, err = f.whole(p.client, p.authority.Issuer); err != nil {
		return nil, nil, err
	}
	whole.endpoint, whole.form = p.authority.TokenEndpoint, maps.Clone(p.form)
	f.demand(whole.form, p.authority, nil)
	obtained := wallTime() // the token is no younger
	read := func(r *reader) {
		t, scopes = readToken(r, p.key != "")
		t.Obtained = obtained
		// A hint: that it cannot be read is no reason to lose the rest.
		if lifetime, err := r.members.lifetime("expires_in"); err == nil && lifetime > 0 {
			t.Expires = obtained.Add(lifetime)
		}
	}
	err = f.ask(ctx, &whole, read)
	if other := f.otherMethod(&whole, err); other != "" {
		client := *whole.client
		client.AuthMethod = other
		if whole.client = &client; f.ask(ctx, &whole, read) == nil {
			p.client, err = &client, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return t, scopes, nil
}

// otherMethod returns how a client could also authenticate itself after a request was refused;
// empty if that is told, or not the reason.
func (f *Flow) otherMethod(p *clientPost, err error) string {
	c, refused := p.client, (*OAuthError)(nil)
	told := c.Source == Preregistered && c.AuthMethod != "" && (f.config.Client == nil || f.config.Client.AuthMethod != "")
	switch {
	case c.Secret == "" || told || !errors.As(err, &refused) || refused.Status/100 == 5:
		return ""
	case refused.Code == "invalid_client", p.request == "token" && p.form.Has("code") && (refused.Code == "invalid_request" || refused.Code == ""):
		switch authMethod(p.authority, c, f.signingKey(c)) {
		case authBasic:
			return authPost
		case authPost:
			return authBasic
		}
	}
	return ""
}

// wallTime returns the time, to be compared with times that come from storage or
// from before the machine went to sleep, when the monotonic clock stands still.
func wallTime() time.Time { return time.Now().Round(0).UTC() }

// readToken reads the answer to a token request (RFC 6749, section 5.1), all but
// the times. The access token is safe in a header.
func readToken(r *reader, bound bool) (*Token, []string) {
	if user, err := readAnswer(r.members["authed_user"]); err == nil && r.text("access_token") == "" {
		delete(user, "token_type") // Slack has the token of a user there, of type "user"
		r.members = user
	}
	t := &Token{Access: r.needed("access_token", ""), Refresh: r.credential("refresh_token", " "), Type: "Bearer"}
	kind := r.text("token_type")
	switch {
	case bound && !strings.EqualFold(kind, "DPoP"):
		r.fail(errors.New("token_type is not DPoP: the token is not bound to the key"))
	case bound:
		t.Type = "DPoP"
	case kind != "" && !strings.EqualFold(kind, "Bearer"): // some leave it out, which must cost no refresh token
		r.fail(errors.New("token_type is not Bearer"))
	}
	scope, _ := r.members.text("scope") // a hint, like expires_in
	if !strings.Contains(scope, " ") {
		scope = strings.ReplaceAll(scope, ",", " ") // GitHub, for one, puts commas between them
	}
	return t, scopesOf(scope)
}

// errNoRefreshToken reports a token set that cannot be refreshed: the authorization
// server has given no refresh token with it.
var errNoRefreshToken = errors.New("auth: the token set has no refresh token")

// Refresh makes a new token set of an old one by its refresh token. If the answer
// brings no new refresh token, the old one is kept. The refresh token goes to the
// authorization server that has issued it, wherever the server's metadata may
// point to by now.
//
// Whether the refresh token has been used up is told by the error:
//
//   - an [*OAuthError] with a status below 500 is a refusal, and says by
//     invalid_grant that the token is of no use any more. So it does where the
//     authorization server has another code for that, or wants to see the user;
//   - after an OAuthError with another status, or a [*RequestError] without
//     NotSent, it is not known: the authorization server may have issued new tokens;
//   - after any other error it is as good as before, as nothing was sent. A
//     [*RegistrationError] says that the client is no longer configured.
func (f *Flow) Refresh(ctx context.Context, g *TokenSet) (*TokenSet, error) {
	if g.Token.Refresh == "" {
		return nil, errNoRefreshToken
	}
	if err := f.sameIssuer(&g.Authority); err != nil {
		return nil, err
	}
	form := url.Values{
		"grant_type":    {"refresh_token"},
		"refresh_token": {g.Token.Refresh.Reveal()},
	}
	if g.RefreshWithScopes && len(g.Scopes) > 0 {
		form.Set("scope", strings.Join(g.Scopes, " "))
	}
	post := &clientPost{request: "refresh", authority: &g.Authority, client: &g.Client, form: form, key: g.DPoPKey}
	token, scopes, err := f.token(ctx, post)
	named := g.RefreshWithScopes
	if wantsScopes(err) && !form.Has("scope") && len(g.Scopes) > 0 {
		form.Set("scope", strings.Join(g.Scopes, " "))
		named = true
		token, scopes, err = f.token(ctx, post)
	}
	if refused := (*OAuthError)(nil); errors.As(err, &refused) && refused.Status < 500 && endsLogin(refused.Code) {
		refused.Code = "invalid_grant"
	}
	if err != nil {
		return nil, err
	}
	fresh := *g
	fresh.Token, fresh.Client, fresh.RefreshWithScopes = *token, bare(post.client), named
	fresh.Token.Refresh = cmp.Or(token.Refresh, g.Token.Refresh)
	if scopes == nil {
		scopes = slices.Clone(g.Scopes)
	}
	fresh.Scopes = scopes
	return &fresh, nil
}

// wantsScopes reports whether an authorization server may take a refresh that names its scopes: Entra does
// not take it without (mcp-remote#357), and others do not take it with them (LibreChat#13412).
func wantsScopes(err error) bool {
	refused := (*OAuthError)(nil)
	return errors.As(err, &refused) && refused.Status < 500 && (refused.Code == "invalid_request" || refused.Code == "invalid_scope")
}

// endsLogin reports whether an error code means that only another login helps:
// those of OpenID Connect Core, section 3.1.2.6, which Entra has here too, and that
// of GitHub.
func endsLogin(code string) bool {
	return slices.Contains([]string{"interaction_required", "login_required", "consent_required", "bad_refresh_token"}, code)
}

// Revoke revokes the tokens of a token set (RFC 7009), the refresh token first, where
// the authorization server has an endpoint for that. Where it has none it does
// nothing. Both are tried; the errors are those of requests, joined.
func (f *Flow) Revoke(ctx context.Context, g *TokenSet) error {
	if g.Authority.RevocationEndpoint == "" {
		return nil
	}
	client, err := f.whole(&g.Client, g.Authority.Issuer)
	if err != nil {
		return err
	}
	return errors.Join(
		f.revoke(ctx, g, client, "refresh_token", g.Token.Refresh),
		f.revoke(ctx, g, client, "access_token", g.Token.Access),
	)
}

func (f *Flow) revoke(ctx context.Context, g *TokenSet, client *Client, kind string, token Secret) error {
	if token == "" {
		return nil
	}
	res, err := f.post(ctx, &clientPost{
		request:   "revocation",
		authority: &g.Authority,
		endpoint:  g.Authority.RevocationEndpoint,
		client:    client,
		form:      url.Values{"token": {token.Reveal()}, "token_type_hint": {kind}},
		anyBody:   true,
	})
	if err != nil {
		return err
	}
	if res.Status >= 200 && res.Status < 300 {
		return nil
	}
	a, _ := answerOf(res)
	if code := a.code(); code == "invalid_token" || code == "unsupported_token_type" && kind == "access_token" {
		return nil // it is revoked already, perhaps with the other one, or ends by itself
	}
	return f.refusal("revocation", g.Authority.RevocationEndpoint, res, a, token.Reveal(), client.Secret.Reveal())
}
