package profile_test

import (
	"context"
	"encoding/json"
	"slices"
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
	asked := 0
	set, err := profile.Compile(p, []registry.Tool{&described{def}}, &profile.Options{AllowedCallers: func(d *registry.Definition) []string {
		asked++
		assert.Equal(t, d.Name, "find", "asked about")
		return callers
	}})
	if err != nil || len(set.Tools()) != 1 || asked > 1 {
		t.Fatal(err, set.Rejected(), asked)
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
		if got := string(c.Declaration()); !strings.HasSuffix(got, test.want) {
			t.Errorf("%s, %q: got\n%s\nwant\n…%s", test.provider, test.callers, got, test.want)
		}
		if programs := strings.Contains(test.want, "allowed_callers"); c.Programs() != programs || (c.AllowedCallers != nil) != programs {
			t.Errorf("%s, %q: %v, %q", test.provider, test.callers, c.Programs(), c.AllowedCallers)
		}
		if got := string(c.ChatDeclaration()); test.provider == profile.OpenAI && (strings.Contains(got, "callers") || strings.Contains(got, "output")) {
			t.Errorf("the other API gets %s", got)
		}
		if slices.ContainsFunc(c.Losses, func(l profile.Loss) bool { return l.Kind == profile.OutputDropped }) {
			t.Errorf("%s: %v", test.provider, c.Losses)
		}
	}
}

func TestAllowedCallersCopied(t *testing.T) {
	callers := []string{"programmatic"}
	c := called(t, profile.OpenAI, "", callers...)
	callers[0] = "direct"
	if !slices.Equal(c.AllowedCallers, []string{"programmatic"}) {
		t.Errorf("got %q", c.AllowedCallers)
	}
}

// TestOutputSchema has schemas that a provider may refuse a whole request for.
func TestOutputSchema(t *testing.T) {
	for output, want := range map[string]string{
		``:                           ``,
		`{"type":"object"}`:          `{"type":"object","properties":{}}`,
		`{"type":["object","null"]}`: `{"type":"object","properties":{}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"x":{"pattern":"(?i)x"}}}}}`: `{"type":"object","properties":{"x":{}}}`,
		`{"type":"array"}`:               `lost`,
		`{"$ref":"https://example.com"}`: `lost`,
		`{"$ref":"#"}`:                   `lost`,
		`{"type":"object","properties":{"a":{"type":"obj"}}}`: `lost`,
		`{"type":`: `lost`,
	} {
		c := called(t, profile.OpenAI, output, "programmatic")
		if want == "lost" {
			if c.OutputSchema != nil || len(c.Losses) != 1 || c.Losses[0].Kind != profile.OutputDropped || c.Losses[0].Effect != profile.Unsaid {
				t.Errorf("%s: got %s, %v", output, c.OutputSchema, c.Losses)
			}
			continue
		}
		if got := string(c.OutputSchema); got != want && !(want != "" && strings.HasPrefix(got, want[:len(want)-1])) || len(c.Losses) > 0 {
			t.Errorf("%s: got %s, %v", output, got, c.Losses)
		}
		if !json.Valid(c.Declaration()) {
			t.Errorf("%s: %s", output, c.Declaration())
		}
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
		turn, err := profile.NewTurn(t.Context(), reg, profile.OpenAI, opts)
		if err != nil || turn.Programs() != programs {
			t.Errorf("%s: %v, %v", caller, turn.Programs(), err)
		}
	}
}
