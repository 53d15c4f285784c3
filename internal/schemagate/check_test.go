package schemagate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Each keyword is held against the metaschema of its dialect, no more and no less
// strictly than Compile does.
func TestCheckShapes(t *testing.T) {
	values := []string{
		`null`, `true`, `0`, `1`, `-1`, `-0`, `1.0`, `1.5`, `1e2`, `-1e-2`, `0e5`, `"string"`, `"x"`, `""`, `{}`, `[]`,
		`["string"]`, `["string","string"]`, `["string","x"]`, `["string",1]`, `[1,1]`, `[null,null,true,true]`, `[{}]`, `[{},true]`, `[{},7]`, `[7]`, `[[]]`,
		`{"a":{}}`, `{"a":true}`, `{"a":7}`, `{"a":[]}`, `{"a":["b"]}`, `{"a":["b","b"]}`, `{"a":{"type":"strin"}}`, `{"type":"strin"}`, `{"type":"null"}`,
	}
	keywords := []string{
		"type", "properties", "patternProperties", "definitions", "$defs", "required", "enum", "const", "additionalProperties",
		"propertyNames", "contains", "not", "allOf", "anyOf", "oneOf", "items", "prefixItems", "additionalItems", "unevaluatedItems",
		"unevaluatedProperties", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
		"maxContains", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "pattern",
		"dependencies", "dependentSchemas", "dependentRequired", "if", "then", "else", "title", "description", "default", "examples",
		"format", "$comment", "readOnly", "deprecated", "contentEncoding", "contentSchema", "x-any", "$anchor", "$id", "$vocabulary",
	}
	share := assert.Cases(23, 1) // of the shapes, one of so many
	for _, dialect := range []string{
		"", "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
		"http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-06/schema#",
	} {
		for k, keyword := range keywords {
			for v, value := range values {
				if (k+v)%share != 0 {
					continue
				}
				for _, shape := range []string{`{%s"%s":%s}`, `{%s"properties":{"p":{"%s":%s}}}`} {
					said := ""
					if dialect != "" {
						said = fmt.Sprintf(`"$schema":%q,`, dialect)
					}
					schema := fmt.Sprintf(shape, said, keyword, value)
					_, want := Compile(json.RawMessage(schema))
					assert.Equal(t, (Check(json.RawMessage(schema)) == nil), want == nil, "%s", schema)
				}
			}
		}
	}
}

// Check never refuses what can be compiled, and says no to what cannot.
func FuzzCheck(f *testing.F) {
	for _, bomb := range bombs() {
		if len(bomb.schema) < 1<<12 {
			f.Add([]byte(bomb.schema))
		}
	}
	for _, seed := range []string{
		weather,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"if":{},"then":true}},"items":[{},{"minLength":1}]}`,
		`{"x":{"a":{"type":["string","null"]}},"allOf":[{"$ref":"#/x/a"}],"dependentRequired":{"a":["b"]},"multipleOf":0.5}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[true],"additionalItems":false,"minContains":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		err := Check(schema)
		var refused *SchemaError
		if err != nil && (!errors.As(err, &refused) || refused.Token == "" || refused.Detail == "") {
			t.Fatalf("error %#v", err)
		}
		_, want := Compile(schema)
		// What Check is known to overlook.
		beside := bytes.Contains(schema, []byte("ref")) || bytes.Contains(schema, []byte("draft-0")) || bytes.Contains(schema, []byte(`\u`))
		if err != nil && want == nil || err == nil && want != nil && !beside {
			t.Fatalf("Check says %v, Compile says %v", err, want)
		}
	})
}

// An enum that repeats itself is what generators make of two types with one value.
func TestEnumRepeats(t *testing.T) {
	s := mustCompile(t, `{"$schema":"http://json-schema.org/draft-07/schema#","enum":["a","b","a",1,1]}`)
	for value, fits := range map[string]bool{`"a"`: true, `"b"`: true, `1`: true, `"c"`: false, `2`: false} {
		assert.Equal(t, (s.Validate(json.RawMessage(value)) == nil), fits, "%s", value)
	}
}

// The same schema is refused in the same words each time.
func TestCheckIsPure(t *testing.T) {
	for _, schema := range []string{
		`{"type":7,"minLength":-1,"enum":7,"required":{},"properties":{"a":7,"b":7,"c":{"type":"x"},"d":{"type":"y"}}}`,
		`{"properties":{"a":{"$ref":"x"},"b":{"$ref":"y"},"c":{"$ref":"#/z"},"d":{"$anchor":"a"},"e":{"$anchor":"a"}}}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"},"c":{"$ref":"#/$defs/c"}}}`,
		`{"not":{"pattern":"(?=a)"},"properties":{"x":{"pattern":"(?=b)"},"y":{"pattern":"(?=c)"}}}`,
		`{"patternProperties":{"(?=a)":{},"(?=b)":{},"(?=c)":{}}}`,
	} {
		want := Check(json.RawMessage(schema))
		for range 50 {
			assert.Equal(t, Check(json.RawMessage(schema)).Error(), want.Error(), "%s", schema)
		}
	}
}

// A pattern costs its allowance once, however often it stands in a schema, so it is
// compiled once.
func TestPatternsAreCompiledOnce(t *testing.T) {
	p := newPatterns()
	first := assert.Value(p.engine("^a+$"))(t)
	left := p.left
	assert.Equal(t, assert.Value(p.engine("^a+$"))(t), first)
	assert.Equal(t, p.left, left, "instructions that are left")
}
