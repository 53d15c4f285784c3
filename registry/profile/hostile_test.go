// Tests of compiler.go and strict.go: schemas that grow when they are written out.

package profile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// bombs are schemas that the gate of the registry lets through and that grow when
// they are written out.
func bombs() map[string]string {
	doubling := func(n int, body string) string {
		var defs []string
		for i := range n {
			defs = append(defs, fmt.Sprintf(`"d%d":`+body, i, i+1, i+1))
		}
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"string"}`, n))
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	}
	repeated := func(n int, text string) string { return strings.Repeat(text+",", n-1) + text }
	var wide []string
	for i := range 60 {
		wide = append(wide, fmt.Sprintf(`{"properties":{"p%d":{"type":"integer"}},"required":["p%d"]}`, i, i))
	}
	var names []string
	for i := range 2_000 {
		names = append(names, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/r"}`, i))
	}
	return map[string]string{
		"doubling":          doubling(40, `{"type":"object","properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}}`),
		"doubling arrays":   doubling(40, `{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/d%d"},{"type":"array","items":{"$ref":"#/$defs/d%d"}}]}}`),
		"doubling unions":   doubling(12, `{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`),
		"doubling merges":   doubling(12, `{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`),
		"one that is many":  `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"}}}`,
		"list of itself":    `{"type":"object","properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`,
		"product of unions": `{"type":"object","allOf":[{"anyOf":[` + strings.Join(wide, ",") + `]},{"anyOf":[` + strings.Join(wide, ",") + `]},{"oneOf":[` + strings.Join(wide, ",") + `]}]}`,
		"wide recursion":    `{"type":"object","properties":{` + strings.Join(names, ",") + `},"$defs":{"r":{"type":"object","properties":{"n":{"$ref":"#/$defs/r"},"m":{"$ref":"#"}}}}}`,
		"long enum":         `{"type":"object","properties":{"a":{"enum":[` + repeated(4_000, `"x"`) + `]}}}`,
		"many anys":         `{"type":"object","properties":{"a":{"type":"array","prefixItems":[` + repeated(2_000, `{}`) + `]}}}`,
		"deep":              `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 58) + `{}` + strings.Repeat(`}`, 58) + `}}`,
		"deep objects":      `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"object","properties":{"a":`, 28) + `{}` + strings.Repeat(`}}`, 28) + `}}`,
		"long names":        `{"type":"object","properties":{"` + strings.Repeat("n", 100_000) + `":{"x-1":1,"x-2":2,"type":"strin\u0067"}}}`,
		"many losses":       `{"type":"object","properties":{"a":{"type":"string",` + repeatedNumbered(3_000, `"x-%d":1`) + `}}}`,
	}
}

func repeatedNumbered(n int, form string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(form, i)
	}
	return strings.Join(all, ",")
}

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

// Hostile schemas stay small and the same, whatever they refer to, and turn arguments back.
// By default each is tried with one provider.
func TestHostileSchemas(t *testing.T) {
	limits := map[string]int{} // of the bytes that come of a schema
	for name, schema := range bombs() {
		limits[name] = max(96<<10, 3*len(schema))
	}
	all := bombs()
	for name, schema := range copies() {
		all[name], limits[name] = schema, 3*len(schema)
	}
	share := assert.Cases(len(providers), 1)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		schema := all[name]
		assert.OK(t, schemagate.Check(json.RawMessage(schema)), name)
		for j, p := range providers {
			if i%share != j%share {
				continue
			}
			t.Run(name+"/"+string(p), func(t *testing.T) {
				c := compiled(t, p, schema)
				assert.False(t, len(c.Schema) > limits[name], "%d bytes of %d are too many", len(c.Schema), len(schema))
				assert.False(t, len(c.Losses) > 260, "%d losses are too many", len(c.Losses))
				for _, l := range c.Losses {
					assert.False(t, len(l.Path) > 2_100 || len(l.Detail) > 500, "a loss of %d and %d bytes is too long", len(l.Path), len(l.Detail))
				}
				err := schemagate.Check(c.Schema)
				if refused := (*schemagate.SchemaError)(nil); errors.As(err, &refused) && refused.Token != schemagate.TooManyNodes {
					t.Errorf("got the error %v of %.300s, want none", err, c.Schema)
				}
				assert.True(t, string(compiled(t, p, schema).Schema) == string(c.Schema), "the schema is the same the second time")
				unmap(t, c, strings.Repeat(`{"a":`, 100)+`null`+strings.Repeat(`}`, 100))
			})
		}
	}
}

func TestSchemasAreBounded(t *testing.T) {
	schema := bombs()["doubling"]
	for _, p := range []profile.Provider{profile.Gemini, profile.Bedrock, profile.Ollama} {
		c := compiled(t, p, schema)
		assert.False(t, len(c.Schema) > 64<<10, "%s: %d bytes are too many", p, len(c.Schema))
		assert.True(t, tells(c, "too large") || tells(c, "too deep"), "%s: the losses tell of a cut: %v", p, c.Losses)
	}
}

func TestUnmapOfBombs(t *testing.T) {
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"a":{"$ref":"#/$defs/u"}},"$defs":{"u":{"anyOf":[`+
		`{"type":"object","properties":{"k":{"const":1},"u":{"$ref":"#/$defs/u"}}},{"type":"string"}]}}}`)
	assert.True(t, c.Strict, "strict (%v)", c.Losses)
	assert.Lacks(t, unmap(t, c, `{"a":`+strings.Repeat(`{"k":1,"u":`, 60)+`null`+strings.Repeat(`}`, 60)+`}`), "null")
}

