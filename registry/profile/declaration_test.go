package profile_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestDeclaration(t *testing.T) {
	schema := `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`
	all := &profile.Options{Deferred: func(*registry.Definition) bool { return true }}
	const (
		lax    = `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`
		strict = `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}`
	)
	for _, test := range []struct {
		provider profile.Provider
		opts     *profile.Options
		want     string
	}{
		{profile.OpenAI, nil, `{"type":"function","name":"find","description":"Does find","parameters":` + lax + `,"strict":false}`},
		{profile.OpenAI, all, `{"type":"function","name":"find","description":"Does find","parameters":` + lax + `,"strict":false,"defer_loading":true}`},
		{profile.OpenAIStrict, nil, `{"type":"function","name":"find","description":"Does find","parameters":` + strict + `,"strict":true}`},
		{profile.Anthropic, nil, `{"name":"find","description":"Does find","input_schema":` + lax + `}`},
		{profile.Anthropic, all, `{"name":"find","description":"Does find","input_schema":` + lax + `,"defer_loading":true}`},
		{profile.Gemini, all, `{"name":"find","description":"Does find","parametersJsonSchema":` + lax + `}`},
		{profile.Bedrock, all, `{"toolSpec":{"name":"find","description":"Does find","inputSchema":{"json":` + lax + `}}}`},
		{profile.Ollama, all, `{"type":"function","function":{"name":"find","description":"Does find","parameters":` + lax + `}}`},
	} {
		c := assert.Value(profile.Compile(test.provider, []registry.Tool{tool("find", schema)}, test.opts))(t).Tools()[0]
		assert.Equal(t, string(c.Declaration()), test.want, "%s", test.provider)
		assert.Equal(t, c.Deferred, strings.Contains(test.want, "defer_loading"), "%s: Deferred", test.provider)
	}
}

func TestChatDeclaration(t *testing.T) {
	long := strings.Repeat("é", 1_100)
	def := registry.Definition{Name: "find", Description: long, InputSchema: json.RawMessage(`{"type":"object"}`)}
	c := assert.Value(profile.Compile(profile.OpenAI, []registry.Tool{&described{def: def}}, nil))(t).Tools()[0]
	want := `{"type":"function","function":{"name":"find","description":"` + strings.Repeat("é", 1_023) + `…","parameters":{"type":"object","properties":{}},"strict":false}}`
	assert.Equal(t, string(c.ChatDeclaration()), want)
	assert.Contains(t, string(c.Declaration()), long, "the description is cut where it need not be")
	other, _ := profile.Compile(profile.Bedrock, []registry.Tool{&described{def: def}}, nil)
	assert.Equal(t, string(other.Tools()[0].ChatDeclaration()), string(other.Tools()[0].Declaration()))
	assert.Equal(t, len(other.Tools()[0].Losses), 0, "losses of a provider with one API")
}

func TestNoDescriptionAndNoArguments(t *testing.T) {
	for _, text := range []string{"", " \n\t", "\u00a0"} {
		def := registry.Definition{Name: "now", Description: text, InputSchema: json.RawMessage(`{"type":"object"}`)}
		for p, want := range map[profile.Provider]string{
			profile.Gemini:       `{"name":"now"}`,
			profile.Bedrock:      `{"toolSpec":{"name":"now","inputSchema":{"json":{"type":"object","properties":{}}}}}`,
			profile.OpenAIStrict: `{"type":"function","name":"now","parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false},"strict":true}`,
		} {
			set := assert.Value(profile.Compile(p, []registry.Tool{&described{def: def}}, nil))(t)
			assert.Equal(t, string(set.Tools()[0].Declaration()), want, "%s", p)
		}
	}
}

func TestRejected(t *testing.T) {
	set := assert.Value(profile.Compile(profile.OpenAI, []registry.Tool{
		nil,
		&described{},
		tool("good", `{"type":"object"}`),
		tool("good", `{"type":"object"}`),
		tool("remote", `{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`),
		tool("loop", `{"$ref":"#"}`),
		tool("list", `{"type":"array"}`),
		tool("never", `{"type":"object","allOf":[{"type":"string"}]}`),
		tool("broken", `{"type":"obj`),
		tool("also good", `{"type":["object","null"],"properties":{}}`),
	}, nil))(t)
	assert.Equal(t, len(set.Tools()), 2)
	assert.Equal(t, len(set.Rejected()), 8)
	for i, r := range set.Rejected() {
		if !errors.As(r.Err, new(*registry.DefinitionError)) {
			assert.As[*registry.DuplicateError](t, r.Err)
		}
		if i > 1 {
			assert.Contains(t, r.Err.Error(), r.Definition.Name)
		}
	}
	assert.Contains(t, assert.Err(profile.Compile("mistral", nil, nil)).Error(), "unknown provider \"mistral\"; use one of openai")
	assert.Equal(t, len(assert.Value(profile.Compile(profile.Gemini, nil, nil))(t).Tools()), 0)
}

// TestNullOfAlternatives has alternatives of which a value could be of either.
func TestNullOfAlternatives(t *testing.T) {
	for schema, strict := range map[string]bool{
		`[{"type":"object","properties":{"k":{"const":"a"},"v":{"type":"string"}}},{"type":"object","properties":{"k":{"const":"b"},"v":{"type":["string","null"]}},"required":["v"]}]`: false,
		`[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]`:                                     true,
		`[{"type":"array","items":{"type":"object","properties":{"v":{"type":"string"}}}},{"type":"array","items":{"type":"string"}}]`:                                                  false,
		`[{"$ref":"#/$defs/o"},{"anyOf":[{"type":"string"},{"$ref":"#/$defs/o"}]}]`:                                                                                                     false,
		`[{"$ref":"#/$defs/o"},{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/o"}}]}]`:                                                                            true,
		`[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}}}]`:                                                                                                    true,
	} {
		c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"u":{"anyOf":`+schema+`}},"required":["u"],"$defs":{"o":{"type":"object","properties":{"a":{"type":"string"}}}}}`)
		assert.Equal(t, c.Strict, strict, "%s %v", schema, c.Losses)
		loss := slices.ContainsFunc(c.Losses, func(l profile.Loss) bool {
			return strings.Contains(l.Detail, notStrict) && l.Path == "/properties/u/anyOf"
		})
		assert.Equal(t, loss, !strict, "a loss tells of %s: %v", schema, c.Losses)
	}
}
