package auth

import (
	"context"
	"errors"
	"net/url"
)

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
	switch code := a.code(); {
	case code == "invalid_token":
		return nil // it is revoked already, perhaps with the other one
	case code == "unsupported_token_type" && kind == "access_token":
		return nil // it ends by itself
	}
	return &OAuthError{
		Server: f.config.Server, Request: "revocation", Status: res.Status, Code: a.code(), RetryAfter: retryAfter(res.Header),
	}
}
