package auth

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/deadport"
)

// Several authorization servers: a works, b is gone, c has no metadata, d is of
// another issuer, e fails.
func TestSeveralAuthorizationServers(t *testing.T) {
	for _, test := range []struct {
		name   string
		named  string
		config Config
		issuer string // Config.Issuer
		client string // Config.Client.Issuer
		choose string // what Config.ChooseIssuers returns
		before string
		want   string // the issuer, or the error's type
	}{
		{name: "first", named: "ax", want: "a"},
		{name: "one is gone", named: "ba", want: "a"},
		{name: "one has none", named: "ca", want: "a"},
		{name: "one fails", named: "ea", want: "a"},
		{name: "one is wrong", named: "da", want: "*auth.IssuerMismatchError"},
		{name: "all are bad", named: "bce", want: "*auth.DiscoveryError"},
		{name: "none", named: "", want: "*auth.DiscoveryError"},
		{name: "the one of before", named: "xa", before: "a", want: "a"},
		{name: "the one of before is named no more", named: "xa", before: "c", want: "x"},
		{name: "configured", named: "xa", issuer: "a", want: "a"},
		{name: "configured, not named", named: "x", issuer: "a", want: "*auth.IssuerMismatchError"},
		{name: "configured, none named", named: "", issuer: "a", want: "a"},
		{name: "the client's", named: "xa", client: "a", want: "a"},
		{name: "the client's is gone", named: "bx", client: "b", want: "*auth.DiscoveryError"},
		{name: "chosen", named: "xa", config: Config{ChooseIssuers: func(n []string) []string { slices.Reverse(n); return n }}, want: "a"},
		{name: "chosen, but it was not named", named: "x", choose: "a", want: "*auth.DiscoveryError"},
		{name: "too many", named: "bbbbbbbba", want: "a"}, // each counts once
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newSite(t)
			sites := map[rune]*site{}
			for _, r := range "abcdex" {
				sites[r] = newSite(t)
			}
			sites['b'].url = deadport.URL(t)
			sites['a'].put(rootAS, jsonDoc(authorityDoc(sites['a'].url, nil)))
			sites['d'].put(rootAS, jsonDoc(authorityDoc(sites['a'].url, nil)))
			sites['e'].put(rootAS, status(500))
			sites['x'].put(rootAS, jsonDoc(authorityDoc(sites['x'].url, nil)))
			named := []string{}
			for _, r := range test.named {
				named = append(named, sites[r].url)
			}
			urlOf := func(name string) string {
				if name == "" {
					return ""
				}
				return sites[rune(name[0])].url
			}
			server.resource(pathPRM, server.url+"/mcp", named...)
			test.config.URL, test.config.Issuer = server.url+"/mcp", urlOf(test.issuer)
			if test.choose != "" {
				test.config.ChooseIssuers = func([]string) []string { return []string{urlOf(test.choose)} }
			}
			if test.client != "" {
				test.config.Client = &Client{ID: "c", Issuer: urlOf(test.client)}
			}
			a, err := flowOf(t, &test.config).Discover(t.Context(), &DiscoverOptions{Issuer: urlOf(test.before)})
			if strings.HasPrefix(test.want, "*") {
				assert.Equal(t, fmt.Sprintf("%T", err), test.want, "error %v", err)
				return
			}
			assert.OK(t, err)
			assert.Equal(t, a.Issuer, urlOf(test.want), "issuer")
			assert.Equal(t, len(sites['e'].asked()) <= 1, true, "one that fails was asked on")
		})
	}
}

// Many servers write the issuer with a slash that it does not have, or without the
// one it has. Without a word from the configuration that is another issuer.
func TestIssuerWithASlashTooMuch(t *testing.T) {
	for _, slash := range []string{"", "/"} {
		server, as := newSite(t), newSite(t)
		issuer := as.url + slash
		named := as.url + "/"
		if slash != "" {
			named = as.url
		}
		server.resource(pathPRM, server.url+"/mcp", named)
		as.put(rootAS, jsonDoc(authorityDoc(issuer, members{
			"authorization_endpoint": as.url + "/authorize", "token_endpoint": as.url + "/token",
		})))
		_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil)
		assert.Equal(t, wantAs[*IssuerMismatchError](t, err).What, "metadata")
		assert.Contains(t, err.Error(), "set Issuer")
		for _, c := range []Config{{Issuer: issuer}, {Client: &Client{ID: "c", Issuer: issuer}}} {
			c.URL = server.url + "/mcp"
			a, err := flowOf(t, &c).Discover(t.Context(), nil)
			assert.OK(t, err, "issuer %q", issuer)
			assert.Equal(t, a.Issuer, issuer, "issuer %q", issuer)
		}
	}
}

func TestTooManyAuthorizationServers(t *testing.T) {
	server, last := newSite(t), newSite(t)
	last.put(rootAS, jsonDoc(authorityDoc(last.url, nil)))
	var named []string
	for i := range maxIssuers {
		named = append(named, fmt.Sprintf("%s/%d", newSite(t).url, i))
	}
	server.resource(pathPRM, server.url+"/mcp", append(named, last.url)...)
	_, err := flowOf(t, &Config{URL: server.url + "/mcp"}).Discover(t.Context(), nil)
	wantAs[*DiscoveryError](t, err)
	last.wantAsked(t)
}
