package cassette

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestRedact(t *testing.T) {
	r := &redactor{}
	for in, want := range map[string]string{
		`{ "b" : 1.50, "a" : [ ] }`:                                             `{"b":1.50,"a":[]}`,
		`{"Access-Token":"x","max_tokens":100,"PIN":1}`:                         `{"Access-Token":"[redacted]","max_tokens":100,"PIN":1}`,
		`{"password":1234,"secret":true,"token":null}`:                          `{"password":"[redacted]","secret":true,"token":null}`,
		`{"session":{"id":"x","n":[1,"y"]},"cookie":""}`:                        `{"session":{"id":"[redacted]","n":["[redacted]","[redacted]"]},"cookie":""}`,
		`{"text":"{\"password\": \"x\", \"a\": 1}"}`:                            `{"text":"{\"password\":\"[redacted]\",\"a\":1}"}`,
		`{"text":"{ \"a\": \"\\u0041\" }"}`:                                     `{"text":"{ \"a\": \"\\u0041\" }"}`,
		`"https://u:p@h/x?a=1&key=abc#f"`:                                       `"https://[redacted]@h/x?a=1&key=[redacted]#f"`,
		`"curl -H 'Authorization: Basic dTpw'\nnext"`:                           `"curl -H 'Authorization: [redacted]\nnext"`,
		`"use Bearer abc.def-123, or ghp_aB3dE5gH7jK9mN1pQ2aB3dE5gH7jK9mN1pQ2"`: `"use Bearer [redacted], or [redacted]"`,
		`"the monkey=1 and the author: me <b>&amp;"`:                            `"the monkey=1 and the author: me <b>&amp;"`,
		`{"inputSchema":{"properties":{"token":{"type":"string","minLength":1,"default":"x"}},"required":["token"]}}`: `{"inputSchema":{"properties":{"token":{"type":"string","minLength":1,"default":"[redacted]"}},"required":["token"]}}`,
	} {
		assert.Equal(t, string(r.json([]byte(in))), want, "%s", in)
	}
}
