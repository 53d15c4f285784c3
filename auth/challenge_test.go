package auth

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

type params = map[string]string

func challengesOf(fields ...string) []Challenge {
	return Challenges(http.Header{"Www-Authenticate": fields})
}

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
			got := challengesOf(test.fields...)
			if len(got) == 0 && len(test.want) == 0 {
				return
			}
			assert.Equal(t, reflect.DeepEqual(got, test.want), true, "challenges of %q are\n", test.fields)
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
			assert.Equal(t, [...]any{c.Scheme == "", c.Scheme}, [...]any{false, strings.ToLower(c.Scheme)}, "scheme %q of %q", c.Scheme, field)
			for name := range c.Params {
				assert.Equal(t, [...]any{name == "", name}, [...]any{false, strings.ToLower(name)}, "parameter %q of %q", name, field)
			}
		}
		// What follows in a field of its own is never lost.
		after := challengesOf(field, "Bearer scope=x")
		assert.Equal(t, [...]any{len(after), after[len(got)].Params["scope"]}, [...]any{len(got) + 1, "x"}, "%q spoils the next field", field)
	})
}
