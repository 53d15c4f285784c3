package schemagate

import (
	"encoding/json"
	"errors"
	"testing"
)

// Whatever is read, it ends, it does not panic, and the errors are of the types
// that are promised.
func FuzzGate(f *testing.F) {
	for _, bomb := range bombs() {
		f.Add([]byte(bomb.schema), []byte(`{"a":[1]}`))
	}
	for _, trap := range traps() {
		if len(trap.value) < 1<<10 {
			f.Add([]byte(trap.schema), []byte(trap.value))
		}
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
			if err := s.Validate(value); err != nil {
				var wrong *ValueError
				if !errors.As(err, &wrong) || wrong.Want == "" || wrong.Got == "" {
					t.Fatalf("error %#v", err)
				}
			}
		}
	})
}
