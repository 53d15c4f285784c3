package profile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// called compiles a tool with an output schema that some may call.
func called(t *testing.T, p profile.Provider, output string, callers ...string) *profile.Tool {
	t.Helper()
	def := registry.Definition{Name: "find", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(output)}
	var asked []string
	set := assert.Value(profile.Compile(p, []registry.Tool{&described{def: def}}, &profile.Options{AllowedCallers: func(d *registry.Definition) []string {
		asked = append(asked, d.Name)
		return callers
	}}))(t)
	if len(asked) > 0 {
		assert.Equal(t, fmt.Sprint(asked), "[find]", "asked about")
	}
	return set.Tools()[0]
}

func TestAllowedCallers(t *testing.T) {
	const output = `{ "type": "object", "properties": {"n": {"type": "integer", "description": "how many", "maximum": 9007199254740993}} }`
	const told = `,"output_schema":{"type":"object","properties":{"n":{"type":"integer","description":"how many","maximum":9007199254740993}}}`
	for _, test := range []struct {
		provider profile.Provider
		callers  []string
		want     string // how the declaration ends
	}{
		{profile.OpenAI, nil, `"strict":false}`},
		{profile.OpenAI, []string{"direct"}, `"strict":false}`},
		{profile.OpenAI, []string{" ", ""}, `"strict":false}`},
		{profile.OpenAI, []string{"programmatic"}, `"strict":false,"allowed_callers":["programmatic"]` + told + `}`},
		{profile.OpenAI, []string{"direct", " programmatic", "direct"}, `"strict":false,"allowed_callers":["direct","programmatic"]` + told + `}`},
		{profile.OpenAIStrict, []string{"programmatic"}, `"strict":true,"allowed_callers":["programmatic"]` + told + `}`},
		{profile.Anthropic, []string{"direct", "code_execution_20260120"}, `"properties":{}},"allowed_callers":["direct","code_execution_20260120"]}`},
		{profile.Gemini, []string{"programmatic"}, `{"name":"find"}`},
		{profile.Bedrock, []string{"programmatic"}, `"properties":{}}}}}`},
		{profile.Ollama, []string{"programmatic"}, `"properties":{}}}}`},
	} {
		c := called(t, test.provider, output, test.callers...)
		assert.True(t, strings.HasSuffix(string(c.Declaration()), test.want), "%s, %q: the declaration ends in %s", test.provider, test.callers, test.want)
		programs := strings.Contains(test.want, "allowed_callers")
		assert.Equal(t, c.Programs(), programs, "%s, %q: Programs", test.provider, test.callers)
		assert.Equal(t, c.AllowedCallers != nil, programs, "%s, %q: it has callers", test.provider, test.callers)
		if test.provider == profile.OpenAI {
			assert.Lacks(t, string(c.ChatDeclaration()), "callers", "%q: the other API", test.callers)
			assert.Lacks(t, string(c.ChatDeclaration()), "output", "%q: the other API", test.callers)
		}
	}
}

func TestAllowedCallersCopied(t *testing.T) {
	callers := []string{"programmatic"}
	c := called(t, profile.OpenAI, "", callers...)
	callers[0] = "direct"
	assert.Equal(t, fmt.Sprint(c.AllowedCallers), "[programmatic]", "the callers")
}

// TestOutputSchema has schemas that a provider may refuse a whole request for.
func TestOutputSchema(t *testing.T) {
	for output, want := range map[string]string{
		``:                           ``,
		`{"type":"object"}`:          `{"type":"object","properties":{}}`,
		`{"type":["object","null"]}`: `{"type":"object","properties":{}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"x":{"pattern":"(?i)x"}}}}}`: `{"type":"object","properties":{"x":{}}}`,
		`{"type":"array"}`:               ``,
		`{"$ref":"https://example.com"}`: ``,
		`{"$ref":"#"}`:                   ``,
		`{"type":"object","properties":{"a":{"type":"obj"}}}`: ``,
		`{"type":`: ``,
	} {
		c := called(t, profile.OpenAI, output, "programmatic")
		assert.Equal(t, string(c.OutputSchema), want, "%s: the schema", output)
		assert.True(t, json.Valid(c.Declaration()), "%s: the declaration is JSON: %s", output, c.Declaration())
	}
}

func TestTurnPrograms(t *testing.T) {
	reg := registry.New(nil)
	none := func(context.Context, struct{}) (string, error) { return "", nil }
	assert.OK(t, reg.Add(registry.MustFunc("a", "", none), registry.MustFunc("b", "", none)))
	for caller, programs := range map[string]bool{"programmatic": true, "direct": false} {
		opts := &profile.TurnOptions{Options: profile.Options{AllowedCallers: func(d *registry.Definition) []string {
			if d.Name == "b" {
				return []string{caller}
			}
			return nil
		}}}
		assert.Equal(t, assert.Value(profile.NewTurn(t.Context(), reg, profile.OpenAI, opts))(t).Set().Programs(), programs, "%s: Programs", caller)
	}
}
