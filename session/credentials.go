package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

// SetHeader has the requests of a session sent with these fields, such as
// Authorization or X-Api-Key, instead of a token. They replace those set before
// and any login, whose tokens are not revoked: call Logout before for that. A
// later login replaces them. Without fields it only removes them.
func (m *Manager) SetHeader(ctx context.Context, key Key, header map[string]auth.Secret) error {
	_, config, err := m.flow(key)
	if err != nil {
		return err
	}
	for name, value := range header {
		if !httpfield.ValidName(name) {
			return fmt.Errorf("session: %v: %q is no header name", key, name)
		}
		if !httpfield.ValidValue(value.Reveal()) {
			return fmt.Errorf("session: %v: the value of %s holds a control character", key, name)
		}
	}
	e := m.entry(key)
	pending := ""
	err = e.exclusively(ctx, func(ctx context.Context) error {
		_, err := e.change(ctx, func(r *record) *record {
			if len(header) == 0 {
				return r.with(func(r *record) { r.Header = nil })
			}
			if r.Login != nil {
				pending = r.Login.Name
			}
			return r.with(func(r *record) {
				r.Header, r.URL = maps.Clone(header), config.URL
				r.Grant, r.Ended, r.Journal, r.Login, r.DeclinedReason = nil, "", nil, nil, ""
			})
		})
		if len(header) > 0 && err == nil {
			e.takeUnsaved()
		}
		return err
	})
	if len(header) > 0 && err == nil {
		m.drop(ctx, pending)
		e.stopShowing()
	}
	return err
}

// SetToken has the requests of a session sent with a bearer token that was issued
// by other means. It is SetHeader with an Authorization field.
func (m *Manager) SetToken(ctx context.Context, key Key, token auth.Secret) error {
	return m.SetHeader(ctx, key, map[string]auth.Secret{"Authorization": "Bearer " + token})
}

// Import logs the user of a session in with a token that the program has from elsewhere,
// such as its own store of tokens; the user does not log in again. If the token has a refresh
// token, it is renewed from then on like that of any login, and only this manager may
// use the refresh token. Scopes are those of token.Extra("scope"), if it has that.
//
// client is what the token was issued to, with its secret if it has one; an Issuer that
// is empty means the server's. Nil means Config.Client or the client of
// Config.ClientMetadataURL. The token replaces any login and the headers of SetHeader.
//
// The authorization server is discovered, and has to be that of client. The errors are
// those of [auth.Flow.Discover], [*auth.IssuerMismatchError], [*auth.ConfigError] for a
// token that cannot be used and [*StoreError].
func (m *Manager) Import(ctx context.Context, key Key, token *oauth2.Token, client *auth.Client) error {
	flow, config, err := m.flow(key)
	if err != nil {
		return err
	}
	if problem := unusable(token); problem != "" {
		return &auth.ConfigError{Server: key.Server, Field: "Import", Problem: problem}
	}
	challenges, err := flow.Probe(ctx)
	if err != nil {
		return err
	}
	authority, err := flow.Discover(ctx, &auth.DiscoverOptions{Challenges: challenges})
	if err != nil {
		return err
	}
	client, err = importedClient(ctx, flow, config, authority, token, client)
	if err != nil {
		return err
	}
	scope, _ := token.Extra("scope").(string)
	obtained := time.Now().UTC()
	if !token.Expiry.IsZero() && token.Expiry.Before(obtained) {
		obtained = token.Expiry
	}
	grant := &auth.TokenSet{
		Authority: *authority,
		Client:    *client,
		Token: auth.Token{
			Access: auth.Secret(token.AccessToken), Type: token.Type(), Refresh: auth.Secret(token.RefreshToken),
			Obtained: obtained, Expires: token.Expiry,
		},
		Scopes: strings.Fields(scope),
	}
	e := m.entry(key)
	pending := ""
	err = e.exclusively(ctx, func(ctx context.Context) error {
		r, _, err := e.load(ctx)
		if err != nil {
			return err
		}
		if r.Login != nil {
			pending = r.Login.Name
		}
		if err := e.keep(ctx, &answer{grant: grant, url: config.URL, login: true}, false); err != nil {
			return err
		}
		e.takeUnsaved()
		return nil
	})
	if err == nil {
		m.drop(ctx, pending)
		e.stopShowing()
	}
	return err
}

// unusable says why a token cannot be imported; empty if it can.
func unusable(t *oauth2.Token) string {
	switch {
	case t == nil || t.AccessToken == "":
		return "has no access token"
	case t.Type() != "Bearer":
		return "can take bearer tokens only"
	case !httpfield.ValidValue(t.AccessToken):
		return "has an access token that holds a control character"
	}
	return ""
}

// importedClient returns the client that an imported token was issued to.
func importedClient(ctx context.Context, flow *auth.Flow, config *auth.Config, a *auth.Authority, t *oauth2.Token, given *auth.Client) (*auth.Client, error) {
	if given == nil && (config.Client != nil || config.ClientMetadataURL != "" && a.MetadataDocuments) {
		return flow.Register(ctx, a, "", nil) // which takes these before it registers anything
	}
	if given == nil {
		if t.RefreshToken != "" {
			return nil, &auth.ConfigError{Server: config.Server, Field: "Import", Problem: "needs the client that the refresh token was issued to"}
		}
		return &auth.Client{Issuer: a.Issuer}, nil
	}
	client := *given
	client.Issuer = cmp.Or(client.Issuer, a.Issuer)
	if client.Issuer != a.Issuer {
		return nil, &auth.IssuerMismatchError{Server: config.Server, What: "registered client", Want: a.Issuer, Got: client.Issuer}
	}
	if own := config.Client; own == nil || own.ID != client.ID {
		client.Source = auth.Dynamic // its secret is kept with the token
	}
	return &client, nil
}

func sortedNames(header map[string]auth.Secret) []string {
	return slices.Sorted(maps.Keys(header))
}
