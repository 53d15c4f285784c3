package toolbrief

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSignature(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"no parameters", `{"type":"object"}`, `()`},
		{"none, and no others", `{"type":"object","properties":{},"additionalProperties":false}`, `()`},
		{"any members", `{"type":"object","additionalProperties":{"type":"string"}}`, `(…)`},
		{"required first", `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a"]}`, `(a: integer, b?: string)`},
		{"enum", `{"properties":{"s":{"type":"string","enum":["open","closed"]},"n":{"enum":[1,null]}}}`, `(s?: "open"|"closed", n?: 1|null)`},
		{"long enum", `{"properties":{"s":{"type":"string","enum":["` + strings.Repeat("x", 200) + `"]},"t":{"enum":["` + strings.Repeat("x", 200) + `"]}}}`, `(s?: string…, t?: string…)`},
		{"const", `{"properties":{"s":{"const":"x"}}}`, `(s?: "x")`},
		{"types", `{"properties":{"s":{"type":["string","null"]},"a":{},"t":true,"f":false}}`, `(s?: string|null, a?: any, t?: any, f?: never)`},
		{"lists", `{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array"},"c":{"items":{"type":["string","null"]}},"d":{"type":"array","items":{"enum":["x","y"]}}}}`,
			`(a?: string[], b?: any[], c?: (string|null)[], d?: ("x"|"y")[])`},
		{"a list or null", `{"properties":{"a":{"type":["null","array"],"items":{"type":"string"}}}}`, `(a?: null|string[])`},
		{"a list of objects with a union", `{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{"type":["string","null"]}}}}}}`, `(a?: {x?: string|null}[])`},
		{"a list of objects or null", `{"properties":{"a":{"type":"array","items":{"type":["object","null"],"properties":{"x":{}}}}}}`, `(a?: ({x?: any}|null)[])`},
		{"objects", `{"properties":{"o":{"type":"object","properties":{"x":{"type":"object","properties":{"y":{"type":"object","properties":{"z":{}}}}}},"required":["x"]},"e":{"type":"object"},"f":{"type":"object","properties":{}}}}`,
			`(o?: {x: {y?: {…}}}, e?: object, f?: object)`},
		{"alternatives", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"oneOf":[{"const":1},{"const":2},{"const":3},{"const":4},{"const":5},{"const":6},{"const":7}]}}}`,
			`(a?: string|null, b?: 1|2|3|4|5|6|…)`},
		{"all of", `{"properties":{"a":{"allOf":[{"type":"string"}]},"b":{"allOf":[{"type":"string"},{"minLength":1}]}}}`, `(a?: string, b?: …)`},
		{"alternatives at the top", `{"type":"object","properties":{"a":{}},"anyOf":[{"required":["a"]}]}`, `(a?: any, …)`},
		{"references", `{"properties":{"a":{"$ref":"#/$defs/x~1y"},"b":{"$ref":"#/$defs/none"},"c":{"$ref":"https://example.com/x"}},"$defs":{"x/y":{"type":"integer"}}}`, `(a?: integer, b?: …, c?: …)`},
		{"the whole by reference", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"x":{"type":"string"}}}}}`, `(x?: string)`},
		{"an endless reference", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `(a?: …)`},
		{"a tree", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}`, `(next?: {next?: {next?: {…}}})`},
		{"odd names", `{"properties":{"a b":{},"":{},"x\n- y":{},"ünï":{},"$top":{},"a.b-c":{}}}`, `("a b"?: any, ""?: any, "x\n- y"?: any, "ünï"?: any, $top?: any, a.b-c?: any)`},
		{"an odd type", `{"properties":{"a":{"type":"x\ny"}}}`, `(a?: "x\ny")`},
		{"what means nothing", `{"properties":[1],"required":7,"type":{}}`, `()`},
		{"a parameter that means nothing", `{"properties":{"a":7,"b":null,"c":{"enum":[]},"d":{"enum":3},"e":{"items":[]},"f":{"anyOf":{}}}}`, `(a?: any, b?: any, c?: any, d?: any, e?: any[], f?: any)`},
	} {
		assert.Equal(t, Signature(json.RawMessage(c.schema)), c.want, "%s", c.name)
	}
}

// What has no room is left out, the inner parts first.
func TestSignatureHasBounds(t *testing.T) {
	var required, properties []string
	for i := range 12 {
		name := fmt.Sprintf("parameter%d", i)
		required = append(required, `"`+name+`"`)
		properties = append(properties, `"`+name+`":{"type":"object","properties":{"inner_one":{"type":"string"},"inner_two":{"type":"string"}}}`)
	}
	schema := `{"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
	assert.Contains(t, Signature(json.RawMessage(schema)), "(parameter0: {…}, parameter1: {…}, ")
	assert.Contains(t, Signature(json.RawMessage(schema)), "parameter11: {…})")
	hostile := map[string]string{
		"names":      `{"properties":{` + strings.Repeat(`"`+strings.Repeat("n", 100)+`":{},`, 1000) + `"z":{}}}`,
		"one name":   `{"properties":{"` + strings.Repeat("n", 100_000) + `":{}}}`,
		"a union":    `{"properties":{"a":` + strings.Repeat(`{"anyOf":[{"type":"string"},{"type":"null"},`, 30) + `{}` + strings.Repeat(`]}`, 30) + `}}`,
		"lists":      `{"properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 60) + `{}` + strings.Repeat(`}`, 60) + `}}`,
		"types":      `{"properties":{"a":{"type":["` + strings.Repeat(`x","`, 10_000) + `y"]}}}`,
		"references": `{"properties":{"a":{"$ref":"#/$defs/0"}},"$defs":{"0":{"anyOf":[{"$ref":"#/$defs/0"},{"$ref":"#/$defs/0"}]}}}`,
		"all of":     `{"properties":{"a":` + strings.Repeat(`{"allOf":[`, 5_000) + `{}` + strings.Repeat(`]}`, 5_000) + `}}`,
		"a tree":     `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"l":{"$ref":"#/$defs/n"},"r":{"$ref":"#/$defs/n"}}}}}`,
	}
	for name, schema := range hostile {
		got := Signature(json.RawMessage(schema))
		assert.False(t, len(got) > 2*maxSignature, "%s: %d are more than %d", name, len(got), 2*maxSignature)
		assert.True(t, utf8.ValidString(got), "%s: %q is UTF-8", name, got)
	}
}

// References through large parts of a schema are followed as far as that is no work.
func TestSignatureReadsLittle(t *testing.T) {
	const steps = 50
	ref := `{"$ref":"#/` + strings.Repeat("x/", steps) + `x"}`
	schema := `{"properties":{"a":{"$ref":"#/short"},"b":` + ref + `,"c":{"type":"object","properties":{"d":` + ref + `}}},"short":{"type":"null"},` +
		`"x":` + strings.Repeat(`{"x":`, steps) + `{"type":"integer"` + strings.Repeat(" ", maxSignatureRead/10) + `}` + strings.Repeat(`}`, steps) + `}`
	assert.Equal(t, Signature(json.RawMessage(schema)), `(a?: null, b?: …, c?: {d?: …})`)
	assert.Equal(t, Signature(json.RawMessage(strings.ReplaceAll(schema, " ", ""))), `(a?: null, b?: integer, c?: {d?: integer})`)
}

// Real schemas make signatures that are one line, hold the name of each required
// parameter, and are much shorter.
func TestSignaturesOfRealTools(t *testing.T) {
	all, whole, schemas, signatures := 0, 0, 0, 0
	for _, s := range toolcorpus.Servers() {
		for _, tool := range s.Tools {
			got := Signature(tool.InputSchema)
			assert.Equal(t, plain.Text(got), got, "%s %s", s.Name, tool.Name)
			assert.Lacks(t, got, "\n", "%s %s", s.Name, tool.Name)
			var schema struct{ Required []string }
			assert.OK(t, json.Unmarshal(tool.InputSchema, &schema))
			for _, name := range schema.Required {
				assert.Contains(t, got, parameterName(name)+": ", "%s/%s lacks %s", s.Name, tool.Name, name)
			}
			all++
			if !strings.Contains(got, more) {
				whole++
			}
			schemas, signatures = schemas+len(tool.InputSchema), signatures+len(got)
		}
	}
	assert.False(t, whole < all*8/10, "%d of %d signatures that say all are few", whole, all)
	assert.False(t, signatures > schemas/5, "%d bytes for %d bytes of schemas are many", signatures, schemas)
}

func TestType(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"type":"object","properties":{"id":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}},"required":["id"]}`, `{id: number, tags?: string[]}`},
		{`{"type":"object","properties":{"state":{"enum":["open","closed"]}}}`, `{state?: "open"|"closed"}`},
		{`{"type":["integer","null"]}`, `number|null`},
		{`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"object","properties":{"n":{"type":"number"}}}}}`, `{n?: number}[]`},
		{`{"type":"object"}`, `object`},
		{`{}`, `any`},
	} {
		assert.Equal(t, Type([]byte(c.schema)), c.want, "%s", c.schema)
	}
}
