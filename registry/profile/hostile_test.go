package profile_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

func TestBombs(t *testing.T) {
	if raced {
		t.Skip("make norace runs it")
	}
	for name, schema := range bombs() {
		if err := schemagate.Check(json.RawMessage(schema), schemagate.Limits{}); err != nil {
			t.Errorf("%s does not get here: %v", name, err)
			continue
		}
		for _, p := range everyProvider() {
			t.Run(name+"/"+string(p), func(t *testing.T) {
				c := compiled(t, p, schema)
				if most := max(96<<10, 3*len(schema)); len(c.Schema) > most {
					t.Errorf("%d bytes of %d became %d", most, len(schema), len(c.Schema))
				}
				if len(c.Losses) > 260 {
					t.Errorf("%d losses", len(c.Losses))
				}
				for _, l := range c.Losses {
					if len(l.Path) > 2_100 || len(l.Detail) > 500 {
						t.Errorf("a long loss: %d, %d", len(l.Path), len(l.Detail))
					}
				}
				err := schemagate.Check(c.Schema, schemagate.Limits{})
				if refused := (*schemagate.SchemaError)(nil); errors.As(err, &refused) && refused.Token != schemagate.TooManyNodes {
					t.Errorf("%v: %.300s", err, c.Schema)
				}
				if again := compiled(t, p, schema); string(again.Schema) != string(c.Schema) {
					t.Error("the schema is another one the second time")
				}
				args := json.RawMessage(strings.Repeat(`{"a":`, 100) + `null` + strings.Repeat(`}`, 100))
				if _, err := c.Unmap(args); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestMaxSchemaBytes(t *testing.T) {
	schema := bombs()["doubling"]
	for _, p := range []profile.Provider{profile.Gemini, profile.Bedrock, profile.Ollama} {
		for _, most := range []int{3_000, 10_000, 100_000} {
			set := assert.Value(profile.Compile(p, []registry.Tool{tool("t", schema)}, &profile.Options{MaxSchemaBytes: most}))(t)
			c := set.Tools()[0]
			if len(c.Schema) > most {
				t.Errorf("%s: at most %d bytes, not %d", p, most, len(c.Schema))
			}
			cut := false
			for _, l := range c.Losses {
				cut = cut || l.Kind == profile.ReferenceCut || l.Kind == profile.DepthCut
			}
			if !cut {
				t.Errorf("%s: nothing was cut, says %v", p, c.Losses)
			}
		}
	}
}

func TestUnmapOfBombs(t *testing.T) {
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"a":{"$ref":"#/$defs/u"}},"$defs":{"u":{"anyOf":[`+
		`{"type":"object","properties":{"k":{"const":1},"u":{"$ref":"#/$defs/u"}}},{"type":"string"}]}}}`)
	if !c.Strict {
		t.Fatalf("not strict: %v", c.Losses)
	}
	deep := strings.Repeat(`{"k":1,"u":`, 60) + `null` + strings.Repeat(`}`, 60)
	if got, err := c.Unmap(json.RawMessage(`{"a":` + deep + `}`)); err != nil || strings.Contains(string(got), "null") {
		t.Errorf("got %s, %v", got, err)
	}
	for _, args := range []string{
		strings.Repeat(`{"a":`, 10_000), strings.Repeat(`[`, 10_000), `{"a":1,"a":2}`, `{"a":1`, "{\"a\":\"\xff\"}", `nul`, `{} {}`,
	} {
		var refused *registry.ArgumentsError
		if _, err := c.Unmap(json.RawMessage(args)); !errors.As(err, &refused) {
			t.Errorf("%.20s: %v", args, err)
		} else if len(refused.Error()) > 1_000 || refused.Tool != "t" {
			t.Errorf("%.20s: %.2000s", args, refused.Error())
		}
	}
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
		if c.Strict || !slices.ContainsFunc(c.Losses, func(l profile.Loss) bool { return l.Kind == profile.NotStrict }) {
			t.Errorf("strict %t, %.200s", c.Strict, c.Schema)
		}
	}
}
