package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Obtain gets a token set without a human, for the grant types that are not
// Interactive. It is asked again, rather than [Flow.Refresh], where the token set has
// no refresh token, as is usual. After a refusal nothing else is tried.
//
// Its errors are [*ConfigError] for another grant type, what Config.Assertion or
// Enterprise.SubjectToken has returned, [*IssuerMismatchError] if c is a client of another
// authorization server, or a is not that of the Config, and those of requests; a refusal by the
// identity provider of EnterpriseManaged is an [*OAuthError] for a "token exchange".
func (f *Flow) Obtain(ctx context.Context, a *Authority, c *Client, scopes []string) (*TokenSet, error) {
	if c.Issuer != a.Issuer {
		return nil, f.mismatch("registered client", a.Issuer, c.Issuer)
	}
	if err := f.sameIssuer(a); err != nil {
		return nil, err
	}
	key, err := f.bindingKey(a)
	if err != nil {
		return nil, err
	}
	form := url.Values{}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	var assertion Secret
	switch f.config.Grant {
	case ClientCredentials:
		form.Set("grant_type", "client_credentials")
	case EnterpriseManaged:
		assertion, err = f.exchange(ctx, a, scopes)
	case WorkloadIdentity:
		assertion, err = f.own("Assertion", func() (Secret, error) {
			return f.config.Assertion(ctx, a.Issuer, a.TokenEndpoint)
		})
	default:
		return nil, &ConfigError{Server: f.config.Server, Field: "Grant",
			Problem: "is " + f.config.Grant.String() + ": a human has to log in"}
	}
	if err != nil {
		return nil, err
	}
	if assertion != "" {
		form.Set("grant_type", grantJWTBearer)
		form.Set("assertion", assertion.Reveal())
	}
	post := &clientPost{request: "token", authority: a, client: c, form: form, key: key}
	token, granted, err := f.token(ctx, post)
	if err != nil {
		return nil, err
	}
	return newTokenSet(&Pending{Authority: *a, Scopes: scopes, DPoPKey: key}, post.client, token, granted), nil
}

// own asks the program for a token.
func (f *Flow) own(field string, ask func() (Secret, error)) (Secret, error) {
	token, err := ask()
	token = Secret(strings.TrimSpace(token.Reveal())) // of files, mostly
	switch {
	case err != nil:
	case token == "":
		err = errors.New("it is empty")
	case len(token) > maxToken:
		err = fmt.Errorf("it is longer than %d bytes", maxToken)
	default:
		return token, nil
	}
	return "", fmt.Errorf("auth: server %q: %s gave no token: %w", f.config.Server, field, err)
}

// typeIDJAG is the type of tokens by which an identity provider vouches for a user
// at an authorization server.
const typeIDJAG = "urn:ietf:params:oauth:token-type:id-jag"

// exchange exchanges what the user has from their identity provider for a token that
// the authorization server takes (MCP extension for enterprise-managed
// authorization, section 4; RFC 8693).
func (f *Flow) exchange(ctx context.Context, a *Authority, scopes []string) (Secret, error) {
	idp := f.config.Enterprise
	provider, err := f.identityProvider(ctx)
	if err != nil {
		return "", err
	}
	subject, err := f.own("Enterprise.SubjectToken", func() (Secret, error) { return idp.SubjectToken(ctx) })
	if err != nil {
		return "", err
	}
	form := url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"requested_token_type": {typeIDJAG},
		"audience":             {a.Issuer},
		"resource":             {a.Resource},
		"subject_token":        {subject.Reveal()},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:id_token"},
	}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	post := &clientPost{request: "token exchange", authority: provider, endpoint: provider.TokenEndpoint, client: &idp.Client, form: form}
	var assertion Secret
	err = f.ask(ctx, post, func(r *reader) {
		// An assertion of another type could be of use to the authorization server
		// elsewhere, and is not sent there.
		if r.text("issued_token_type") != typeIDJAG {
			r.fail(errors.New("issued_token_type is not " + typeIDJAG))
		}
		assertion = r.needed("access_token", "")
	})
	return assertion, err
}

// identityProvider returns what is known of the identity provider of the
// organisation.
func (f *Flow) identityProvider(ctx context.Context) (*Authority, error) {
	idp := f.config.Enterprise
	if idp.TokenEndpoint == "" {
		return f.lookUp(ctx, "issuer", idp.Issuer)
	}
	// The endpoint is the other audience that RFC 7523 allows.
	return &Authority{Issuer: cmp.Or(idp.Issuer, idp.Client.Issuer, idp.TokenEndpoint), TokenEndpoint: idp.TokenEndpoint}, nil
}
