package schemagate

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// Whatever is read, it ends, it does not panic, and the errors are of the types
// that are promised.
func FuzzGate(f *testing.F) {
	for _, bomb := range bombs() {
		f.Add([]byte(bomb.schema), []byte(`{"a":[1]}`))
	}
	for _, seed := range smallTraps {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":["integer","null"]}}}`, `{"a":1e400}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"$id":"#a","items":[{"$ref":"#a"}]}}}`, `[[],1]`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"http://localhost/","unevaluatedItems":{"$anchor":"x"},"contains":{"$ref":"#x"}}`, `[1,2]`},
		{`{"x":{"y":[{"$id":"z","$defs":{"a":{"$ref":"#"}}}]},"not":{"$ref":"#/x/y/0/$defs/a"}}`, `"a"`},
		{`{"patternProperties":{"^\\u0061":{"oneOf":[{"multipleOf":0.01},{"enum":[{},[1e3]]}]}},"propertyNames":{"maxLength":3},"uniqueItems":true}`, `{"a":[1000.0]}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		for _, compile := range []func(json.RawMessage) (*Schema, error){Compile, CompileForm} {
			s, err := compile(schema)
			if err != nil {
				var refused *SchemaError
				if !errors.As(err, &refused) || refused.Token == "" || refused.Detail == "" {
					t.Fatalf("error %#v", err)
				}
				continue
			}
			checkSimple(t, s, value)
			err = s.Validate(value)
			if bare, ok := bareVerdict(s, schema, value); ok && bare != (err == nil) {
				t.Fatalf("%v, but the validator alone says %v", err, bare)
			}
			if err != nil {
				var wrong *Problem
				if !errors.As(err, &wrong) || wrong.Want == "" && wrong.Got == "" {
					t.Fatalf("error %#v", err)
				}
			}
		}
	})
}

// bareVerdict returns what the validator says without the rewriting of the gate,
// where it can be asked: the schema has passed the gate, and so has the value.
func bareVerdict(gate *Schema, schema, value []byte) (fits, ok bool) {
	for _, said := range []string{"format", "minL", "maxL", "minI", "maxI", "minC", "maxC", "minP", "maxP", `\\u`, "content"} {
		if bytes.Contains(schema, []byte(said)) {
			return false, false // is meant to be read in another way
		}
	}
	if jsonscan.Valid(value) != nil {
		return false, false
	}
	document, excess := read(schema, MaxNodes, MaxDepth)
	decoded, excess2 := read(value, 1_000, jsonscan.MaxDepth)
	if excess != fine || excess2 != fine || !affordable(gate.root, decoded, 100_000) {
		return false, false
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	if c.AddResource("bare:///", document) != nil {
		return false, false
	}
	s, err := c.Compile("bare:///")
	if err != nil {
		return false, false
	}
	return s.Validate(decoded) == nil, true
}
