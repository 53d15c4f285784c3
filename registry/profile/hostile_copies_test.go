package profile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// copies are schemas with much that is referred to many times.
func copies() map[string]string {
	names := repeatedNumbered(1_000, `"p%d"`)
	others := strings.ReplaceAll(names, `"p`, `"q`)
	text := strings.Repeat("x", 30_000)
	long := strings.Repeat("a", 44)
	alternatives := repeatedNumbered(120, `{"$ref":"#/$defs/a","title":"%d"}`)
	return map[string]string{
		"a long description":             `{"type":"object","properties":{` + repeatedNumbered(1_500, `"p%d":{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":{"type":"string","description":"` + text + `"}}}`,
		"a long value in a union":        `{"type":"object","properties":{"p":{"oneOf":[` + alternatives + `]}},"$defs":{"a":{"enum":["` + text + `"]}}}`,
		"unknown keywords":               `{"type":"object","properties":{` + repeatedNumbered(1_000, `"p%d":{"$ref":"#/$defs/a"}`) + `},"$defs":{"a":{"type":["string","number"],` + repeatedNumbered(2_000, `"x-%d":1`) + `}}}`,
		"required names in a union":      `{"type":"object","required":[` + names + `],"anyOf":[` + alternatives + `],"$defs":{"a":{"properties":{"b":{}},"required":[` + others + `]}}}`,
		"definitions of nearly one name": `{"type":"object","properties":{` + repeatedNumbered(500, `"p%d":{"$ref":"#/$defs/`+long+`%[1]d"}`) + `},"$defs":{` + repeatedNumbered(500, `"`+long+`%d":{"type":"string"}`) + `}}`,
	}
}

func TestCopies(t *testing.T) {
	if raced {
		t.Skip("make norace runs it")
	}
	for name, schema := range copies() {
		if err := schemagate.Check(json.RawMessage(schema), schemagate.Limits{}); err != nil {
			t.Fatalf("%s does not get here: %v", name, err)
		}
		for _, p := range everyProvider() {
			t.Run(name+"/"+string(p), func(t *testing.T) {
				c := compiled(t, p, schema)
				if most := 3 * len(schema); len(c.Schema) > most {
					t.Errorf("%d bytes of %d became %d", most, len(schema), len(c.Schema))
				}
			})
		}
	}
}

// A model that has read of a tool elsewhere calls it as the registry does; what it
// writes is turned back all the same.
func TestUnmapRegistryName(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string"}}}`
	set, err := profile.Compile(profile.OpenAIStrict, []registry.Tool{tool("mail.send", schema)}, nil)
	assert.OK(t, err)
	sent := set.Tools()[0].Name
	for _, name := range []string{sent, "mail.send"} {
		back, args, err := set.Unmap(name, json.RawMessage(`{"a":null}`))
		if back != "mail.send" || string(args) != `{}` || err != nil {
			t.Errorf("%s: got %s %s %v", name, back, args, err)
		}
	}
	// What the provider calls another tool comes first.
	set = assert.Value(profile.Compile(profile.OpenAIStrict, []registry.Tool{tool(sent, schema), tool("mail.send", schema)}, nil))(t)
	if got, _ := set.Lookup(sent); got.Definition.Name != sent {
		t.Errorf("%s is %s", sent, got.Definition.Name)
	}
	if got, ok := set.Lookup("mail.send"); !ok || got.Definition.Name != "mail.send" || got.Name == sent {
		t.Errorf("mail.send is %v", fmt.Sprint(got, ok))
	}
}

// Names of definitions that are changed do not become those of others.
func TestDefinitionNamesDiffer(t *testing.T) {
	c := compiled(t, profile.Anthropic, `{"type":"object","properties":{"p":{"$ref":"#/$defs/a%20b"},"q":{"$ref":"#/$defs/a!b"},"r":{"$ref":"#/$defs/a_b_2"},"s":{"$ref":"#/$defs/a+b"}},
		"$defs":{"a b":{"type":"string"},"a!b":{"type":"integer"},"a_b_2":{"type":"boolean"},"a+b":{"type":"null"}}}`)
	const want = `"$defs":{"a_b":{"type":"string"},"a_b_2":{"type":"integer"},"a_b_2_2":{"type":"boolean"},"a_b_3":{"type":"null"}}}`
	if !strings.HasSuffix(string(c.Schema), want) {
		t.Errorf("got %s\nwant %s", c.Schema, want)
	}
}

// What is not told of is not required either.
func TestRequiredOfNothing(t *testing.T) {
	for _, p := range []profile.Provider{profile.Gemini, profile.Ollama} {
		c := compiled(t, p, `{"type":"object","properties":{"a":false,"b":{"type":"string"}},"required":["a","b"]}`)
		if want := `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`; string(c.Schema) != want {
			t.Errorf("%s: got %s", p, c.Schema)
		}
	}
}
