package profile_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestWhole(t *testing.T) {
	for _, test := range []struct {
		name         string
		provider     profile.Provider
		schema, want string
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

// TestProperty has what becomes of one property, required, and what is told of it:
// effect and place behind "/properties/p".
func TestProperty(t *testing.T) {
	for _, test := range []struct {
		provider             profile.Provider
		schema, want, losses string
	}{
		{profile.OpenAI, `true`, `{}`, ``},
		{profile.OpenAI, `false`, `{"not":{}}`, ``},
		{profile.OpenAI, `{"type":"array"}`, `{"type":"array","items":{}}`, ``},
		{profile.OpenAI, `{"type":["array","null"],"prefixItems":[true]}`, `{"type":["array","null"],"prefixItems":[{}],"items":{}}`, ``},
		{profile.OpenAI, `{"enum":[]}`, `{}`, `looser /enum`},
		{profile.OpenAI, `{"enum":["a","a","b"]}`, `{"enum":["a","b"]}`, ``},
		{profile.OpenAI, `{"pattern":"^(?=a)"}`, `{}`, `looser /pattern`},
		{profile.OpenAI, `{"pattern":"\\p{L}"}`, `{}`, `looser /pattern`},
		{profile.OpenAI, `{"pattern":"^[\\w.-]+$"}`, `{"pattern":"^[\\w.-]+$"}`, ``},
		{profile.OpenAI, `{"pattern":"[\\w-.]"}`, `{}`, `looser /pattern`},
		{profile.OpenAI, `{"pattern":"[+-\\d]"}`, `{}`, `looser /pattern`},
		{profile.OpenAI, `{"pattern":"(?i)a"}`, `{}`, `looser /pattern`},
		{profile.OpenAI, `{"pattern":"[(?]"}`, `{"pattern":"[(?]"}`, ``},
		{profile.OpenAI, `{"patternProperties":{"^(?i)x":{"type":"string"},"^y":true},"additionalProperties":false}`, `{"patternProperties":{"^y":{}}}`, `looser /patternProperties/^(?i)x, looser /additionalProperties`},
		{profile.OpenAI, `{"maximum":1e400,"minimum":-1e3}`, `{"minimum":-1e3}`, `looser /maximum`},
		{profile.OpenAI, `{"description":7,"$comment":"c","title":"\u0041"}`, `{"$comment":"c","title":"A"}`, ``},
		{profile.Anthropic, `{"pattern":"^(?=a)"}`, `{"pattern":"^(?=a)"}`, ``},
		{profile.Anthropic, `{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{}`, `looser /dependencies`},
		{profile.Anthropic, `{"items":[{"type":"string"}],"additionalItems":{"type":"integer"}}`, `{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, ``},
		{profile.Bedrock, `{"oneOf":[{"type":"string"},{"type":"null"}],"$id":"x"}`, `{"oneOf":[{"type":"string"},{"type":"null"}]}`, ``},

		{profile.Gemini, `{"type":["string","null"],"minLength":1,"format":"uri"}`, `{"type":["string","null"]}`, `looser /minLength`},
		{profile.Gemini, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"date-time"}`, ``},
		{profile.Gemini, `{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":9.5}`, `{"type":"integer","minimum":2,"maximum":9.5}`, `looser /exclusiveMaximum`},
		{profile.Gemini, `{"type":"number","exclusiveMinimum":1}`, `{"type":"number","minimum":1}`, `looser /exclusiveMinimum`},
		{profile.Gemini, `{"const":"a"}`, `{"type":"string","enum":["a"]}`, ``},
		{profile.Gemini, `{"anyOf":[{"const":"a"},{"const":"b"},{"type":"null"}],"description":"d"}`, `{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}],"description":"d"}`, ``},
		{profile.Gemini, `{"enum":["","a"]}`, `{"type":"string","enum":["a"]}`, `narrower /enum`},
		{profile.Gemini, `{"type":"boolean","enum":[true]}`, `{"type":"boolean"}`, `looser /enum`},
		{profile.Gemini, `{"type":["string","integer"]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, ``},
		{profile.Gemini, `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"required":["a"],"properties":{"a":{"description":"d"}}}]}`, `{"type":"object","properties":{"a":{"type":"string","description":"d"}},"required":["a"]}`, ``},
		{profile.Gemini, `{"allOf":[{"type":"number","minimum":3,"maximum":5},{"minimum":1,"maximum":4}]}`, `{"type":"number","minimum":3,"maximum":4}`, ``},
		{profile.Gemini, `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"additionalProperties":false},{"properties":{"a":true,"b":{"type":"string"}}}]}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, ``},
		{profile.Gemini, `{"type":"object","allOf":[{"properties":{"a":true,"b":{"type":"string"}}},{"properties":{"a":{"type":"string"}},"additionalProperties":false}]}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, ``},
		{profile.Gemini, `{"oneOf":[{"type":"string"},{"type":"string","format":"date"}]}`, `{"anyOf":[{"type":"string"},{"type":"string","format":"date"}]}`, `looser /oneOf`},
		{profile.Gemini, `{"properties":{"a":{"type":"string"}},"not":{"required":["a"]}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `narrower , looser /not`},
		{profile.Gemini, `{"type":"string","properties":{"a":true},"items":{}}`, `{"type":"string"}`, ``},
		{profile.Gemini, `{"type":"object","required":["a"],"additionalProperties":{"type":"integer"}}`, `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":{"type":"integer"}}`, ``},

		{profile.OpenAIStrict, `{}`, `{}`, `looser `},
		{profile.OpenAIStrict, `true`, `{}`, `looser `},
		{profile.OpenAIStrict, `{"description":"what"}`, `{"description":"what"}`, `looser `},
		{profile.OpenAIStrict, `{"type":"string","minLength":1,"pattern":"^a","default":"a","x-a":1}`, `{"type":"string","pattern":"^a"}`, `looser /minLength`},
		{profile.OpenAIStrict, `{"type":"string","format":"uri"}`, `{"type":"string"}`, ``},
		{profile.OpenAIStrict, `{"type":"array","items":{"type":"integer"},"uniqueItems":true,"minItems":1}`, `{"type":"array","items":{"type":"integer"},"minItems":1}`, `looser /uniqueItems`},
		{profile.OpenAIStrict, `{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}],"minItems":2,"items":false}`, `{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}],"minItems":2,"items":{"not":{}}}`, `looser `},
		{profile.OpenAIStrict, `{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`, `narrower /properties/a`},
		{profile.OpenAIStrict, `{"type":"object","properties":{"a":{"enum":["x","y"]}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x","y",null]}},"required":["a"],"additionalProperties":false}`, ``},
		{profile.OpenAIStrict, `{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`, ``},
		{profile.OpenAIStrict, `{"type":"object"}`, `{"type":"object"}`, `looser `},
		{profile.OpenAIStrict, `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`, `looser `},
		{profile.OpenAIStrict, `{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{}}}`, `{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{}}}`, `looser `},
		{profile.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, `looser /required`},
		{profile.OpenAIStrict, `{"type":["string","integer"]}`, `{"type":["string","integer"]}`, `looser `},
		{profile.OpenAIStrict, `{"enum":["a",{}]}`, `{"enum":["a",{}]}`, `looser `},
		{profile.OpenAIStrict, `{"type":"string","enum":["a",1]}`, `{"type":"string","enum":["a"]}`, ``},
		{profile.OpenAIStrict, `{"const":7}`, `{"type":"number","enum":[7]}`, ``},
		{profile.OpenAIStrict, `{"allOf":[{"type":"string"},{"minLength":1}]}`, `{"allOf":[{"type":"string"},{"minLength":1}]}`, `looser /allOf`},
		{profile.OpenAIStrict, `{"allOf":[{"type":"string","title":"T"}],"description":"d"}`, `{"type":"string","description":"d","title":"T"}`, ``},
		{profile.OpenAIStrict, `{"oneOf":[{"type":"string"},{"type":"integer"}],"description":"d"}`, `{"anyOf":[{"type":"string"},{"type":"integer"}],"description":"d"}`, ``},
		{profile.OpenAIStrict, `{"type":"string","anyOf":[{"minLength":1},{"pattern":"a"}]}`, `{"type":"string","anyOf":[{"minLength":1},{"pattern":"a"}]}`, `looser /anyOf`},
		{profile.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"not":{"required":["a"]}}],"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`, `looser /anyOf`},

		{profile.Ollama, `{"type":["string","integer"],"minLength":2}`, `{"type":["string","integer"]}`, `looser /minLength`},
		{profile.Ollama, `true`, `{}`, ``},
		{profile.Ollama, `{"type":"array","items":{"type":"string","minLength":2}}`, `{"type":"array","items":{"type":"string","minLength":2}}`, ``},
		{profile.Ollama, `{"enum":[12345678901234567890]}`, `{"type":"integer"}`, `narrower /enum, looser /enum`},
		{profile.Ollama, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `looser /required`},
	} {
		t.Run(string(test.provider)+" "+test.schema, func(t *testing.T) {
			c := compiled(t, test.provider, `{"type":"object","properties":{"p":`+test.schema+`},"required":["p"],"additionalProperties":false}`)
			var s struct{ Properties struct{ P json.RawMessage } }
			assert.OK(t, json.Unmarshal(c.Schema, &s))
			assert.Equal(t, string(s.Properties.P), test.want)
			var losses []string
			for _, l := range c.Losses {
				if place, ok := strings.CutPrefix(l.Path, "/properties/p"); ok {
					losses = append(losses, string(l.Effect)+" "+place)
				}
			}
			want := strings.Split(test.losses, ", ")
			if test.losses == "" {
				want = nil
			}
			slices.Sort(losses)
			slices.Sort(want)
			assert.Equal(t, fmt.Sprintf("%q", losses), fmt.Sprintf("%q", want))
		})
	}
}

