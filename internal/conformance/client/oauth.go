package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	// The suite hosts no document here; its servers only compare the address.
	clientMetadataURL = "https://conformance-test.local/client-metadata.json"
	// Nothing listens here: the code is read from the redirect itself.
	redirectURL = "http://localhost:3000/callback"
)

// authorizationCode lists the tools of a server that asks for a token, and
// calls one of them.
func authorizationCode(ctx context.Context, url string, given *Given) error {
	handler, err := newOAuthHandler(given)
	if err != nil {
		return err
	}
	return with(ctx, &transport.HTTP{URL: url, OAuth: handler}, nil, func(c *mcp.Client) error {
		return listAndCall(ctx, c, "test-tool", `{}`)
	})
}

func newOAuthHandler(given *Given) (auth.OAuthHandler, error) {
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:              redirectURL,
		AuthorizationCodeFetcher: followLogin,
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{
			URL: clientMetadataURL,
		},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:   "mcpbelt conformance client",
				RedirectURIs: []string{redirectURL},
			},
		},
	}
	if given.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{
			ClientID:         given.ClientID,
			ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: given.ClientSecret},
		}
	}
	return auth.NewAuthorizationCodeHandler(config)
}

// followLogin stands for the user and the browser: the suite's authorization
// server asks nothing and redirects at once.
func followLogin(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, fmt.Errorf("the authorization server answered %s without a redirect", resp.Status)
	}
	back, err := url.Parse(location)
	if err != nil {
		return nil, errors.New("the authorization server redirects to no valid address")
	}
	q := back.Query()
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}
