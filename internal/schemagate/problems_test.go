package schemagate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// line writes a problem on one line.
func (p Problem) line() string {
	text := fmt.Sprintf("%s: want %s, got %s", p.Path, p.Want, p.Got)
	if p.Note != "" {
		text += "; " + p.Note
	}
	if p.Name != "" {
		text += fmt.Sprintf("; %q of %q", p.Name, p.Known)
	}
	return text
}

func TestProblems(t *testing.T) {
	const (
		draft2019 = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
		draft7    = `"$schema":"http://json-schema.org/draft-07/schema#",`
		draft6    = `"$schema":"http://json-schema.org/draft-06/schema",`
	)
	for _, test := range []struct {
		schema, value string
		want          []string
	}{
		// Kinds and choices.
		{`{"type":"object"}`, `[]`, []string{": want an object, got an array"}},
		{`{"type":["null","integer"],"minimum":1,"maximum":10}`, `"x"`, []string{": want an integer from 1 to 10 or null, got a string"}},
		{`{"type":"integer"}`, `1.5`, []string{": want an integer, got a number with a fraction"}},
		{`{"enum":["a",1,null,true,[1]]}`, `"b"`, []string{`: want one of "a", 1, null, true, an array, got another string`}},
		{`{"enum":["a"]}`, `7`, []string{`: want "a", got a number`}},
		{`{"const":9007199254740993}`, `9007199254740992`, []string{": want 9007199254740993, got another number"}},
		{`{"const":{"a":1}}`, `{}`, []string{": want an object, got another object"}},
		{`{"properties":{"a":false,"b":true}}`, `{"a":1}`, []string{`a: want , got a number; "a" of []`}},
		{`false`, `1`, []string{": want left out, got a number"}},

		// Numbers.
		{`{"type":"number","minimum":1}`, `0`, []string{": want a number of at least 1, got less"}},
		{`{"maximum":9223372036854775807}`, `9223372036854775808`, []string{": want a number of at most 9223372036854775807, got more"}},
		{`{"exclusiveMinimum":0,"maximum":1.5}`, `0`, []string{": want a number greater than 0 and of at most 1.5, got less"}},
		{`{"type":"integer","exclusiveMaximum":3,"multipleOf":2}`, `5`, []string{": want an integer less than 3 that is a multiple of 2, got more", ": want an integer less than 3 that is a multiple of 2, got another number"}},

		// Strings.
		{`{"type":"string","minLength":2,"maxLength":3}`, `"ä"`, []string{": want a string of 2 to 3 characters, got less"}},
		{`{"maxLength":1}`, `"äö"`, []string{": want a string of at most 1 character, got more"}},
		{`{"pattern":"^a$"}`, `"secret"`, []string{`: want a string that matches "^a$", got another string`}},

		// Objects.
		{`{"required":["b","a"],"properties":{"a":{"type":"string","description":"who asks"}}}`, `{}`, []string{
			`a: want a string, got ; "who asks"`, "b: want any value, got "}},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"],"$defs":{"a":{"description":"why","type":"array","items":{"type":"integer"}}}}`, `{}`, []string{
			`a: want an array of integers, got ; "why"`}},
		{`{"properties":{"a":{},"b":{}},"additionalProperties":false}`, `{"x y":1,"c":"s"}`, []string{
			`c: want , got a string; "c" of ["a" "b"]`, `['x y']: want , got a number; "x y" of ["a" "b"]`}},
		{`{"additionalProperties":{"type":"string"}}`, `{"a":{"b":1},"c":1}`, []string{"a: want a string, got an object", "c: want a string, got a number"}},
		{`{"minProperties":1}`, `{}`, []string{": want an object of at least 1 member, got less"}},
		{`{"maxProperties":1}`, `{"a":1,"b":1}`, []string{": want an object of at most 1 member, got more"}},
		{`{"propertyNames":{"pattern":"^[a-z]$"}}`, `{"Ab":1}`, []string{`Ab: want a name that is a string that matches "^[a-z]$", got another one`}},
		{`{` + draft2019 + `"dependentRequired":{"a":["b"]},"properties":{"b":{"type":"null"}}}`, `{"a":1}`, []string{`b: want null, got ; it belongs to "a"`}},
		{`{` + draft7 + `"dependencies":{"a":["b"]}}`, `{"a":1}`, []string{`b: want any value, got ; it belongs to "a"`}},
		{`{"dependentSchemas":{"a":{"required":["b"],"properties":{"b":{"type":"boolean"}}}}}`, `{"a":1}`, []string{"b: want a boolean, got "}},
		{`{"allOf":[{"properties":{"a":true}}],"properties":{"n":{"properties":{"m":{}},"unevaluatedProperties":false}},"unevaluatedProperties":false}`, `{"a":1,"b":2,"n":{"k":1}}`, []string{
			`b: want , got a number; "b" of []`, `n.k: want , got a number; "k" of []`}},

		// Arrays.
		{`{"type":"array","minItems":2}`, `[1]`, []string{": want an array of at least 2 elements, got less"}},
		{`{"type":"array","items":{"type":"string"},"maxItems":1}`, `["a","b"]`, []string{": want an array of at most 1 string, got more"}},
		{`{"uniqueItems":true}`, `[1,2,1.0]`, []string{": want an array of different elements, got one with equal ones at 0 and 2"}},
		{`{"items":{"type":"string"}}`, `["a",1,{}]`, []string{"[1]: want a string, got a number", "[2]: want a string, got an object"}},
		{`{` + draft7 + `"items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, []string{": want an array of at most 1 element, got more"}},
		{`{"prefixItems":[true],"items":false}`, `["a",1]`, []string{"[1]: want left out, got a number"}},
		{`{` + draft6 + `"contains":{"type":"string"}}`, `[1]`, []string{": want an array with an element that is a string, got one without"}},
		{`{"contains":{"const":1},"minContains":2}`, `[1]`, []string{": want an array with at least 2 elements that are 1, got one with 1"}},
		{`{"contains":{"const":1},"maxContains":1}`, `[1,1]`, []string{": want an array with at most 1 elements that are 1, got one with 2"}},
		{`{"prefixItems":[{}],"unevaluatedItems":false}`, `[1,2]`, []string{"[1]: want left out, got a number"}},

		// Alternatives.
		{`{"anyOf":[{"type":"string"},{"type":"null"},{"type":"array","items":{"type":"string"}}]}`, `1`, []string{": want a string or an array of strings or null, got a number"}},
		{`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}},"type":"object"}]}`, `{"a":1}`, []string{"a: want a string, got a number"}},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}],"type":"object"}`, `{}`, []string{`: want an object with "a" or an object with "b", got another object`}},
		{`{"anyOf":[{"required":["a"]},{"required":["b","c"]}],"properties":{"a":{"type":"null"}}}`, `{}`, []string{`: want an object with "a" or an object with "b" and "c", got another object`}},
		{`{"oneOf":[{"properties":{"k":{"const":"x"},"n":{"type":"integer"}},"required":["k","m","o"]},{"properties":{"k":{"const":"y"}}}]}`, `{"k":"x","n":"1"}`, []string{
			`: want an object with "k", "m" and "o" or an object, got another object`}},
		{`{"oneOf":[{"type":"integer"},{"type":"number","minimum":1}]}`, `2`, []string{": want only one of an integer or a number of at least 1, got several of them"}},
		{`{"anyOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"type":"object","required":["a"]}]}`, `{}`, []string{"a: want any value, got "}},
		{`{"anyOf":[{"const":"a"},{"const":"b"}]}`, `"c"`, []string{`: want "a" or "b", got another string`}},
		{`{"not":{"type":"string"}}`, `"a"`, []string{": want a value that is not a string, got one that is"}},
		{`{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, []string{"b: want any value, got "}},
		{`{"allOf":[{"required":["a"]},{"required":["a"]},{"$ref":"#/$defs/x"}],"$defs":{"x":{"properties":{"b":{"type":"null"}}}}}`, `{"b":1}`, []string{"a: want any value, got ", "b: want null, got a number"}},

		// Places.
		{`{"items":{"properties":{"a.b":{"items":{"type":"null"}},"":{"type":"null"},"é1":{"type":"null"}}}}`, `[{"a.b":[1],"":1,"é1":1}]`, []string{
			"[0]['']: want null, got a number", "[0]['a.b'][0]: want null, got a number", "[0].é1: want null, got a number"}},
		{`{"items":{"type":"null"}}`, `[null,1,null,null,null,null,null,null,null,null,1]`, []string{"[1]: want null, got a number", "[10]: want null, got a number"}},
		{`{"properties":{"0":{"type":"null"}}}`, `{"0":1}`, []string{"0: want null, got a number"}},

		// JSON.
		{`true`, `{"a":[1,{"b":1,"c":{"b":2},"\u0062":3}]}`, []string{"b: want given once, got twice"}},
		{`true`, `{"x":1,"y":[[],{},"z"],"a":1,"a":2}`, []string{"a: want given once, got twice"}},
		{`true`, `[`, []string{": want valid JSON, got unexpected end at byte 1"}},
		{`{"minimum":0}`, `1e999999999`, []string{": want numbers of at most 4096 digits, got a longer one"}},
	} {
		s := mustCompile(t, test.schema)
		for range 3 { // the validator's order changes
			var got []string
			for _, p := range s.Problems([]byte(test.value)) {
				got = append(got, p.line())
			}
			assert.Equal(t, strings.Join(got, "\n"), strings.Join(test.want, "\n"), "%s against %s", test.value, test.schema)
		}
	}
}

// What the schema's author wrote into it does not get out of hand.
func TestProblemsAreBounded(t *testing.T) {
	long := strings.Repeat("\\u001b[31m\\u202e<IMPORTANT>", 200)
	s := mustCompile(t, `{"properties":{"a":{"enum":["`+long+`"]},"b":{"pattern":"`+strings.Repeat("x", 900)+`"},"c":{"type":"object","required":["`+long+`"]},
		"d":{"anyOf":[`+many(20, func(i int) string { return fmt.Sprintf(`{"enum":["%d%s"]}`, i, long) })+`]}},"required":["`+long+`"],"items":{"type":"null"}}`)
	problems := s.Problems([]byte(`{"a":1,"b":"","c":{},"d":1}`))
	assert.Equal(t, len(problems), 5, "problems: %+v", problems)
	for _, p := range problems {
		text := p.line()
		assert.False(t, len(text) > 5*maxText, "%d are more than %d", len(text), 5*maxText)
		assert.False(t, strings.ContainsAny(text, "\x1b\u202e\n"), "%q has control characters", text)
	}
	got := s.Problems([]byte(`[` + many(10*maxLines, func(int) string { return "1" }) + `]`))
	assert.Equal(t, len(got), MaxProblems, "problems")
	assert.Equal(t, got[8].Path, "[8]", "the path of the ninth")
}

// No value is in a problem, wherever it is wrong.
func TestProblemsHoldNoValue(t *testing.T) {
	for _, schema := range []string{
		`{"type":"null"}`, `{"const":1}`, `{"enum":["x"]}`, `{"pattern":"^x$"}`, `{"maxLength":1}`, `{"anyOf":[{"const":"a"},{"type":"null"}]}`,
		`{"not":{"type":"string"}}`, `{"minimum":1,"type":"integer"}`, `{"oneOf":[true,true]}`, `{"format":"email","minLength":99}`, `false`,
	} {
		for _, value := range []string{`"hunter2"`, `{"a":"hunter2"}`} {
			if value[0] == '{' {
				schema = `{"properties":{"a":` + schema + `}}`
			}
			problems := mustCompile(t, schema).Problems([]byte(value))
			assert.False(t, problems == nil && !strings.Contains(schema, "minimum"), "%s fits %s", value, schema)
			assert.Lacks(t, fmt.Sprintf("%+v", problems), "hunter", "%s", schema)
		}
	}
}
