package auth

import (
	"context"
	"errors"
	"net/url"
	"slices"
)

// ErrNoRefreshToken reports a token set that cannot be refreshed: the authorization
// server has given no refresh token with it.
var ErrNoRefreshToken = errors.New("auth: the token set has no refresh token")

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
//   - after any other error it is as good as before, as nothing was sent:
//     [ErrNoRefreshToken], a [*RegistrationError] (the client is no longer
//     configured), [*IssuerMismatchError], [*ConfigError], [*ProofError] or
//     [*URLError].
func (f *Flow) Refresh(ctx context.Context, g *TokenSet) (*TokenSet, error) {
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
	if refused := (*OAuthError)(nil); errors.As(err, &refused) && refused.Status < 500 && endsLogin(refused.Code) {
		refused.Code = "invalid_grant"
	}
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

// endsLogin reports whether an error code means that only another login helps:
// those of OpenID Connect Core, section 3.1.2.6, which Entra has here too, and that
// of GitHub.
func endsLogin(code string) bool {
	switch code {
	case "interaction_required", "login_required", "consent_required", "bad_refresh_token":
		return true
	}
	return false
}
