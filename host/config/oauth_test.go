package config

import (
	"reflect"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What other programs say of a registered client counts, unless we are told otherwise.
func TestOAuthOfOthers(t *testing.T) {
	lookup := func(name string) (string, bool) { return "s3cret", name == "SECRET" }
	for text, want := range map[string]*Auth{
		`"oauth":{"clientId":"c","callbackPort":8080,"scopes":"a b"}`: {ClientID: "c", RedirectURL: "http://localhost:8080/callback", Scopes: []string{"a", "b"}},
		`"oauth":{"enabled":true,"clientId":"c","clientSecret":"${SECRET}","scopes":["a"],"redirectUri":"http://localhost:7777/oauth/callback","tokenUrl":"https://x/t"}`: {
			ClientID: "c", ClientSecret: "s3cret", Scopes: []string{"a"}, RedirectURL: "http://localhost:7777/oauth/callback"},
		`"oauth":{"client_id":"c"}`:                           {ClientID: "c"},
		`"oauth":{"clientId":"c"},"auth":{"clientId":"ours"}`: {ClientID: "ours"},
		`"oauth":{"clientId":5}`:                              nil,
		`"oauth":true`:                                        nil,
		`"oauth":{"scopes":"a"}`:                              nil,
	} {
		data := []byte(`{"mcpServers":{"a":{"url":"https://x/",` + text + `}}}`)
		c := assert.Value(Parse(t.Context(), "mcp.json", data, &Options{Lookup: lookup}))(t)
		s := c.Servers[0]
		if s.Err != nil || !reflect.DeepEqual(s.Auth, want) || s.Extra["oauth"] == nil || len(c.Warnings) != 0 {
			t.Errorf("%s: %+v, %v, %v", text, s.Auth, s.Err, c.Warnings)
		}
	}
	c, err := Parse(t.Context(), "mcp.json", []byte(`{"mcpServers":{"a":{"url":"https://x/","oauth":{"clientId":"c","callbackPort":0}},"b":{"command":"c","oauth":{"clientId":"c"}}}}`), nil)
	if err != nil || c.Servers[0].Err == nil || c.Servers[1].Auth != nil {
		t.Errorf("%v %v", err, c.Servers)
	}
	// A record does not say it twice: it stays in Extra.
	c, err = Parse(t.Context(), "mcp.json", []byte(`{"mcpServers":{"a":{"url":"https://x/","oauth":{"clientId":"c"}}}}`), &Options{AsWritten: true})
	if err != nil || c.Servers[0].Auth != nil || c.Servers[0].Extra["oauth"] == nil {
		t.Errorf("%v %+v", err, c.Servers[0].Auth)
	}
}
