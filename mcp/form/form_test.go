package form_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp/form"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fieldsOf returns the fields of a schema.
func fieldsOf(t *testing.T, schema string) []form.Field {
	t.Helper()
	return assert.Value(form.Parse(json.RawMessage(schema)))(t).Fields
}

func TestParse(t *testing.T) {
	got := fieldsOf(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","title":"F","properties":{
		"z":{"type":"string","title":"Z","description":"the z","minLength":1,"maxLength":5,"pattern":"^a","format":"email","default":"no","x-order":1},
		"a":{"type":"integer","minimum":-1,"maximum":18446744073709551616,"default":7,"minLength":3},
		"n":{"type":"number","minimum":0.5},
		"b":{"type":"boolean","default":true},
		"plain":{"type":"string","enum":["r","g"],"default":"g"},
		"bare":{"enum":["r"]},
		"named":{"type":"string","enum":["r","g","b"],"enumNames":["Red","Green"],"default":"x"},
		"titled":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g"}]},
		"both":{"oneOf":[{"const":"r","title":"Red"},{"const":"b"},{"const":"g"}],"enum":["g","r"],"enumNames":["G"],"type":"string","items":{"enum":["x"]}},
		"many":{"type":"array","items":{"type":"string","enum":["r","g"]},"minItems":1,"maxItems":2,"uniqueItems":true,"default":["r","g"]},
		"manyTitled":{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"}]},"default":["g"]}
	},"required":["a","plain"],"additionalProperties":false}`)
	low, high, half := json.Number("-1"), json.Number("18446744073709551616"), json.Number("0.5")
	n := func(n json.Number) *json.Number { return &n }
	red, green := form.Choice{Value: "r", Title: "r"}, form.Choice{Value: "g", Title: "g"}
	titledRed := form.Choice{Value: "r", Title: "Red"}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	want := []form.Field{
		{Name: "z", Title: "Z", Description: "the z", Type: "string", Min: n("1"), Max: n("5"), Pattern: "^a", Format: "email"},
		{Name: "a", Type: "integer", Required: true, Min: &low, Max: &high, Default: raw("7")},
		{Name: "n", Type: "number", Min: &half},
		{Name: "b", Type: "boolean", Default: raw("true")},
		{Name: "plain", Type: "string", Required: true, Choices: []form.Choice{red, green}, Default: raw(`"g"`)},
		{Name: "bare", Type: "string", Choices: []form.Choice{red}},
		{Name: "named", Type: "string", Choices: []form.Choice{titledRed, {Value: "g", Title: "Green"}, {Value: "b", Title: "b"}}},
		{Name: "titled", Type: "string", Choices: []form.Choice{titledRed, green}},
		{Name: "both", Type: "string", Choices: []form.Choice{titledRed, green}},
		{Name: "many", Type: "array", Choices: []form.Choice{red, green}, Min: n("1"), Max: n("2"), Default: raw(`["r","g"]`)},
		{Name: "manyTitled", Type: "array", Choices: []form.Choice{titledRed}},
	}
	for i := range want {
		if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("field %d: %+v, want %+v", i, got[min(i, len(got)-1)], want[i])
		}
	}
	assert.Equal(t, [...]any{got[0].Label(), got[1].Label()}, [...]any{"Z", "a"})
}

func TestParseRefuses(t *testing.T) {
	many := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, ",")
	}
	field := func(schema string) string { return `{"properties":{"f":` + schema + `}}` }
	for _, test := range []struct{ schema, want string }{
		{`7`, "is not a flat object"},
		{`{"type":"object"`, "is not JSON"},
		{`{"type":"array","type":"object"}`, "is not JSON"},
		{`{"type":"array"}`, "must be object"},
		{`{"type":["object"]}`, "must be object"},
		{`{"properties":[]}`, "properties is not an object"},
		{`{"$ref":"https://a.example/schema"}`, "$ref"},
		{`{"allOf":[]}`, "allOf"},
		{`{"minProperties":1}`, "minProperties"},
		{`{"additionalProperties":{}}`, "additionalProperties"},
		{`{"required":["f"]}`, `requires "f", which is no field`},
		{`{"required":"f"}`, "required is not a list"},
		{`{"properties":{"a":{"type":"string"}},"required":["a"` + strings.Repeat(`,"a"`, 100) + `]}`, "more than 100"},
		{`{"properties":{` + many(101, `"f%d":{"type":"string"}`) + `}}`, "more than 100 fields"},
		{`{"properties":{"` + strings.Repeat("x", 257) + `":{"type":"string"}}}`, "longer than 256 bytes"},
		{field(`true`), `field "f" has no schema`},
		{field(`{}`), `field "f" must have a simple type`},
		{field(`{"type":"object"}`), `field "f" must have a simple type`},
		{field(`{"type":"null"}`), `field "f" must have a simple type`},
		{field(`{"type":["string","null"]}`), `field "f" must have a simple type`},
		{field(`{"Type":"string"}`), `field "f" must have a simple type`},
		{field(`{"type":"object","properties":{}}`), `field "f" has the keyword properties`},
		{field(`{"type":"string","$ref":"#/x"}`), `field "f" must have a simple type, not a $ref`},
		{field(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), `field "f" has the keyword anyOf`},
		{field(`{"type":"number","exclusiveMinimum":0}`), `field "f" has the keyword exclusiveMinimum`},
		{field(`{"type":"string","title":7}`), `field "f" has a title that is not a string`},
		{field(`{"type":"string","minLength":-1}`), `field "f" has a minLength`},
		{field(`{"type":"string","maxLength":1.5}`), `field "f" has a maxLength`},
		{field(`{"type":"string","maxLength":1e99}`), `field "f" has a maxLength`},
		{field(`{"type":"number","minimum":"1"}`), `field "f" has a minimum`},
		{field(`{"type":"number","maximum":1e999999999}`), `field "f" has a maximum`},
		{field(`{"type":"string","pattern":"` + strings.Repeat("a", 1025) + `"}`), `field "f" has a pattern longer`},
		{field(`{"type":"string","enum":[]}`), `field "f" has no choices`},
		{field(`{"type":"string","enum":"a"}`), `field "f" has no choices`},
		{field(`{"type":"string","enum":["a",7]}`), `field "f" has a choice that is not a string`},
		{field(`{"type":"string","enum":["a","a"]}`), `field "f" has the same choice twice`},
		{field(`{"type":"integer","enum":["a"]}`), `field "f" has choices, which only strings`},
		{field(`{"type":"string","enum":[` + many(1001, `"%d"`) + `]}`), `field "f" has more than 1000 choices`},
		{field(`{"type":"string","oneOf":[` + many(1001, `{"const":"%d"}`) + `]}`), `field "f" has more than 1000 choices`},
		{field(`{"type":"string","oneOf":[{"title":"a"}]}`), `field "f" has a oneOf that is no list of choices`},
		{field(`{"type":"string","oneOf":[{"const":"a","minLength":1,"not":{}}]}`), `field "f" has a oneOf that is no list of choices`},
		{field(`{"type":"string","oneOf":[]}`), `field "f" has no choices`},
		{field(`{"type":"array","enum":["a"]}`), `field "f" has choices of whole lists`},
		{field(`{"type":"string","enum":["a"],"oneOf":[{"const":"b"}]}`), `field "f" has no choices`},
		{field(`{"type":"array","items":{"type":"integer"}}`), `field "f" must be a list of strings`},
		{field(`{"type":"array","items":{"type":"object"}}`), `field "f" must be a list of strings`},
		{field(`{"type":"array","items":[]}`), `field "f" must be a list of strings`},
		{field(`{"type":"array","items":{"type":"string","pattern":"a"}}`), `field "f" has the keyword pattern in its items`},
		{field(`{"type":"array","items":{"type":"string","not":{}}}`), `field "f" has the keyword not in its items`},
	} {
		name := test.schema[:min(60, len(test.schema))]
		refused := assert.As[*form.SchemaError](t, assert.Err(form.Parse(json.RawMessage(test.schema))), "%s", name)
		assert.Contains(t, refused.Error(), test.want, "%s", name)
		assert.True(t, len(refused.Error()) <= 300, "%s: the error is short", name)
	}
}

func TestFill(t *testing.T) {
	type content = map[string]any
	const secret = "s3cret"
	for _, test := range []struct {
		name, properties, more string
		content                content
		want                   string // JSON, or a part of the error
	}{
		{"defaults", `{"s":{"type":"string","default":"x"},"i":{"type":"integer","default":7},"n":{"type":"number","default":1.50},"b":{"type":"boolean","default":false},"e":{"type":"string","enum":["a"],"default":"a"},"m":{"type":"array","items":{"type":"string","enum":["a"]},"default":["a"]}}`, "",
			nil, `{"b":false,"e":"a","i":7,"m":["a"],"n":1.50,"s":"x"}`},
		{"left out on purpose", `{"s":{"type":"string","default":"x"}}`, "", content{"s": nil}, `{}`},
		{"required left out", `{"s":{"type":"string","default":"x"}}`, `,"required":["s"]`, content{"s": nil}, `lacks "s"`},
		{"required by default", `{"s":{"type":"string","default":"x"}}`, `,"required":["s"]`, nil, `{"s":"x"}`},
		{"default of another type", `{"s":{"type":"string","default":7}}`, `,"required":["s"]`, nil, `lacks "s"`},
		{"default too long", `{"s":{"type":"string","default":"xx","maxLength":1}}`, "", nil, `{}`},
		{"default no choice", `{"s":{"type":"string","enum":["a"],"default":"b"}}`, "", nil, `{}`},
		{"default null", `{"s":{"type":"string","default":null}}`, "", nil, `{}`},
		{"length in characters", `{"s":{"type":"string","maxLength":3,"minLength":3}}`, "", content{"s": "äö😀"}, `{"s":"äö😀"}`},
		{"too long", `{"s":{"type":"string","maxLength":3}}`, "", content{"s": secret}, `"s" is longer than 3 characters`},
		{"too short", `{"s":{"type":"string","minLength":7}}`, "", content{"s": secret}, `"s" is shorter than 7 characters`},
		{"pattern", `{"s":{"type":"string","pattern":"^[a-z]+$"}}`, "", content{"s": secret}, `"s" does not match the pattern ^[a-z]+$`},
		{"pattern anywhere", `{"s":{"type":"string","pattern":"[0-9]"}}`, "", content{"s": secret}, `{"s":"s3cret"}`},
		{"pattern not for us", `{"s":{"type":"string","pattern":"^(?!a)"}}`, "", content{"s": "a"}, `{"s":"a"}`},
		{"email", `{"s":{"type":"string","format":"email"}}`, "", content{"s": "ann@a.example"}, `{"s":"ann@a.example"}`},
		{"no email", `{"s":{"type":"string","format":"email"}}`, "", content{"s": secret}, `"s" is not of format email`},
		{"email with name", `{"s":{"type":"string","format":"email"}}`, "", content{"s": "Ann <ann@a.example>"}, `"s" is not of format email`},
		{"email in brackets", `{"s":{"type":"string","format":"email"}}`, "", content{"s": "<ann@a.example>"}, `"s" is not of format email`},
		{"uri", `{"s":{"type":"string","format":"uri"}}`, "", content{"s": "https://a.example/x?y#z"}, `{"s":"https://a.example/x?y#z"}`},
		{"urn", `{"s":{"type":"string","format":"uri"}}`, "", content{"s": "urn:isbn:1"}, `{"s":"urn:isbn:1"}`},
		{"no uri", `{"s":{"type":"string","format":"uri"}}`, "", content{"s": "/a/b"}, `"s" is not of format uri`},
		{"uri with blank", `{"s":{"type":"string","format":"uri"}}`, "", content{"s": "https://a.example/a b"}, `"s" is not of format uri`},
		{"date", `{"s":{"type":"string","format":"date"}}`, "", content{"s": "2024-02-29"}, `{"s":"2024-02-29"}`},
		{"no date", `{"s":{"type":"string","format":"date"}}`, "", content{"s": "2023-02-29"}, `"s" is not of format date`},
		{"date-time", `{"s":{"type":"string","format":"date-time"}}`, "", content{"s": "2024-02-29T12:00:00.5+01:00"}, `{"s":"2024-02-29T12:00:00.5+01:00"}`},
		{"no date-time", `{"s":{"type":"string","format":"date-time"}}`, "", content{"s": "2024-02-29 12:00"}, `"s" is not of format date-time`},
		{"other format", `{"s":{"type":"string","format":"phone"}}`, "", content{"s": secret}, `{"s":"s3cret"}`},
		{"choice", `{"s":{"type":"string","oneOf":[{"const":"a","title":"A"}]}}`, "", content{"s": "A"}, `"s" is none of the choices`},
		{"integer written as number", `{"i":{"type":"integer"}}`, "", content{"i": 2.0}, `{"i":2}`},
		{"integer of exponents", `{"i":{"type":"integer"}}`, "", content{"i": json.Number("1.5e1")}, `{"i":1.5e1}`},
		{"no integer", `{"i":{"type":"integer"}}`, "", content{"i": 2.5}, `"i" is not of type integer`},
		{"big", `{"i":{"type":"integer","minimum":9007199254740993,"maximum":18446744073709551616}}`, "", content{"i": json.Number("18446744073709551616")}, `{"i":18446744073709551616}`},
		{"too big", `{"i":{"type":"integer","maximum":18446744073709551616}}`, "", content{"i": json.Number("18446744073709551617")}, `"i" is more than 18446744073709551616`},
		{"too small", `{"i":{"type":"integer","minimum":9007199254740993}}`, "", content{"i": json.Number("9007199254740992")}, `"i" is less than 9007199254740993`},
		{"beyond measure", `{"i":{"type":"integer"}}`, "", content{"i": json.Number("1e999999999")}, `"i" has too many digits`},
		{"too many digits", `{"i":{"type":"integer"}}`, "", content{"i": json.Number("1e401")}, `"i" has too many digits`},
		{"fraction", `{"n":{"type":"number","maximum":0.3}}`, "", content{"n": json.Number("0.30000000000000001")}, `"n" is more than 0.3`},
		{"too many", `{"m":{"type":"array","items":{"enum":["a","b"]},"maxItems":1}}`, "", content{"m": []string{"a", "b"}}, `"m" has more than 1 element`},
		{"too few", `{"m":{"type":"array","items":{"enum":["a","b"]},"minItems":2}}`, "", content{"m": []string{"a"}}, `"m" has fewer than 2 elements`},
		{"twice", `{"m":{"type":"array","items":{"enum":["a","b"]}}}`, "", content{"m": []string{"a", "a"}}, `"m" has an element twice`},
		{"element", `{"m":{"type":"array","items":{"enum":["a","b"]}}}`, "", content{"m": []string{secret}}, `"m" has an element that is none of the choices`},
		{"element of another type", `{"m":{"type":"array","items":{"type":"string"}}}`, "", content{"m": []any{1}}, `"m" has an element that is not of type string`},
		{"free list", `{"m":{"type":"array","items":{"type":"string"}}}`, "", content{"m": []string{"x"}}, `{"m":["x"]}`},
		{"unknown", `{}`, "", content{"u": 1}, `{"u":1}`},
		{"unknown, open", `{}`, `,"additionalProperties":true`, content{"u": 1}, `{"u":1}`},
		{"unknown, closed", `{}`, `,"additionalProperties":false`, content{"u": secret}, `"u" was not asked for`},
		{"no JSON", `{}`, "", content{"u": func() {}}, `"u" is no JSON value`},
		{"two readings", `{}`, "", content{"u": json.RawMessage(`{"a":1,"a":2}`)}, `"u" is no JSON value`},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := assert.Value(form.Parse(json.RawMessage(`{"type":"object","properties":` + test.properties + test.more + `}`)))(t)
			filled, err := f.Fill(test.content)
			if err == nil {
				assert.Equal(t, string(assert.Value(json.Marshal(filled))(t)), test.want)
				return
			}
			assert.As[*form.FieldError](t, err)
			assert.Contains(t, err.Error(), test.want)
			assert.Lacks(t, err.Error(), secret)
		})
	}
}

func TestParseNothing(t *testing.T) {
	for _, schema := range []string{"", "null", " {} "} {
		assert.Equal(t, len(fieldsOf(t, schema)), 0, "%q: fields", schema)
	}
}

func TestFieldParse(t *testing.T) {
	low := json.Number("3")
	colors := []form.Choice{{Value: "#f00", Title: "Red"}, {Value: "#0f0", Title: "Green, light"}, {Value: "#00f", Title: "Blue"}}
	color := form.Field{Name: "f", Type: "string", Choices: colors}
	several := form.Field{Name: "f", Type: "array", Choices: colors}
	numbers := form.Field{Name: "f", Type: "string", Choices: []form.Choice{{Value: "2", Title: "2"}, {Value: "1", Title: "1"}, {Value: "x", Title: "x"}}}
	alike := form.Field{Name: "f", Type: "string", Choices: []form.Choice{{Value: "a", Title: "Same"}, {Value: "b", Title: "same"}}}
	email := form.Field{Name: "f", Type: "string", Format: "email"}
	free := form.Field{Name: "f", Type: "array"}
	for _, test := range []struct {
		field form.Field
		text  string
		want  any // or nil
	}{
		{form.Field{Type: "string"}, " x ", " x "},
		{form.Field{Type: "string"}, "", ""},
		{email, "ann@a.example", "ann@a.example"},
		{email, "ann", nil},
		{form.Field{Type: "boolean"}, " YES ", true},
		{form.Field{Type: "boolean"}, "0", false},
		{form.Field{Type: "boolean"}, "maybe", nil},
		{form.Field{Type: "boolean"}, "", nil},
		{form.Field{Type: "number"}, " +1.5 ", json.Number("1.5")},
		{form.Field{Type: "number"}, "1e3", json.Number("1e3")},
		{form.Field{Type: "number"}, "0x10", nil},
		{form.Field{Type: "number"}, "", nil},
		{form.Field{Type: "number"}, "NaN", nil},
		{form.Field{Type: "number"}, `"1"`, nil},
		{form.Field{Type: "number"}, `[1]`, nil},
		{form.Field{Type: "number"}, "1e999999999", nil},
		{form.Field{Type: "integer"}, "18446744073709551617", json.Number("18446744073709551617")},
		{form.Field{Type: "integer"}, "1.5", nil},
		{form.Field{Type: "integer", Min: &low}, "2", nil},
		{color, "#0f0", "#0f0"},
		{color, " blue ", "#00f"},
		{color, "2", "#0f0"},
		{color, "0", nil},
		{color, "4", nil},
		{color, "", nil},
		{color, "pink", nil},
		{numbers, "1", "1"},
		{numbers, "3", nil},
		{alike, "same", nil},
		{alike, "b", "b"},
		{several, "red, 3", []string{"#f00", "#00f"}},
		{several, "green, light", []string{"#0f0"}},
		{several, "", []string{}},
		{several, "red, red", nil},
		{several, "red, pink", nil},
		{free, "a , b", []string{"a", "b"}},
		{form.Field{Type: "secret"}, "a", nil},
	} {
		got, err := test.field.Parse(test.text)
		if test.want == nil {
			wrong := assert.As[*form.FieldError](t, err, "%s %q", test.field.Type, test.text)
			assert.Equal(t, wrong.Field, test.field.Name, "%s %q: field", test.field.Type, test.text)
			continue
		}
		assert.OK(t, err, "%s %q", test.field.Type, test.text)
		assert.True(t, reflect.DeepEqual(got, test.want), "%s %q: %#v is %#v", test.field.Type, test.text, got, test.want)
	}
}

// A short pattern can stand for a program of many instructions, and the server
// also says what is to be held against it: were that done, these forms would
// keep a processor busy for hours.
func TestParseBombs(t *testing.T) {
	pattern := strings.Repeat("(a?){1000}", 100) + "b"
	fields := map[string]any{}
	for i := range 20 {
		fields[fmt.Sprint(i)] = map[string]any{"type": "string", "pattern": pattern, "default": strings.Repeat("a", 100_000)}
	}
	fields["5"] = map[string]any{"type": "string", "format": "email", "default": strings.Repeat("(", 1<<20)}
	content, err := assert.Value(form.Parse(assert.Value(json.Marshal(map[string]any{"type": "object", "properties": fields}))(t)))(t).Fill(nil)
	assert.OK(t, err)
	assert.Equal(t, len(content), 19, "content")
	field := &form.Field{Name: "x", Type: form.String, Pattern: pattern}
	assert.Value(field.Parse("c"))(t)
	field.Pattern = `^([a-z]{1,20}\.){1,9}$`
	assert.Fails(t, assert.Err(field.Parse(strings.Repeat("abc.", 20))), "a pattern of a common size is checked")
}

func FuzzParse(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x"}]},"default":["x"]}},"required":["a"]}`, "x")
	f.Add(`{"properties":{"a":{"type":"number","minimum":1e2,"default":"1"}}}`, "1e300")
	f.Fuzz(func(t *testing.T, schema, text string) {
		if parsed, err := form.Parse(json.RawMessage(schema)); err == nil {
			content, err := parsed.Fill(map[string]any{"a": text})
			if err == nil {
				assert.OK(t, assert.Err(json.Marshal(content)), "the answer does not encode")
			}
		}
		for _, kind := range []string{"string", "number", "integer", "boolean", "array"} {
			field := form.Field{Name: "a", Type: kind, Pattern: text, Choices: []form.Choice{{Value: "1", Title: text}}}
			if value, err := field.Parse(text); err == nil {
				assert.Value(json.Marshal(value))(t)
			}
		}
	})
}
