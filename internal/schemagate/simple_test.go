package schemagate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// checkSimple checks that what a simple schema accepts fits.
func checkSimple(t *testing.T, s *Schema, value []byte) (accepted bool) {
	t.Helper()
	if jsonscan.Valid(value) != nil {
		return false
	}
	if !s.known().simple.fits(value) {
		return false
	}
	v := s.validate(value, MaxSteps)
	assert.True(t, v.fits(), "the validator accepts %s, as a simple schema does", value)
	return true
}

// Schemas of the usual keywords accept nothing in one pass that the validator refuses, and
// most of what it accepts.
func TestSimpleAgreesWithTheValidator(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	var schema, value func(depth int) string
	schema = func(depth int) string {
		if depth == 0 {
			return one(`{}`, `true`, `{"type":"object"}`, `{"type":"string"}`, `{"type":["integer","null"]}`, `{"type":"number"}`, `{"type":"boolean","default":true}`,
				`{"enum":["a","é"]}`, `{"const":"a"}`, `{"type":"string","minLength":1,"maxLength":2}`, `{"type":"integer","minimum":-1,"maximum":7,"default":3}`,
				`{"minimum":0.5}`, `{"enum":[1,"a"]}`, `{"pattern":"^a"}`, `{"type":"string","format":"uri","title":"t"}`, `false`)
		}
		below := schema(depth - 1)
		return one(`{"items":`+below+`,"maxItems":2}`, `{"type":"array","items":`+below+`,"minItems":1}`, `{"prefixItems":[`+below+`]}`,
			`{"type":"object","properties":{"a":`+below+`,"b":`+schema(depth-1)+`},"required":["a"]}`,
			`{"properties":{"a":`+below+`},"additionalProperties":`+one("true", "false", schema(depth-1))+`}`,
			`{"properties":{"b":`+below+`},"required":["c"]}`, `{"anyOf":[`+below+`]}`, `{"allOf":[`+below+`]}`)
	}
	value = func(depth int) string {
		if depth == 0 || r.IntN(4) == 0 {
			return one(`"a"`, `"\u0061"`, `"é"`, `"abc"`, `""`, "0", "-0", "7", "8", "1.0", "1e2", "1e400", "-1", "9223372036854775808", "true", "null", "{}", "[]",
				strings.Repeat("1", MaxDigits+1))
		}
		members := make([]string, 0, 3)
		for _, name := range []string{"a", "b", "c"} {
			if r.IntN(3) > 0 {
				members = append(members, fmt.Sprintf("%q: %s", name, value(depth-1)))
			}
		}
		return one("["+value(depth-1)+"]", "["+value(depth-1)+" ,"+value(depth-1)+"]", "{"+strings.Join(members, ", ")+"}", "{"+strings.Join(members, ",")+"}")
	}
	fitting, accepted := 0, 0
	for range assert.Cases(60, 1_000) {
		s := assert.Value(Compile(json.RawMessage(schema(r.IntN(4)))))(t)
		for range 10 {
			v := []byte(value(r.IntN(4)))
			if checkSimple(t, s, v) {
				accepted++
			}
			if s.Validate(v) == nil {
				fitting++
			}
		}
	}
	assert.True(t, accepted*3 >= fitting, "%d values accepted in one pass are more than a third of the %d that fit", accepted, fitting)
}

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
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"items":[{"$ref":"#/definitions/a"}]}}}`, `[[],1]`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"http://localhost/","unevaluatedItems":{"$anchor":"x"},"contains":{"$ref":"#/unevaluatedItems"}}`, `[1,2]`},
		{`{"x":{"y":[{"$defs":{"a":{"$ref":"#"}}}]},"not":{"$ref":"#/x/y/0/$defs/a"}}`, `"a"`},
		{`{"patternProperties":{"^\\u0061":{"oneOf":[{"multipleOf":0.01},{"enum":[{},[1e3]]}]}},"propertyNames":{"maxLength":3},"uniqueItems":true}`, `{"a":[1000.0]}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Compile(schema)
		if err != nil {
			var refused *SchemaError
			assert.True(t, errors.As(err, &refused) && refused.Token != "" && refused.Detail != "", "error %#v", err)
			return
		}
		checkSimple(t, s, value)
		err = s.Validate(value)
		bare, ok := bareVerdict(s, schema, value)
		assert.True(t, !ok || bare == (err == nil), "%v, but the validator alone says %v", err, bare)
		if err != nil {
			var wrong *Problem
			assert.True(t, errors.As(err, &wrong) && (wrong.Want != "" || wrong.Got != ""), "error %#v", err)
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
