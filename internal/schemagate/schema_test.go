package schemagate

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What is refused by Compile is refused by Check, for the same reason.
func TestRefused(t *testing.T) {
	tokens := map[Token]bool{}
	for _, test := range bombs() {
		t.Run(test.name, func(t *testing.T) {
			_, err := Compile(json.RawMessage(test.schema))
			refused := assert.As[*SchemaError](t, err)
			tokens[refused.Token] = true
			assert.Equal(t, string(refused.Token), test.token, "the token (%v)", err)
			if test.path != "" {
				assert.Equal(t, refused.Path, test.path, "the path (%v)", err)
			}
			assert.False(t, len(err.Error()) > 3*maxText, "an error of %d bytes is too long", len(err.Error()))
			checked := assert.As[*SchemaError](t, Check(json.RawMessage(test.schema)), "Check")
			assert.Equal(t, string(checked.Token), test.token, "the token of Check")
			if test.token == "invalid_schema" {
				assert.Equal(t, checked.Path, test.path, "the path of Check")
			}
		})
	}
	for _, token := range []Token{
		TooLarge, TooDeep, TooManyNodes, TooComplex, RemoteRef, DynamicRef, UnresolvedRef, SchemaCycle, Dialect, Pattern, Invalid,
	} {
		assert.True(t, tokens[token], "something is refused as %s", token)
	}
}

