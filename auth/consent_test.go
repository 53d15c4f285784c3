package auth

import (
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Without prompt=consent an authorization server may ignore offline_access, with
// it one may refuse users for whom an administrator has consented.
func TestBeginAsksForConsent(t *testing.T) {
	for _, test := range []struct {
		source ClientSource
		ask    bool
		scopes []string
		want   string
	}{
		{Dynamic, false, []string{"notes", "offline_access"}, "consent"},
		{MetadataDocument, false, []string{"notes", "offline_access"}, "consent"},
		{Preregistered, false, []string{"notes", "offline_access"}, ""},
		{Preregistered, true, []string{"notes", "offline_access"}, "consent"},
		{Dynamic, true, []string{"notes"}, ""},
		{Dynamic, true, nil, ""},
	} {
		f := &Flow{config: Config{Server: "notes", AskConsent: test.ask}}
		a := &Authority{Issuer: "https://as.example", AuthorizationEndpoint: "https://as.example/authorize", PKCE: true}
		p := assert.Value(f.Begin(a, &Client{Issuer: a.Issuer, ID: "1", Source: test.source}, "http://127.0.0.1:1/", test.scopes))(t)
		assert.Equal(t, assert.Value(url.Parse(p.URL))(t).Query().Get("prompt"), test.want, "%+v: prompt", test)
	}
}