// TestRoot has what becomes of the schema of the arguments.
func TestRoot(t *testing.T) {
	for _, test := range []struct {
		provider     profile.Provider
		schema, want string
	}{
		{profile.OpenAI, `{"type":["object","null"],"not":{"required":["a"]},"enum":[{}]}`, `{"type":"object","properties":{}}`},
		{profile.Anthropic, `{"not":{"required":["a"]},"if":{"required":["b"]},"then":{"required":["c"]}}`, `{"type":"object","not":{"required":["a"]},"if":{"required":["b"]},"then":{"required":["c"]},"properties":{}}`},
		{profile.Bedrock, `{"type":"object","title":"T","required":[],"properties":{"a":true},"additionalProperties":false}`, `{"type":"object","properties":{"a":{}}}`},
		{profile.Gemini, `{"type":"object","title":"T","$schema":"https://json-schema.org/draft/2020-12/schema","additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false,"title":"T"}`},
		{profile.Ollama, `{"type":"object","title":"T","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"const":"x"}}}`, `{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`},
		{profile.Gemini, `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}}}`,
			`{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object"}}}}}}}}}`},
		{profile.Bedrock, `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}}}`,
			`{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object","properties":{"n":{"type":"object"}}}}}}}}}`},
		{profile.OpenAI, `{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b"},"b":{"$ref":"#/$defs/a%20b"},"c":{"$ref":"#/properties/d/anyOf/1"},"d":{"anyOf":[true,{"type":"null"}]}},"$defs":{"a/b":{"type":"string"},"a b":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a_b"},"b":{"$ref":"#/$defs/a_b_2"},"c":{"$ref":"#/$defs/1"},"d":{"anyOf":[{},{"type":"null"}]}},"$defs":{"a_b":{"type":"string"},"a_b_2":{"type":"integer"},"1":{"type":"null"}}}`},
		{profile.OpenAIStrict, `{"allOf":[{"$ref":"#/$defs/A"},{"properties":{"b":{"$ref":"#/$defs/B","description":"mine"}},"required":["b"]}],"$defs":{"A":{"properties":{"a":{"type":"string"}},"required":["a"]},"B":{"type":"integer"}},"unevaluatedProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"anyOf":[{"$ref":"#/$defs/B"}],"description":"mine"}},"required":["a","b"],"additionalProperties":false,"$defs":{"B":{"type":"integer"}}}`},
	} {
		t.Run(string(test.provider)+" "+test.schema, func(t *testing.T) {
			assert.Equal(t, string(compiled(t, test.provider, test.schema).Schema), test.want)
		})
	}
}