// A tool of which alternatives are not told can be called all the same: strict mode
// would forbid what is not told.
func TestTooManyAlternativesAreNotForbidden(t *testing.T) {
	var alternatives []string
	for i := range 200 {
		alternatives = append(alternatives, fmt.Sprintf(`{"properties":{"p%d":{"type":"string"}},"required":["p%d"]}`, i, i))
	}
	union := `{"anyOf":[` + strings.Join(alternatives, ",") + `]}`
	for _, schema := range []string{
		`{"type":"object",` + union[1:],
		`{"type":"object","properties":{"a":{"type":"object",` + union[1:] + `}}`,
		`{"type":"object","allOf":[{"anyOf":[` + strings.Join(alternatives[:20], ",") + `]},{"anyOf":[` + strings.Join(alternatives[20:40], ",") + `]}]}`,
	} {
		c := compiled(t, profile.OpenAIStrict, schema)
		assert.False(t, c.Strict, "strict: %.200s", c.Schema)
		assert.True(t, tells(c, notStrict), "the losses tell that it is not strict: %v", c.Losses)
	}
}

// A model that has read of a tool elsewhere calls it as the registry does; what it
// writes is turned back all the same.
func TestUnmapRegistryName(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string"}}}`
	set := assert.Value(profile.Compile(profile.OpenAIStrict, []registry.Tool{tool("mail.send", schema)}, nil))(t)
	sent := set.Tools()[0].Name
	for _, name := range []string{sent, "mail.send"} {
		back, args, err := set.Unmap(name, json.RawMessage(`{"a":null}`))
		assert.OK(t, err)
		assert.Equal(t, back+" "+string(args), "mail.send {}", "%s", name)
	}
	// What the provider calls another tool comes first.
	set = assert.Value(profile.Compile(profile.OpenAIStrict, []registry.Tool{tool(sent, schema), tool("mail.send", schema)}, nil))(t)
	first, _ := set.Lookup(sent)
	assert.Equal(t, first.Definition.Name, sent, "the tool of %s", sent)
	other, _ := set.Lookup("mail.send")
	assert.Equal(t, other.Definition.Name, "mail.send", "the tool of mail.send")
}

// Names of definitions that are changed do not become those of others.
func TestDefinitionNamesDiffer(t *testing.T) {
	c := compiled(t, profile.Anthropic, `{"type":"object","properties":{"p":{"$ref":"#/$defs/a%20b"},"q":{"$ref":"#/$defs/a!b"},"r":{"$ref":"#/$defs/a_b_2"},"s":{"$ref":"#/$defs/a+b"}},
		"$defs":{"a b":{"type":"string"},"a!b":{"type":"integer"},"a_b_2":{"type":"boolean"},"a+b":{"type":"null"}}}`)
	const want = `"$defs":{"a_b":{"type":"string"},"a_b_2":{"type":"integer"},"a_b_2_2":{"type":"boolean"},"a_b_3":{"type":"null"}}}`
	assert.Contains(t, string(c.Schema), want)
}

// What is not told of is not required either.
func TestRequiredOfNothing(t *testing.T) {
	for _, p := range []profile.Provider{profile.Gemini, profile.Ollama} {
		c := compiled(t, p, `{"type":"object","properties":{"a":false,"b":{"type":"string"}},"required":["a","b"]}`)
		assert.Equal(t, string(c.Schema), `{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}`, "%s", p)
	}
}
