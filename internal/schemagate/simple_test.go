package schemagate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// checkSimple checks that what a simple schema accepts fits, and lacks no default if that
// was asked for.
func checkSimple(t *testing.T, s *Schema, value []byte) (accepted bool) {
	t.Helper()
	if jsonscan.Valid(value) != nil {
		return false
	}
	known := s.known()
	if known.simple.fits(value, true) {
		assert.Equal(t, string(known.complete(value)), string(value), "what is complete")
	}
	if !known.simple.fits(value, false) {
		return false
	}
	v := s.validate(value, MaxSteps)
	assert.Equal(t, v.fits(), true, "the validator accepts %s, as a simple schema does", value)
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
			return one(`{}`, `true`, `{"type":"string"}`, `{"type":["integer","null"]}`, `{"type":"number"}`, `{"type":"boolean","default":true}`,
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
	if accepted*3 < fitting {
		t.Errorf("got %d values accepted in one pass, want more than a third of the %d that fit", accepted, fitting)
	}
}
