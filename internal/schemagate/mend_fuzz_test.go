package schemagate

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// mendSeeds are schemas with values, in which there is something to mend.
var mendSeeds = [][2]string{
	{`{"properties":{"n":{"type":"integer","default":5},"o":{"properties":{"k":{"default":"x"}}},"r":{"$ref":"#/$defs/r"}},"$defs":{"r":{"default":{"b":1,"a":[2]}}}}`, `{"o":{}}`},
	{`{"properties":{"n":{"type":"integer"},"f":{"type":["number","boolean"]},"l":{"type":"array","items":{"type":"integer"}},"s":{"type":["string","integer"]}},"required":["n"]}`, `{"n":"4 2","f":"True","l":"[1,\"2\"]","s":"3"}`},
	{`{"properties":{"n":{"type":"integer"},"m":{"type":"integer","default":1},"r":{"type":"integer"}},"required":["r"]}`, `{"n": null , "m":null,"r": 1}`},
	{`{"properties":{"a":{"$ref":"#","default":{}},"b":{"default":1}}}`, `{"a":{"a":{}}}`},
	{`{"allOf":[{"properties":{"a":{"default":{"x":1},"properties":{"y":{"default":2}}}}},{"properties":{"a":{"properties":{"z":{"default":3}}}}}]}`, `{}`},
	{`{"properties":{"k":{"type":"integer"}},"anyOf":[{"properties":{"k":{"const":1},"m":{"default":3}}},{"properties":{"k":{"const":2}}}]}`, `{"k":"1"}`},
	{`{"oneOf":[{"properties":{"k":{"const":"x"},"n":{"type":"integer"}},"required":["k"]},{"properties":{"k":{"const":"y"},"m":{"default":3}},"required":["k"]}]}`, `{"k":"y"}`},
	{`{"not":{"required":["a","b"]},"properties":{"a":{"default":1},"b":{}}}`, `{"b":1}`},
	{`{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"object","properties":{"d":{"default":null,"type":["null","integer"]},"e":{"default":1e400}}}}`, `{"x1":"7","o":"{}","p":{ }}`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}],"additionalItems":{"type":"boolean"},"dependencies":{"a":["b"]}}`, `["1","true"," false "]`},
	{`{"prefixItems":[{"type":"null"}],"items":{"enum":[1,2]},"contains":{"const":1}}`, `["null","1",2]`},
	{`{"if":{"required":["a"]},"then":{"required":["b"]},"properties":{"a":{"default":1}}}`, `{}`},
	{`{"properties":{"a":{"type":"object"}},"additionalProperties":false}`, `{"a":"{\"a\":1,\"a\":2}"}`},
	{`{"maxProperties":1,"properties":{"a":{"default":1},"b":{"type":"string"}}}`, `{"b":"x"}`},
}

// Whatever is mended, it is JSON, nothing more is to be mended in it, it fits if
// it is said to fit, and what did fit still does. The problems are there exactly
// when the value does not fit.
func FuzzMend(f *testing.F) {
	for _, seed := range mendSeeds {
		f.Add([]byte(seed[0]), []byte(seed[1]), uint8(7))
		f.Add([]byte(seed[0]), []byte(seed[1]), uint8(1))
	}
	for _, seed := range smallTraps {
		f.Add([]byte(seed[0]), []byte(seed[1]), uint8(7))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte, how uint8) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		m := Mending{how&1 != 0, how&2 != 0, how&4 != 0}
		before := bytes.Clone(value)
		fits := s.Validate(value) == nil
		out, problems := s.Mend(value, m)
		if !bytes.Equal(value, before) {
			t.Fatal("the value itself was changed")
		}
		if len(problems) > MaxProblems {
			t.Fatalf("%d problems", len(problems))
		}
		for _, p := range problems {
			if p.Want == "" && p.Got == "" || len(p.Path)+len(p.Want)+len(p.Got)+len(p.Note) > 10*maxText {
				t.Fatalf("problem %+v", p)
			}
		}
		if problems != nil {
			if fits {
				t.Fatalf("a value that fits has problems: %+v", problems)
			}
			if !bytes.Equal(out, value) {
				t.Fatalf("a value with problems came back as %s", out)
			}
			return
		}
		if err := jsonscan.Valid(out); err != nil || !json.Valid(out) {
			t.Fatalf("mended to %q: %v", out, err)
		}
		if err := s.Validate(out); err != nil {
			t.Fatalf("mended to %s: %v", out, err)
		}
		if how&7 == 0 && !bytes.Equal(out, value) {
			t.Fatal("mended without being asked to")
		}
		again, problems := s.Mend(out, m)
		if problems != nil || !bytes.Equal(again, out) {
			t.Fatalf("mended to %s and then to %s: %+v", out, again, problems)
		}
		if listed := s.Problems(value); (listed == nil) != fits {
			t.Fatalf("problems %+v of a value that fits: %v", listed, fits)
		}
	})
}
