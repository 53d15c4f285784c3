package auth

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestChooseScopes(t *testing.T) {
	machine := &Client{ID: "c", Secret: "s", Issuer: "https://as.example"}
	for _, test := range []struct {
		name       string
		config     Config
		resource   []string // what the resource names
		listed     []string // what the authorization server lists
		challenges []string
		before     []string
		want       []string
		extra      []string // of the error
	}{
		{name: "nothing is named"},
		{name: "the resource's", resource: []string{"r", "s"}, want: []string{"r", "s"}},
		{name: "the challenge's", resource: []string{"r"}, challenges: []string{`Bearer scope="b a  b"`}, want: []string{"b", "a"}},
		{name: "of the challenge that has any", challenges: []string{`Basic realm=x, DPoP algs=ES256`, `Bearer scope=a`}, want: []string{"a"}},
		{name: "an empty challenge", resource: []string{"r"}, challenges: []string{`Bearer scope=""`}, want: []string{"r"}},
		{name: "what is none is left out", challenges: []string{"Bearer scope=\"a b\\\"c \u00e9 d\""}, want: []string{"a", "d"}},
		{name: "configured", config: Config{Scopes: []string{"x"}}, resource: []string{"r"}, challenges: []string{`Bearer scope=a`}, want: []string{"x"}},
		{name: "before is forgotten at a new login", challenges: []string{`Bearer error=invalid_token, scope=a`}, before: []string{"b"}, want: []string{"a"}},

		{name: "more rights", challenges: []string{`Bearer error="insufficient_scope", scope="c a"`}, before: []string{"a", "b"}, want: []string{"a", "b", "c"}},
		{name: "more rights than configured", config: Config{Scopes: []string{"x"}}, challenges: []string{`Bearer error="insufficient_scope", scope="c"`}, before: []string{"a"}, want: []string{"a", "x", "c"}},
		{name: "more rights, which are not named", resource: []string{"r"}, challenges: []string{`Bearer error="insufficient_scope"`}, before: []string{"a"}, want: []string{"a", "r"}},

		{name: "offline", resource: []string{"r"}, listed: []string{"offline_access", "r"}, want: []string{"r", "offline_access"}},
		{name: "offline alone", listed: []string{"offline_access"}, want: []string{"offline_access"}},
		{name: "offline is not listed", resource: []string{"r"}, listed: []string{"r"}, want: []string{"r"}},
		{name: "offline by device code", config: Config{Grant: DeviceCode}, listed: []string{"offline_access"}, want: []string{"offline_access"}},
		{name: "offline without a user", config: Config{Grant: ClientCredentials, Client: machine}, listed: []string{"offline_access"}},
		{name: "offline twice", challenges: []string{`Bearer scope="a offline_access"`}, listed: []string{"offline_access"}, want: []string{"a", "offline_access"}},
		{name: "offline within bounds", config: Config{MaxScopes: []string{"a"}}, challenges: []string{`Bearer scope="a offline_access"`}, listed: []string{"offline_access"}, want: []string{"a", "offline_access"}},

		// O10: the server gets no more than it may have.
		{name: "within bounds", config: Config{MaxScopes: []string{"a", "b"}}, challenges: []string{`Bearer scope="b"`}, want: []string{"b"}},
		{name: "beyond bounds", config: Config{MaxScopes: []string{"a"}}, challenges: []string{`Bearer scope="a b c"`}, extra: []string{"b", "c"}},
		{name: "step-up beyond bounds", config: Config{MaxScopes: []string{"a"}}, challenges: []string{`Bearer error=insufficient_scope, scope="b"`}, before: []string{"a"}, extra: []string{"b"}},
		{name: "before is bounded", config: Config{MaxScopes: []string{"a", "c"}}, challenges: []string{`Bearer error=insufficient_scope, scope="c"`}, before: []string{"a", "b"}, want: []string{"a", "c"}},
		{name: "no scope is allowed", config: Config{MaxScopes: []string{}}, challenges: []string{`Bearer scope="a"`}, extra: []string{"a"}},
		{name: "the resource's are bounded", config: Config{MaxScopes: []string{"s"}}, resource: []string{"r", "s"}, want: []string{"s"}},
		{name: "none of the resource's", config: Config{MaxScopes: []string{"x"}}, resource: []string{"r", "s"}, extra: []string{"r", "s"}},
		{name: "configured, whatever the server wants", config: Config{Scopes: []string{"a"}, MaxScopes: []string{"a"}}, challenges: []string{`Bearer scope="z"`}, want: []string{"a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.config.URL = "https://mcp.example/mcp"
			f := flowOf(t, &test.config)
			a := &Authority{ResourceScopes: test.resource, Scopes: test.listed}
			got, err := f.ChooseScopes(a, challengesOf(test.challenges...), test.before)
			if test.extra != nil {
				assert.Equal(t, fmt.Sprint(wantAs[*ScopeError](t, err).Scopes), fmt.Sprint(test.extra))
				return
			}
			assert.OK(t, err)
			assert.Equal(t, fmt.Sprint(got), fmt.Sprint(test.want), "scopes")
		})
	}
}

// The lists that are given stay as they are.
func TestChooseScopesCopies(t *testing.T) {
	scopes := append(make([]string, 0, 8), "x")
	f := flowOf(t, &Config{URL: "https://mcp.example", Scopes: scopes})
	got := assert.Value(f.ChooseScopes(&Authority{Scopes: []string{"offline_access"}}, nil, nil))(t)
	got[0] = "y"
	scopes[0] = "z"
	again := assert.Value(f.ChooseScopes(&Authority{}, nil, nil))(t)
	assert.Equal(t, fmt.Sprint(again), fmt.Sprint([]string{"x"}), "scopes")
}