// None of these ends without the budget, or before memory does.
func TestTraps(t *testing.T) {
	for _, test := range traps() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := mustCompile(t, test.schema)
			wrong := assert.As[*Problem](t, s.Validate(json.RawMessage(test.value)))
			assert.Equal(t, wrong.Path, "", "the path (%v)", wrong)
			assert.False(t, len(wrong.Error()) > 3*maxText, "an error of %d bytes is too long", len(wrong.Error()))
			if len(test.value) > assert.Cases(1<<20, 1<<30) {
				return // the verdict was slow enough
			}
			_, problems := s.Complete([]byte(test.value))
			assert.Equal(t, len(problems), 1, "problems of Complete")
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustCompile(t testing.TB, schema string) *Schema {
	t.Helper()
	return assert.Value(Compile(json.RawMessage(schema)))(t)
}

func TestVerdicts(t *testing.T) {
	const (
		draft2019 = `"$schema":"https://json-schema.org/draft/2019-09/schema",`
		draft7    = `"$schema":"http://json-schema.org/draft-07/schema#",`
		draft6    = `"$schema":"http://json-schema.org/draft-06/schema",`
		tree      = `{"properties":{"v":{"type":"integer"},"next":{"$ref":"#"}},"required":["v"]}`
	)
	for _, test := range []struct{ schema, value, want string }{
		{`true`, `1`, ""},
		{`{}`, `[{"a":null}]`, ""},
		{`{"type":["string","null"]}`, `1`, "the value: want a string or null, got a number"},
		{`{"type":"integer"}`, `9223372036854775808`, ""},
		{`{"type":"integer"}`, `1e400`, ""},
		{`{"type":"integer"}`, `1.0`, ""},
		{`{"maximum":9223372036854775807}`, `9223372036854775807`, ""},
		{`{"enum":["a",1,null,true]}`, `"b"`, `the value: want one of "a", 1, null, true, got another string`},
		{`{"exclusiveMinimum":1e399}`, `1e400`, ""},
		{`{"multipleOf":0.1}`, `0.3`, ""},
		{`{"maxLength":18446744073709551616}`, `"a"`, ""},
		{`{"minItems":1e300}`, `[1]`, "the value: want an array of at least 2147483647 elements, got less"},
		{`{"required":["b","a"]}`, `{}`, "a: want any value, got nothing"},
		{`{"items":{"type":"string"}}`, `["a",1,2]`, "[1]: want a string, got a number"},
		{`{"properties":{"a/b~":{"type":"string"}}}`, `{"a/b~":1}`, "['a/b~']: want a string, got a number"},
		{`{"additionalProperties":false}`, `{"a":1}`, "a: not known"},
		{`{"pattern":"^\\u00e4\\/$"}`, `"ä/"`, ""},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `1`, "the value: want a string or null, got a number"},
		{`{"oneOf":[true,true]}`, `1`, "the value: want only one of any value, got several of them"},
		{`{"format":"email"}`, `"x"`, ""},
		{`{` + draft7 + `"format":"email"}`, `"x"`, ""},
		{`{"contentEncoding":"base64"}`, `"?"`, ""},
		{`{"title":7,"description":null}`, `1`, ""},

		// References.
		{tree, `{"v":1,"next":{"v":2,"next":{"v":"x"}}}`, "next.next.v: want an integer, got a string"},
		{tree, `{"v":1,"next":{"v":2}}`, ""},
		{`{"$ref":"#/definitions/a b","definitions":{"a b":{"type":"string"}}}`, `1`, "the value: want a string, got a number"},
		{`{"$ref":"#/definitions/a%20b","definitions":{"a b":{"type":"string"}}}`, `1`, "the value: want a string, got a number"},
		{`{"$ref":"#/$defs/~1%25","$defs":{"/%":{"type":"string"}}}`, `1`, "the value: want a string, got a number"},
		{`{"$id":"http://localhost/x","items":{"$ref":"#/$defs/x"},"$defs":{"x":{"type":"string"}}}`, `[1]`, "[0]: want a string, got a number"},
		{`{"$id":"https://json-schema.org/draft/2020-12/schema","type":"string"}`, `1`, "the value: want a string, got a number"},
		{`{"items":{"$id":"http://localhost/x","type":"string"},"$defs":{"x":{"$anchor":"a"}}}`, `[1]`, "[0]: want a string, got a number"},
		{`{"properties":{"$ref":{"type":"string"}}}`, `{"$ref":1}`, "$ref: want a string, got a number"},
		{`{"const":{"$ref":"x"},"enum":[{"$ref":"x"}],"default":{"$ref":"x"}}`, `{"$ref":"x"}`, ""},
		{`{"x":{"items":{"$ref":"#/x/y"},"y":{"type":"string"}},"$ref":"#/x"}`, `[1]`, "[0]: want a string, got a number"},
		{`{"x":{"$ref":"#/$defs/moved0"},"items":{"$ref":"#/x"},"$defs":{"moved0":{"type":"string"}}}`, `[1]`, "[0]: want a string, got a number"},

		// Dialects.
		{`{` + draft7 + `"$ref":"#/definitions/a","type":"null","definitions":{"a":{"type":"string"}}}`, `"a"`, ""},
		{`{"$ref":"#/$defs/a","type":"null","$defs":{"a":{"type":"string"}}}`, `"a"`, "the value: want null, got a string"},
		{`{` + draft7 + `"$defs":{"a":{"type":"string"}},"items":{"$ref":"#/$defs/a"}}`, `[1]`, "[0]: want a string, got a number"},
		{`{` + draft2019 + `"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "b: want any value, got nothing"},
		{`{` + draft2019 + `"$recursiveAnchor":true,"type":"null"}`, `null`, ""},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, "[1]: want left out, got a number"},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "b: not known"},

		// Values.
		{`true`, `{"a":1,"a":2}`, "a: want given once, got twice"},
		{`true`, ``, "the value: want valid JSON, got unexpected end at byte 0"},
	} {
		s := mustCompile(t, test.schema)
		got := ""
		if err := s.Validate(json.RawMessage(test.value)); err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, test.want, "%s against %s", test.value, test.schema)
	}
}

// What is large but honest is within the budget.
func TestLargeValues(t *testing.T) {
	n := assert.Cases(1_000, 50_000)
	for schema, value := range map[string]string{
		`{"type":"array","items":{"$ref":"#/$defs/row"},"$defs":{"row":{"type":"object",
			"properties":{"id":{"type":"integer"},"name":{"type":"string","maxLength":100},"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true}},
			"required":["id"],"additionalProperties":false}}}`: `[` + many(n, func(int) string { return `{"id":12345678901234567890,"name":"someone","tags":["a","b"]}` }) + `]`,
		`{"type":"string","pattern":"^[A-Za-z0-9+/]*=*$"}`: `"` + strings.Repeat("QUJD", 40*n) + `"`,
		`{"uniqueItems":true}`:                             `[` + many(n, func(i int) string { return fmt.Sprintf(`{"id":%d,"n":"x"}`, i) }) + `]`,
	} {
		assert.OK(t, mustCompile(t, schema).Validate(json.RawMessage(value)), schema)
	}
}

func TestConcurrent(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"pattern":"^a+$"},"n":{"$ref":"#"},"m":{"default":1}},"unevaluatedProperties":false}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				assert.Equal(t, s.Validate(json.RawMessage(`{"a":"aaa","n":{"a":"a"}}`)), nil, "what fits")
				assert.Fails(t, s.Validate(json.RawMessage(`{"a":"aaa","n":{"a":"b"}}`)), "what does not fit")
				completed, _ := s.Complete([]byte(`{"a":"a"}`))
				assert.Equal(t, string(completed), `{"a":"a","m":1}`, "what is completed")
				assert.Equal(t, len(s.Problems([]byte(`{"a":"b"}`))), 1, "problems")
			}
		})
	}
	wg.Wait()
}

// A pattern that RE2 cannot read is overlooked, and nothing else is.
func TestForeignPattern(t *testing.T) {
	const schema = `{"properties":{"mail":{"type":"string","maxLength":20,"pattern":"^(?!\\.)(?!.*\\.\\.)\\S+@\\S+$"},"code":{"pattern":"^a$"}},"required":["mail"]}`
	s := assert.Value(Compile(json.RawMessage(schema)))(t)
	for value, ok := range map[string]bool{
		`{"mail":"a@b"}`: true, `{"mail":"."}`: true, `{"mail":7}`: false, `{}`: false,
		`{"mail":"012345678901234567890"}`: false, `{"mail":"","code":"b"}`: false,
	} {
		assert.Equal(t, (s.Validate(json.RawMessage(value)) == nil), ok, "%s", value)
	}
}

// Many servers write draft-07 and do not say so.
func TestUnnamedDialect(t *testing.T) {
	const tuple = `{"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}`
	for schema, fits := range map[string]bool{
		tuple:                                    true,
		`{"type":"any"}`:                         false,
		`{"properties":{"a":{"required":true}}}`: false,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","items":[{}]}`: false,
	} {
		_, compiled := Compile(json.RawMessage(schema))
		checked := Check(json.RawMessage(schema))
		assert.Equal(t, compiled == nil, fits, "%s", schema)
		assert.Equal(t, checked == nil, fits, "%s", schema)
	}
	s := mustCompile(t, tuple)
	assert.OK(t, s.Validate(json.RawMessage(`["a",1]`)))
	assert.Fails(t, s.Validate(json.RawMessage(`[1,"a"]`)), "the places of a tuple do not count")
}

const (
	weather = `{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"array","items":{"$ref":"#/$defs/day"}}},
		"required":["place","days"],"$defs":{"day":{"type":"object","properties":{"date":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
		"high":{"type":"number"},"low":{"type":"number"},"sky":{"enum":["clear","cloudy","rain","snow"]}},"required":["date"]}}}`
	forecast = `{"place":"Somewhere","days":[{"date":"2026-07-28","high":21.5,"low":11,"sky":"clear"},
		{"date":"2026-07-29","high":19,"low":12,"sky":"rain"},{"date":"2026-07-30","high":18,"low":9.5,"sky":"cloudy"}]}`
)

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(Compile(json.RawMessage(weather)))(b)
	}
}

func BenchmarkValidate(b *testing.B) {
	s := mustCompile(b, weather)
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, s.Validate(json.RawMessage(forecast)))
	}
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, Check(json.RawMessage(weather)))
	}
}
