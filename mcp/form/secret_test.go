package form_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

func TestSecrets(t *testing.T) {
	for _, test := range []struct {
		name, schema string
		want         bool
	}{
		{"password", `{"type":"string"}`, true},
		{"dbPassword2", `{"type":"string"}`, true},
		{"user_passwd", `{"type":"string"}`, true},
		{"API-Key", `{"type":"string"}`, true},
		{"apikeys", `{"type":"array"}`, true},
		{"accessKey", `{"type":"string"}`, true},
		{"client.secret", `{"type":"string"}`, true},
		{"x", `{"type":"string","title":"Your GitHub token"}`, true},
		{"x", `{"type":"string","format":"password"}`, true},
		{"pin", `{"type":"integer"}`, true},
		{"p\u0430ssword", `{"type":"string"}`, true},
		{"pass\u200bword", `{"type":"string"}`, true},
		{"credentials", `{"type":"string"}`, true},
		{"name", `{"type":"string","title":"Your name"}`, false},
		{"secretary", `{"type":"string"}`, false},
		{"passwordless", `{"type":"boolean"}`, false},
		{"max_tokens", `{"type":"integer"}`, false},
		{"keepSecret", `{"type":"boolean"}`, false},
		{"token", `{"type":"string","enum":["BTC","ETH"]}`, false},
		{"keyboard", `{"type":"string"}`, false},
		{"access", `{"type":"string"}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := assert.Value(json.Marshal(test.name))(t)
			f := assert.Value(form.Parse(fmt.Appendf(nil, `{"properties":{"first":{"type":"string"},%s:%s}}`, name, test.schema)))(t)
			assert.Equal(t, f.Fields[1].Secret, test.want)
			want := ""
			if test.want {
				want = "Field 2 asks for what looks like a secret, such as a password or a token. Servers must not ask for that in a form."
			}
			assert.Equal(t, strings.Join(f.Warnings(), "|"), want)
		})
	}
}
