package profile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

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

// What it costs to find out of which alternative a value is must not depend on how
// many values there are times how many are listed.
func TestUnmapLongEnum(t *testing.T) {
	if raced {
		t.Skip("make norace runs it")
	}
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","required":["x"],"properties":{"x":{"type":"array","items":{"anyOf":[
		{"enum":[`+repeatedNumbered(990, `1000%d`)+`]},{"type":"object","additionalProperties":{"type":"string"}}]}}}}`)
	if !c.Strict {
		t.Fatal("not strict")
	}
	for _, n := range []int{10, 5_000} {
		args := `{"x":[` + strings.Repeat("5,", n) + `[{"key":"k","value":"v"}]]}`
		got, err := c.Unmap(json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		want := args
		if n == 10 { // beyond the bound, it is the registry's to refuse
			want = strings.Replace(args, `[{"key":"k","value":"v"}]`, `{"k":"v"}`, 1)
		}
		if string(got) != want {
			t.Errorf("%d: got %.80s", n, got)
		}
	}
}

// A model may write an object where pairs are asked for, among named properties too.
func TestUnmapRestAsObject(t *testing.T) {
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"object","additionalProperties":{"type":"integer"}}}`)
	for args, want := range map[string]string{
		`{"a":"x","additional_properties":{"b":[{"key":"n","value":1}],"c":{"m":2}}}`: `{"a":"x","b":{"n":1},"c":{"m":2}}`,
		`{"a":null,"additional_properties":{}}`:                                       `{}`,
		`{"additional_properties":{"b":{}}, "a":"x"}`:                                 `{"b":{}, "a":"x"}`,
	} {
		if got, err := c.Unmap(json.RawMessage(args)); string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v; want %s", args, got, err, want)
		}
	}
	if got, err := c.Unmap(json.RawMessage(`{"a":"x","additional_properties":{"a":{}}}`)); err == nil {
		t.Errorf("a name twice: got %s", got)
	}
}

// A model that has read of a tool elsewhere calls it as the registry does; what it
// writes is turned back all the same.
func TestUnmapRegistryName(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string"}}}`
	set, err := profile.Compile(profile.OpenAIStrict, []registry.Tool{tool("mail.send", schema)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent := set.Tools()[0].Name
	for _, name := range []string{sent, "mail.send"} {
		back, args, err := set.Unmap(name, json.RawMessage(`{"a":null}`))
		if back != "mail.send" || string(args) != `{}` || err != nil {
			t.Errorf("%s: got %s %s %v", name, back, args, err)
		}
	}
	// What the provider calls another tool comes first.
	set, err = profile.Compile(profile.OpenAIStrict, []registry.Tool{tool(sent, schema), tool("mail.send", schema)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := set.Lookup(sent); got.Definition.Name != sent {
		t.Errorf("%s is %s", sent, got.Definition.Name)
	}
	if got, ok := set.Lookup("mail.send"); !ok || got.Definition.Name != "mail.send" || got.Name == sent {
		t.Errorf("mail.send is %v", fmt.Sprint(got, ok))
	}
}

func TestNoteBehindDescription(t *testing.T) {
	for text, want := range map[string]string{
		`the tool's arguments`: "the tool's arguments. JSON in a string.",
		`Any. `:                "Any. JSON in a string.",
		`what (or how)`:        "what (or how). JSON in a string.",
		`任意`:                   "任意. JSON in a string.",
		`任意。`:                  "任意。 JSON in a string.",
		` `:                    "JSON in a string.",
		`one of:`:              "one of: JSON in a string.",
	} {
		c := compiled(t, profile.OpenAIStrict, `{"type":"object","required":["a"],"properties":{"a":{"description":"`+text+`"}}}`)
		var got struct {
			Properties struct {
				A struct{ Description string }
			}
		}
		if err := json.Unmarshal(c.Schema, &got); err != nil || got.Properties.A.Description != want {
			t.Errorf("%q: got %q, %v; want %q", text, got.Properties.A.Description, err, want)
		}
	}
}

// Where a string or an object may stand, a text that happens to be other JSON is the
// string.
func TestUnmapStringOrObject(t *testing.T) {
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"a":{"type":["string","object"]}}}`)
	for args, want := range map[string]string{
		`{"a":"5"}`:         `{"a":"5"}`,
		`{"a":"true"}`:      `{"a":"true"}`,
		`{"a":"[1]"}`:       `{"a":"[1]"}`,
		`{"a":"{\"b\":1}"}`: `{"a":{"b":1}}`,
		`{"a":"\"5\""}`:     `{"a":"5"}`,
		`{"a":"plain"}`:     `{"a":"plain"}`,
	} {
		if got, err := c.Unmap(json.RawMessage(args)); string(got) != want || err != nil {
			t.Errorf("%s: got %s, %v; want %s", args, got, err, want)
		}
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
