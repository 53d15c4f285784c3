package profile_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestWhole(t *testing.T) {
	for _, test := range []struct {
		name     string
		provider profile.Provider
		schema   string
		want     string
	}{
		{"no arguments", profile.OpenAI, `{"type":"object"}`, `{"type":"object","properties":{}}`},
		{"order and numbers", profile.OpenAI, `{"properties":{"b":{"minimum":1.50,"type":"number"},"a":{"default":12345678901234567890}},"type":"object"}`,
			`{"type":"object","properties":{"b":{"minimum":1.50,"type":"number"},"a":{"default":12345678901234567890}}}`},
		{"union at the root", profile.Anthropic, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"anyOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"properties":{"c":{"type":"integer"}}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"integer"}},"required":["a"]}`},
		{"reference at the root", profile.OpenAI, `{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"next":{"$ref":"#/definitions/A"}}}}}`,
			`{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}}}}}`},
		{"inlined", profile.Bedrock, `{"type":"object","additionalProperties":false,"properties":{"n":{"$ref":"#/$defs/N","description":"mine"}},"$defs":{"N":{"type":"integer"}}}`,
			`{"type":"object","properties":{"n":{"description":"mine","type":"integer"}}}`},
		{"tuple", profile.Anthropic, `{"type":"object","properties":{"p":{"type":"array","items":[{"type":"number"},{"type":"string"}],"additionalItems":false}}}`,
			`{"type":"object","properties":{"p":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"items":{"not":{}}}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, string(compiled(t, test.provider, test.schema).Schema), test.want)
		})
	}
}
