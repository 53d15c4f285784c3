package auth

import (
	"context"
	"errors"
	"net/url"
	"slices"
)

// ErrNoRefreshToken reports a grant that cannot be refreshed: the authorization
// server has given no refresh token with it.
var ErrNoRefreshToken = errors.New("auth: the grant has no refresh token")

// Refresh makes a new grant of an old one by its refresh token. If the answer
// brings no new refresh token, the old one is kept. The refresh token goes to the
// authorization server that has issued it, wherever the server's metadata may
// point to by now.
//
// Nothing was sent, and the refresh token is as good as before, if the error is
// [ErrNoRefreshToken], a [*RegistrationError] (the client is no longer
// configured), [*IssuerMismatchError], [*ConfigError], [*ProofError] or
// [*URLError], or a [*RequestError] with NotSent. An [*OAuthError] is a refusal;
// invalid_grant says that the refresh token is of no use any more. After any other
// error nobody knows whether it has been used up.
func (f *Flow) Refresh(ctx context.Context, g *Grant) (*Grant, error) {
	if g.Token.Refresh == "" {
		return nil, ErrNoRefreshToken
	}
	if err := f.sameIssuer(&g.Authority); err != nil {
		return nil, err
	}
	form := url.Values{
		"grant_type":    {"refresh_token"},
		"refresh_token": {g.Token.Refresh.Reveal()},
	}
	token, scopes, err := f.token(ctx, &tokenRequest{"refresh", &g.Authority, &g.Client, form, g.DPoPKey})
	if err != nil {
		return nil, err
	}
	fresh := *g
	fresh.Token = *token
	if fresh.Token.Refresh == "" {
		fresh.Token.Refresh = g.Token.Refresh
	}
	if scopes == nil {
		scopes = slices.Clone(g.Scopes)
	}
	fresh.Scopes = scopes
	return &fresh, nil
}
