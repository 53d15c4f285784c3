package schemagate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestModern(t *testing.T) {
	for _, c := range []struct{ old, want string }{
		{`{"type": "number", "minimum": 0, "exclusiveMinimum": true}`, `{"type":"number","exclusiveMinimum":0}`},
		{`{"exclusiveMaximum":true,"maximum":1e3,"minimum":1,"exclusiveMinimum":false}`, `{"minimum":1,"exclusiveMaximum":1e3}`},
		{`{"exclusiveMinimum":true}`, `{}`},
		{`{"properties":{"a":{"type":"string","required":true},"b":{"items":[{"maximum":2,"exclusiveMaximum":true}]}},"required":["a"]}`,
			`{"properties":{"a":{"type":"string"},"b":{"items":[{"exclusiveMaximum":2}]}},"required":["a"]}`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, `{"type":"object"}`},
		// What is called like a keyword and is none.
		{`{"properties":{"exclusiveMinimum":{"type":"boolean"},"required":{"exclusiveMinimum":true,"minimum":3}},"default":{"exclusiveMinimum":true}}`,
			`{"properties":{"exclusiveMinimum":{"type":"boolean"},"required":{"exclusiveMinimum":3}},"default":{"exclusiveMinimum":true}}`},
	} {
		got, old, _ := Modern(json.RawMessage(c.old))
		assert.Equal(t, string(got), c.want, "%s", c.old)
		assert.True(t, old, "%s: old", c.old)
		assert.OK(t, Check(got), "%s", got)
		_, old, _ = Modern(got)
		assert.False(t, old, "%s: old", got)
	}
	for _, same := range []string{
		`{"minimum":0, "exclusiveMinimum":1}`, `{"properties":{"required":{"type":"boolean"}} }`, `{"enum":[{"required": true}]}`, `{"required":true`, ``, `"required":true`, `{"exclusiveMinimum":"true"}`,
		`{"properties":{"a":{"description":"draft-04"}}}`,
	} {
		got, old, flaw := Modern(json.RawMessage(same))
		assert.Equal(t, string(got), same)
		assert.False(t, old, "%s: old", same)
		assert.Equal(t, flaw, "", "%s: flaw", same)
	}
}

// TestModernMendsFlaws: what a program writes that has nothing to say counts as absent, where
// nothing else can be meant.
func TestModernMendsFlaws(t *testing.T) {
	for _, c := range []struct{ flawed, want, flaw string }{
		{`{"type":"object","properties":null,"required":null}`, `{"type":"object"}`, `"properties" is written as null, and counts as absent`},
		{`{"properties":[],"required":[]}`, `{"required":[]}`, `"properties" is written as [], and counts as absent`},
		{`{"required":["a","b","a"]}`, `{"required":["a","b"]}`, `a name stands twice in "required", and counts once`},
		{`{"properties":{"a":{"items":null},"b":null,"c":[],"d":{"additionalProperties":[ ]}}}`, `{"properties":{"a":{},"b":{},"c":{},"d":{}}}`, `"items" is written as null, and counts as absent`},
		{`{"minimum":null,"exclusiveMinimum":true,"maximum":null}`, `{}`, `"maximum" is written as null, and counts as absent`},
		{`{"$schema":null,"$ref":null,"title":null,"default":null,"enum":[null]}`, `{"default":null,"enum":[null]}`, `"$schema" is written as null, and counts as absent`},
	} {
		got, _, flaw := Modern(json.RawMessage(c.flawed))
		assert.Equal(t, string(got), c.want, "%s", c.flawed)
		assert.Contains(t, flaw, c.flaw[len(`"properties"`):], "%s", c.flawed)
		assert.OK(t, Check(got), "%s", got)
	}
	for _, keyword := range []string{
		"type", "properties", "patternProperties", "definitions", "$defs", "required", "enum", "additionalProperties", "propertyNames", "contains", "not", "allOf", "anyOf",
		"oneOf", "items", "prefixItems", "if", "then", "else", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "pattern", "dependentRequired", "dependentSchemas", "format", "title", "description",
	} {
		for _, shape := range []string{`{"x":1,%q:null}`, `{"properties":{"a":{%q:null}}}`, `{"anyOf":[{%q:null,"x":[]}]}`} {
			flawed := fmt.Sprintf(shape, keyword)
			got, _, flaw := Modern(json.RawMessage(flawed))
			assert.Contains(t, flaw, keyword, "%s", flawed)
			assert.OK(t, Check(got), "%s, made of %s", got, flawed)
		}
	}
	// What could mean something else stays, and is refused.
	for _, refused := range []string{
		`{"properties":[{"name":"a"}]}`, `{"required":[null]}`, `{"required":["a",1,1]}`, `{"anyOf":[null,{"type":"string"}]}`, `{"anyOf":[]}`, `{"not":[]}`,
		`{"type":[]}`, `{"type":""}`, `{"additionalProperties":[{}]}`, `{"properties":{"a":[{"type":"string"}]}}`, `{"$dynamicRef":null}`,
	} {
		got, _, _ := Modern(json.RawMessage(refused))
		assert.Fails(t, Check(got), "%s", refused)
	}
}

// TestModernOfABomb: what is nested deep or wide takes no longer than other JSON.
func TestModernOfABomb(t *testing.T) {
	for _, bomb := range []string{
		strings.Repeat(`{"not":`, 100) + `{"exclusiveMinimum":true}` + strings.Repeat(`}`, 100),
		`{"allOf":[` + strings.Repeat(`{"exclusiveMinimum":true,"minimum":1},`, 6000) + `{}]}`,
		strings.Repeat(`[`, MaxBytes) + `"exclusiveMinimum`,
	} {
		got, _, _ := Modern(json.RawMessage(bomb))
		assert.False(t, len(got) > len(bomb), "%d bytes of %d are too many", len(got), len(bomb))
	}
}

func FuzzModern(f *testing.F) {
	f.Add(`{"properties":{"a":null,"b":[]},"required":["a","a"],"$defs":[],"not":null}`)
	f.Add(`{"minimum":0,"exclusiveMinimum":true,"properties":{"a":{"required":false}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		got, old, flaw := Modern(json.RawMessage(raw))
		mended := old || flaw != ""
		assert.True(t, mended && json.Valid(got) || !mended && string(got) == raw, "%q is JSON, or as it was: %q", got, raw)
		if Check(json.RawMessage(raw)) == nil {
			assert.OK(t, Check(got), "%q, made of %q", got, raw)
		}
	})
}