// TestLosses has what is told of schemas of which some is lost.
func TestLosses(t *testing.T) {
	const alternatives = `{"anyOf":[{"type":"object","properties":{"a":{}},"minProperties":1},{"type":"object","properties":{"b":{}},"title":"T"}]}`
	for _, test := range []struct {
		provider     profile.Provider
		schema, want string
	}{
		{profile.Ollama, `{"properties":{"p":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}]}}}`, "looser /properties/p the provider does not take a schema for each element"},
		{profile.Gemini, `{"properties":{"p":false,"q":{"type":"string"}}}`, "looser /properties/p no value fits this property"},
		{profile.OpenAI, alternatives, "narrower /anyOf a property has the schemas of the alternatives"},
		{profile.OpenAI, alternatives, "looser /anyOf/0/minProperties"},
		{profile.OpenAI, alternatives, ""},
		{profile.Bedrock, bombs()["doubling"], "the schema is too large with all references written out; this one is not"},
	} {
		assert.Contains(t, fmt.Sprint(compiled(t, test.provider, test.schema).Losses), test.want, "%s, %.200s", test.provider, test.schema)
	}
}

// TestNotStrict has schemas that are too much for strict mode.
func TestNotStrict(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{"type":"string"}` + strings.Repeat(`}}`, n)
	}
	for name, schema := range map[string]string{
		"deep":            nested(11),
		"many properties": `{"type":"object","properties":{` + repeatedNumbered(5_001, `"p%d":true`) + `}}`,
		"many values":     `{"type":"object","properties":{"a":{"enum":[` + repeatedNumbered(1_001, `"%d"`) + `]}},"required":["a"]}`,
	} {
		c := compiled(t, profile.OpenAIStrict, schema)
		assert.False(t, c.Strict, "%s: strict", name)
		assert.True(t, tells(c, notStrict), "%s: the losses tell of it: %v", name, c.Losses)
		assert.Equal(t, string(compiled(t, profile.OpenAI, schema).Schema), string(c.Schema), "%s", name)
		assert.Contains(t, string(c.Declaration()), `"strict":false`, name)
		assert.Equal(t, unmap(t, c, `{"a":null}`), `{"a":null}`, name)
	}
	for _, schema := range []string{
		nested(10),
		`{"type":"object","properties":{"a":{"enum":[` + repeatedNumbered(1_000, `"%d"`) + `]}},"required":["a"]}`,
	} {
		c := compiled(t, profile.OpenAIStrict, schema)
		assert.True(t, c.Strict, "strict (%v)", c.Losses)
	}
}

// issueSchema is what many tools of servers look like.
const issueSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
	"owner":{"type":"string","description":"Repository owner"},"repo":{"type":"string","description":"Repository name"},
	"title":{"type":"string","minLength":1,"description":"Issue title"},"body":{"type":"string","description":"Issue body content"},
	"assignees":{"type":"array","items":{"type":"string"},"description":"Users to assign"},
	"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"state":{"type":["string","null"],"enum":["open","closed",null],"default":"open"},
	"milestone":{"anyOf":[{"type":"integer","exclusiveMinimum":0},{"type":"null"}]},
	"author":{"$ref":"#/definitions/user"},"reviewer":{"$ref":"#/definitions/user"}},
	"definitions":{"user":{"type":"object","properties":{"login":{"type":"string"},"email":{"type":"string","format":"email"}},"required":["login"],"additionalProperties":false}},
	"required":["owner","repo","title"],"additionalProperties":false}`

func BenchmarkCompile(b *testing.B) {
	tools := make([]registry.Tool, 10_000)
	for i := range tools {
		tools[i] = tool(fmt.Sprintf("server%d__tool_%d", i/50, i), issueSchema)
	}
	for _, p := range providers {
		b.Run(string(p)+"/10000", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set, err := profile.Compile(p, tools, nil)
				assert.OK(b, err)
				assert.Equal(b, len(set.Tools()), len(tools))
			}
		})
	}
}

func BenchmarkUnmap(b *testing.B) {
	c := compiled(b, profile.OpenAIStrict, issueSchema)
	args := json.RawMessage(`{"owner":"a","repo":"b","title":"c","body":null,"assignees":["x","y"],"labels":[{"key":"k","value":"v"}],"state":null,"milestone":7,"author":{"login":"l","email":null},"reviewer":null}`)
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(c.Unmap(args))(b)
	}
}
