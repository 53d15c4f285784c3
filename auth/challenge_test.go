package auth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestChallenges(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields []string
		want   []Challenge
	}{
		{"none", nil, nil},
		{"empty", []string{"", " ,, "}, nil},
		{"scheme alone", []string{"Bearer"}, []Challenge{{"bearer", nil}}},
		{"parameters", []string{`Bearer realm="a, b", scope="x y", error=invalid_token`},
			[]Challenge{{"bearer", params{"realm": "a, b", "scope": "x y", "error": "invalid_token"}}}},
		{"case and blanks", []string{"BEARER \t Scope = \"x\" ,\tRealm\t=\ty"},
			[]Challenge{{"bearer", params{"scope": "x", "realm": "y"}}}},
		{"escapes", []string{`Bearer realm="a\"b\\c\d"`}, []Challenge{{"bearer", params{"realm": `a"b\cd`}}}},
		{"several in one field", []string{`Basic realm="x", DPoP algs="ES256 RS256", error="use_dpop_nonce", Bearer, Digest a=1`},
			[]Challenge{{"basic", params{"realm": "x"}}, {"dpop", params{"algs": "ES256 RS256", "error": "use_dpop_nonce"}}, {"bearer", nil}, {"digest", params{"a": "1"}}}},
		{"several fields", []string{`Bearer a=1`, `DPoP b=2`}, []Challenge{{"bearer", params{"a": "1"}}, {"dpop", params{"b": "2"}}}},
		{"no parameter crosses fields", []string{`Bearer`, `a=1`}, []Challenge{{"bearer", nil}}},
		{"token68", []string{`Negotiate abc/+==, Bearer a=1`}, []Challenge{{"negotiate", nil}, {"bearer", params{"a": "1"}}}},
		{"token68 at the end", []string{`NTLM TlRMTVNTUAAB=`}, []Challenge{{"ntlm", nil}}},
		{"first of two counts", []string{`Bearer a=1, A=2`}, []Challenge{{"bearer", params{"a": "1"}}}},
		{"empty value", []string{`Bearer scope=""`}, []Challenge{{"bearer", params{"scope": ""}}}},
		// What servers send, though they must not.
		{"no commas", []string{`Bearer realm="x" scope="y z"  error=e`}, []Challenge{{"bearer", params{"realm": "x", "scope": "y z", "error": "e"}}}},
		{"bare address", []string{`Bearer resource_metadata=https://a.example/x?y=z, b=1`},
			[]Challenge{{"bearer", params{"resource_metadata": "https://a.example/x?y=z", "b": "1"}}}},
		{"parameter without scheme", []string{`realm="x", Bearer a=1`}, []Challenge{{"bearer", params{"a": "1"}}}},
		{"quote without end", []string{`Bearer a=1, b="x, c=2`, `DPoP d=3`}, []Challenge{{"bearer", params{"a": "1"}}, {"dpop", params{"d": "3"}}}},
		{"escape at the end", []string{`Bearer a=1, b="x\`}, []Challenge{{"bearer", params{"a": "1"}}}},
		{"junk between", []string{`Bearer a=1, ?;"q, r", @@, DPoP b=2`}, []Challenge{{"bearer", params{"a": "1"}}, {"dpop", params{"b": "2"}}}},
		{"junk in a word", []string{`Bea"rer, DPoP b=2`}, []Challenge{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, fmt.Sprintf("%q", challengesOf(test.fields...)), fmt.Sprintf("%q", test.want), "challenges")
		})
	}
}

func FuzzChallenges(f *testing.F) {
	for _, seed := range []string{
		`Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource", scope="files:read"`,
		`Bearer error="insufficient_scope", scope="a b", error_description="say \"please\""`,
		`DPoP algs="ES256", error="use_dpop_nonce"`,
		`Negotiate YII=, Basic realm=x`, `Bearer realm="`, `=`, `,`, `"`, `a "b\`, "\x00\xff", `Bearer a==b==`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		got := challengesOf(field)
		for _, c := range got {
			for _, name := range append(slices.Collect(maps.Keys(c.Params)), c.Scheme) {
				assert.Equal(t, name, strings.ToLower(name), "a name in %q", field)
				assert.True(t, name != "", "there is a name in %q", field)
			}
		}
		// What follows in a field of its own is never lost.
		after := challengesOf(field, "Bearer scope=x")
		assert.Equal(t, len(after), len(got)+1, "challenges after %q", field)
		assert.Equal(t, after[len(got)].Params["scope"], "x", "scope after %q", field)
	})
}

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
	} {
		t.Run(test.name, func(t *testing.T) {
			test.config.URL = "https://mcp.example/mcp"
			f := flowOf(t, &test.config)
			a := &Authority{ResourceScopes: test.resource, Scopes: test.listed}
			assert.Equal(t, fmt.Sprint(f.ChooseScopes(a, challengesOf(test.challenges...), test.before)), fmt.Sprint(test.want), "scopes")
		})
	}
}

// The lists that are given stay as they are.
func TestChooseScopesCopies(t *testing.T) {
	scopes := append(make([]string, 0, 8), "x")
	f := flowOf(t, &Config{URL: "https://mcp.example", Scopes: scopes})
	got := f.ChooseScopes(&Authority{Scopes: []string{"offline_access"}}, nil, nil)
	got[0] = "y"
	scopes[0] = "z"
	assert.Equal(t, fmt.Sprint(f.ChooseScopes(&Authority{}, nil, nil)), "[x]", "scopes")
}
