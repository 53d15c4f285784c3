package schemagate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestComplete(t *testing.T) {
	const (
		draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	)
	for _, test := range []struct {
		schema string
		value  string
		want   string // empty: it stays as it is, "-": it does not fit
	}{
		{`{"properties":{"b":{"default":1.50},"a":{"default":"<&>"}}}`, `{}`, `{"a":"<&>","b":1.50}`},
		{`{"properties":{"b":{"default":1}}}`, ` { "a" : 1e400 } `, ` { "a" : 1e400,"b":1 } `},
		{`{"properties":{"b":{"default":1}}}`, `{"\u0062":2}`, ``},
		{`{"properties":{"b":{"default":1}},"required":["b"]}`, `{}`, `{"b":1}`},
		{`{"properties":{"a":{"default":1},"b":{"type":"integer"}}}`, `{"b":"x"}`, `-`},
		{`{"properties":{"b":{"default":null}}}`, `{}`, ``},
		{`{"properties":{"b":{"type":"string","default":7},"d":{"default":1}}}`, `{}`, `{"d":1}`},
		{`{"properties":{"o":{"type":"object","properties":{"k":{"default":1}}}}}`, `{}`, ``},
		{`{"properties":{"o":{"type":"object","properties":{"k":{"default":1}}}}}`, `{"o":{}}`, ``}, // that is for the server
		{`{"properties":{"o":{"default":{},"properties":{"k":{"default":1}}}}}`, `{}`, `{"o":{}}`},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"default":{"y":1,"x":[]}}}}`, `{}`, `{"a":{"x":[],"y":1}}`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"a":{"default":1}}}}}`, `{}`, `{"a":1}`},
		{`{"properties":{"a":{"default":1}}}`, `{ }`, `{"a":1 }`},
		{`{"properties":{"a":{"default":1}}}`, `[]`, ``},
		{`{"if":{},"then":{"properties":{"a":{"default":1}}}}`, `{}`, ``},
		{`{"anyOf":[{"type":"object","properties":{"a":{"default":1}}},{"type":"null"}]}`, `{}`, ``},
		{`{"properties":{"a":{"$ref":"#","default":{}},"b":{"default":1}}}`, `{"a":{}}`, `{"a":{},"b":1}`},
		{`{"not":{"required":["a","b"]},"properties":{"a":{"default":1}}}`, `{"b":1}`, ``},
		{`{"maxProperties":1,"properties":{"a":{"default":1},"b":{"type":"integer"}}}`, `{"b":1}`, ``},
		{`{"properties":{"n":{"enum":["x"],"default":""},"d":{"default":1}}}`, `{}`, ``}, // it would not fit
		{`{"properties":{"n":{"type":"integer"},"d":{"default":1}}}`, `{"n":"1"}`, `-`},
		{`{"properties":{"n":{"type":"integer"},"d":{"default":1}}}`, `{"n":null}`, `-`},
		{`{` + draft7 + `"properties":{"a":{"$ref":"#/definitions/a","default":7}},"definitions":{"a":{"default":1}}}`, `{}`, `{"a":1}`},
		{`{"properties":{"a\"b<":{"default":1}}}`, `{}`, `{"a\"b<":1}`},
	} {
		s := mustCompile(t, test.schema)
		got, problems := s.Complete([]byte(test.value))
		text := string(got)
		switch {
		case problems != nil && text != test.value:
			t.Errorf("%s against %s: it does not fit, and became %s", test.value, test.schema, text)
		case problems != nil:
			text = "-"
		case text == test.value:
			text = ""
		}
		assert.Equal(t, text, test.want, "%s against %s: %+v", test.value, test.schema, problems)
	}
}

// What lacks nothing is not even copied.
func TestCompleteKeeps(t *testing.T) {
	s := mustCompile(t, `{"properties":{"n":{"type":"integer","default":1},"s":{"type":"string"}}}`)
	value := []byte(` {"s":"\u00e4","n":1.0}`)
	got, _ := s.Complete(value)
	assert.True(t, &got[0] == &value[0], "the value is not copied")
}

// The problems that are told are those that defaults leave.
func TestCompleteTellsWhatIsLeft(t *testing.T) {
	s := mustCompile(t, `{"properties":{"m":{"default":1},"o":{"type":"null"}},"required":["m"]}`)
	value := []byte(`{"o":7}`)
	_, problems := s.Complete(value)
	assert.True(t, len(problems) == 1 && problems[0].Path == "o", "problems %+v are that of o", problems)
	assert.Equal(t, len(s.Problems(value)), 2)
}

// A small value does not become a large one.
func TestCompleteIsBounded(t *testing.T) {
	s := mustCompile(t, `{"properties":{`+many(50, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d"}`, i) })+
		`},"$defs":{"d":{"default":"`+strings.Repeat("x", 60_000)+`"}}}`)
	got, problems := s.Complete([]byte(`{}`))
	assert.Equal(t, string(got), `{}`, "%+v", problems)
}

// Whatever is completed, it is JSON, it lacks nothing more, it fits if it is said
// to fit, and what did fit still does. The problems are there exactly when the
// value does not fit.
func FuzzComplete(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"properties":{"n":{"type":"integer","default":5},"o":{"properties":{"k":{"default":"x"}}},"r":{"$ref":"#/$defs/r"}},"$defs":{"r":{"default":{"b":1,"a":[2]}}}}`, `{"o":{}}`},
		{`{"properties":{"a":{"$ref":"#","default":{}},"b":{"default":1}}}`, `{"a":{"a":{}}}`},
		{`{"allOf":[{"properties":{"a":{"default":{"x":1},"properties":{"y":{"default":2}}}}},{"properties":{"a":{"properties":{"z":{"default":3}}}}}]}`, `{}`},
		{`{"oneOf":[{"properties":{"k":{"const":"x"},"n":{"type":"integer"}},"required":["k"]},{"properties":{"k":{"const":"y"},"m":{"default":3}},"required":["k"]}]}`, `{"k":"y"}`},
		{`{"not":{"required":["a","b"]},"properties":{"a":{"default":1},"b":{}}}`, `{"b":1}`},
		{`{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"object","properties":{"d":{"default":null},"e":{"default":1e400}}}}`, `{"x1":7,"p":{ }}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"properties":{"a":{"default":1}}}],"dependencies":{"a":["b"]}}`, `[{}]`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"properties":{"a":{"default":1}}}`, `{}`},
		{`{"maxProperties":1,"properties":{"a":{"default":1},"b":{"type":"string"}}}`, `{"b":"x"}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	for _, seed := range smallTraps {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		before := bytes.Clone(value)
		fits := s.Validate(value) == nil
		out, problems := s.Complete(value)
		assert.True(t, bytes.Equal(value, before), "the value itself stays")
		assert.False(t, len(problems) > MaxProblems, "%d are more than %d", len(problems), MaxProblems)
		for _, p := range problems {
			assert.True(t, p.Want != "" || p.Got != "", "problem %+v has words", p)
			assert.True(t, len(p.Path)+len(p.Want)+len(p.Got)+len(p.Note) <= 10*maxText, "problem %+v is short", p)
		}
		if problems != nil {
			assert.False(t, fits, "a value that fits has problems: %+v", problems)
			assert.True(t, bytes.Equal(out, value), "a value with problems stays, and came back as %s", out)
			return
		}
		assert.OK(t, s.Validate(out), "%s", out)
		again, problems := s.Complete(out)
		assert.True(t, problems == nil && bytes.Equal(again, out), "completed to %s and then to %s: %+v", out, again, problems)
		assert.Equal(t, s.Problems(value) == nil, fits)
	})
}
