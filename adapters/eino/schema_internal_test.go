package eino

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

var oddSchemas = []string{
	`true`, `false`, `{}`,
	`{"type":"object","properties":{}}`,
	`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":["string","null"]},"m":{"$ref":"#/$defs/M"}},"required":["z"],"$defs":{"M":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`,
	`{"nullable":true,"type":"string","x-order":[3,1,2],"definitions":{"a":{"type":"string"}}}`,
	`{"properties":{"a":{},"b":true,"c":false,"d":{"items":{}}}}`,
	`{"default":null,"const":null}`, `{"default":false}`, `{"default":""}`, `{"default":0}`, `{"default":{"z":1,"a":2}}`,
	`{"enum":[9007199254740993,1e400,"a",null,0.1]}`, `{"const":12345678901234567890123}`, `{"examples":[9007199254740993]}`,
	`{"minimum":-0,"maximum":1e400,"multipleOf":0.1,"minLength":0,"maxLength":1.0}`,
	`{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}`,
	`{"anyOf":[],"$defs":{},"patternProperties":{},"required":[],"enum":[],"dependentRequired":{}}`,
	`{"anyOf":[{},true,{"nullable":true}],"not":{},"additionalProperties":{}}`,
	`{"additionalProperties":false,"unevaluatedProperties":false,"uniqueItems":false,"deprecated":false}`,
	`{"type":[],"title":"","description":""}`, `{"type":"object","type2":null}`, `{"type":null}`, `{"type":["string",1]}`,
	`{"properties":{"a\"b":{"type":"string"},"ü\u0000é":{"type":"integer"},"<b>&":{"type":"null"},"":{"type":"array"}}}`,
	`{"properties":{"Type":{"type":"string"},"type":{"type":"integer"},"TYPE":{}},"Type":"x","TITLE":1}`,
	`{"properties":[],"$defs":null,"allOf":{},"not":7,"dependentSchemas":{"a":1}}`,
	`{"description":"</script> \u2028 \ud83d\ude00 & <"}`,
	`{"$ref":"#/$defs/a","$anchor":"b","$dynamicRef":"#c","$id":"https://example.com/s","$schema":"https://json-schema.org/draft/2020-12/schema","$comment":"d"}`,
	`{"if":{"type":"string"},"then":{"minLength":1},"else":{"nullable":true},"dependentSchemas":{"a":{"nullable":true}},"contains":{},"minContains":0,"propertyNames":{"pattern":"^a"},"contentSchema":{}}`,
	`{"Extras":{"a":1},"boolean":true,"TypeUnion":"string","TypeEnhanced":["a"]}`,
}

// checkSchema compares the JSON of the schema that a model gets with what it was made of.
func checkSchema(t *testing.T, raw []byte) {
	t.Helper()
	s, err := schemaOf(raw)
	if err != nil {
		t.Errorf("%s: %v", raw, err)
		return
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Errorf("%s: %v", raw, err)
		return
	}
	a := assert.Value(canonjson.Append(nil, raw))(t)
	b := assert.Value(canonjson.Append(nil, got))(t)
	assert.True(t, bytes.Equal(a, b), "%s\nbecomes %s", raw, got)
	if a, b := order(raw, "", false), order(got, "", false); !slices.Equal(a, b) {
		t.Errorf("%s\nhas its properties in another order: %s\n%q\n%q", raw, got, a, b)
	}
}

// order returns the names of all properties in their order, by place.
func order(raw []byte, place string, properties bool) []string {
	byPlace := map[string][]string{}
	var walk func(raw []byte, place string, properties bool)
	walk = func(raw []byte, place string, properties bool) {
		i := 0
		for e := range jsonscan.Elements(raw) {
			walk(e, fmt.Sprintf("%s/%d", place, i), false)
			i++
		}
		for key, value := range jsonscan.Fields(raw) {
			if properties {
				byPlace[place] = append(byPlace[place], string(key))
			}
			walk(value, place+"/"+string(key), !properties && string(key) == "properties")
		}
	}
	walk(raw, place, properties)
	var all []string
	for place, names := range byPlace {
		all = append(all, fmt.Sprintf("%q: %q", place, names))
	}
	slices.Sort(all)
	return all
}

func TestSchemaKeepsAll(t *testing.T) {
	for _, raw := range oddSchemas {
		checkSchema(t, []byte(raw))
		checkSchema(t, []byte(`{"type":"object","properties":{"b":{"nullable":true},"a":`+raw+`},"items":`+raw+`,"$defs":{"x":`+raw+`}}`))
	}
}

// Schemas as servers have them stay readable in the fields of the type, for the models
// that do not write its JSON.
func TestSchemaHasFields(t *testing.T) {
	s := assert.Value(schemaOf([]byte(`{"type":"object","nullable":true,"properties":{"b":{"type":"string","enum":["x"],"x-y":1},"a":{"anyOf":[{"type":"integer"},{}]}},"required":["b"],"$defs":{"d":{"type":"null","z":1}}}`)))(t)
	b, ok := s.Properties.Get("b")
	if !ok || b.Type != "string" || len(b.Enum) != 1 || b.Enum[0] != "x" || s.Type != "object" || s.Required[0] != "b" {
		t.Errorf("the fields are %+v", s)
	}
	if a, ok := s.Properties.Get("a"); !ok || a.AnyOf[0].Type != "integer" || s.Definitions["d"].Type != "null" {
		t.Errorf("the fields are %+v", s)
	}
}

func TestSchemaThatIsNone(t *testing.T) {
	for _, raw := range []string{``, `{`, `null`, `7`, `"object"`, `[]`, `{} {}`} {
		if s, err := schemaOf([]byte(raw)); err == nil && raw != "null" {
			t.Errorf("%q became %+v", raw, s)
		}
	}
}

func FuzzSchema(f *testing.F) {
	for _, raw := range oddSchemas {
		f.Add(raw)
	}
	files, _ := filepath.Glob("../../registry/profile/testdata/*/*.json")
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(string(data))
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		raw = strings.TrimSpace(raw)
		if jsonscan.Valid([]byte(raw)) != nil || raw == "" || raw[0] != '{' && raw != "true" && raw != "false" {
			t.Skip()
		}
		checkSchema(t, []byte(raw))
	})
}
