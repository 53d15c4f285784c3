package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	// The suite hosts no document here; its servers only compare the address.
	clientMetadataURL = "https://conformance-test.local/client-metadata.json"
	// Nothing listens here: the code is read from the redirect itself.
	redirectURL = "http://localhost:3000/callback"
)

// A Login turns what the suite gives into the way to log in.
type Login func(ctx context.Context, c *auth.Config, given *Given) error

// loggingIn lists the tools of a server that asks for a token, and calls one of
// them.
func loggingIn(login Login) Play {
	return func(ctx context.Context, url string, given *Given) error {
		config := &auth.Config{Server: "conformance", URL: url}
		if err := login(ctx, config, given); err != nil {
			return err
		}
		m, err := session.NewManager(session.Memory(), &session.Options{
			Config: func(session.Key) (*auth.Config, error) { return config, nil },
			Prompt: suite{},
			Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			return err
		}
		key := session.Key{Server: "conformance"}
		to := &transport.HTTP{URL: url, OAuth: m.Handler(key)}
		client := newClient(to, nil)
		err = auth.AwaitLogin(ctx, func(ctx context.Context) error { return listAndCall(ctx, client, "test-tool", `{}`) })
		return errors.Join(err, client.Close(), m.Close())
	}
}

// authorizationCode logs in as a user does, as the client that was registered by
// hand if there is one.
func authorizationCode(_ context.Context, c *auth.Config, given *Given) error {
	c.ClientName = "mcpbelt conformance client"
	c.ClientMetadataURL = clientMetadataURL
	if given.ClientID != "" {
		c.Client = &auth.Client{Issuer: given.Issuer, ID: given.ClientID, Secret: auth.Secret(given.ClientSecret)}
	}
	return nil
}

// withDPoP logs in as a user does, for tokens that are bound to a key.
func withDPoP(ctx context.Context, c *auth.Config, given *Given) error {
	c.DPoP = true
	return authorizationCode(ctx, c, given)
}

// clientCredentials logs in as the program itself.
func clientCredentials(ctx context.Context, c *auth.Config, given *Given) error {
	c.Grant = auth.ClientCredentials
	if given.PrivateKey != "" {
		signer, err := auth.ParsePrivateKey([]byte(given.PrivateKey))
		if err != nil {
			return err
		}
		c.SigningKey = &auth.SigningKey{Signer: signer}
	}
	return registered(ctx, c, given)
}

// enterprise exchanges what the user has from the identity provider of their
// organisation.
func enterprise(ctx context.Context, c *auth.Config, given *Given) error {
	c.Grant = auth.EnterpriseManaged
	c.Enterprise = &auth.Enterprise{
		Issuer:        given.IdPIssuer,
		TokenEndpoint: given.IdPTokenEndpoint,
		Client:        auth.Client{Issuer: given.IdPIssuer, ID: given.IdPClientID},
		SubjectToken:  func(context.Context) (auth.Secret, error) { return auth.Secret(given.IdPToken), nil },
	}
	return registered(ctx, c, given)
}

// workload presents the JWT of the platform.
func workload(_ context.Context, c *auth.Config, given *Given) error {
	c.Grant = auth.WorkloadIdentity
	c.Assertion = func(context.Context, string, string) (auth.Secret, error) { return auth.Secret(given.JWT), nil }
	return nil
}

// registered sets the client that was registered by hand. The suite does not name the
// authorization server: the one that the server names is meant.
func registered(ctx context.Context, c *auth.Config, given *Given) error {
	lookup, err := auth.New(&auth.Config{
		URL:       c.URL,
		Grant:     auth.WorkloadIdentity, // the least of demands
		Assertion: func(context.Context, string, string) (auth.Secret, error) { return "", nil },
	})
	if err != nil {
		return err
	}
	defer lookup.Close()
	authority, err := lookup.Discover(ctx, nil)
	if err != nil {
		return err
	}
	c.Client = &auth.Client{Issuer: authority.Issuer, ID: given.ClientID, Secret: auth.Secret(given.ClientSecret)}
	return nil
}

// A suite stands for the user and the browser: the suite's authorization server
// asks nothing and redirects at once.
type suite struct{}

// Start implements auth.Prompt.
func (s suite) Start(context.Context, []string) (auth.PromptSession, error) { return s, nil }

// RedirectURI implements auth.PromptSession.
func (suite) RedirectURI() string { return redirectURL }

// Close implements auth.PromptSession.
func (suite) Close() error { return nil }

// Show implements auth.PromptSession.
func (suite) Show(ctx context.Context, p *auth.Pending) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := browser.Do(req)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	location := resp.Header.Get("Location")
	if location == "" {
		return "", fmt.Errorf("the authorization server answered %s without a redirect", resp.Status)
	}
	return location, nil
}
