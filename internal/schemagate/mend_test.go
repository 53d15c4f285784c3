package schemagate

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestMend(t *testing.T) {
	const (
		draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
		union  = `{"oneOf":[{"properties":{"k":{"const":"x"},"n":{"type":"integer"}},"required":["k"]},{"properties":{"k":{"const":"y"},"m":{"default":3}},"required":["k"]}]}`
	)
	everything := Mending{true, true, true}
	for _, test := range []struct {
		schema string
		how    Mending
		value  string
		want   string // empty: it stays as it is, "-": it does not fit
	}{
		// Defaults.
		{`{"properties":{"b":{"default":1.50},"a":{"default":"<&>"}}}`, Mending{Defaults: true}, `{}`, `{"a":"<&>","b":1.50}`},
		{`{"properties":{"b":{"default":1}}}`, Mending{Defaults: true}, ` { "a" : 1e400 } `, ` { "a" : 1e400,"b":1 } `},
		{`{"properties":{"b":{"default":1}}}`, Mending{}, `{}`, ``},
		{`{"properties":{"b":{"default":1}}}`, Mending{Defaults: true}, `{"\u0062":2}`, ``},
		{`{"properties":{"b":{"default":1}},"required":["b"]}`, Mending{Defaults: true}, `{}`, `{"b":1}`},
		{`{"properties":{"b":{"default":1}},"required":["b"]}`, Mending{}, `{}`, `-`},
		{`{"properties":{"a":{"default":1},"b":{"type":"integer"}}}`, everything, `{"b":"x"}`, `-`},
		{`{"properties":{"b":{"default":null}}}`, Mending{Defaults: true}, `{}`, ``},
		{`{"properties":{"b":{"type":"string","default":7},"c":{"maximum":5,"default":6},"d":{"default":1}}}`, Mending{Defaults: true}, `{}`, `{"d":1}`},
		{`{"properties":{"o":{"type":"object","properties":{"k":{"default":1}}}}}`, Mending{Defaults: true}, `{}`, ``},
		{`{"properties":{"o":{"type":"object","properties":{"k":{"default":1}}}}}`, Mending{Defaults: true}, `{"o":{}}`, `{"o":{"k":1}}`},
		{`{"properties":{"o":{"default":{},"properties":{"k":{"default":1}}}}}`, Mending{Defaults: true}, `{}`, `{"o":{"k":1}}`},
		{`{"properties":{"l":{"items":{"properties":{"k":{"default":1}}}}}}`, Mending{Defaults: true}, `{"l":[{},{"k":2},7]}`, `{"l":[{"k":1},{"k":2},7]}`},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"default":{"y":1,"x":[]}}}}`, Mending{Defaults: true}, `{}`, `{"a":{"x":[],"y":1}}`},
		{`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"properties":{"a":{"allOf":[{"default":1}]}}}}}`, Mending{Defaults: true}, `{}`, `{"a":1}`},
		{`{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2}}}],"properties":{"a":{"default":3}}}`, Mending{Defaults: true}, `{}`, `{"a":3}`},
		{`{"anyOf":[{"properties":{"a":{"default":1}}},{"properties":{"b":{"default":2}}}]}`, Mending{Defaults: true}, `{}`, ``},
		{`{"if":{},"then":{"properties":{"a":{"default":1}}}}`, Mending{Defaults: true}, `{}`, ``},
		{`{"anyOf":[{"type":"object","properties":{"a":{"default":1}}},{"type":"null"}]}`, Mending{Defaults: true}, `{}`, `{"a":1}`},
		{union, Mending{Defaults: true}, `{"k":"y"}`, `{"k":"y","m":3}`},
		{union, Mending{Defaults: true}, `{"k":"x"}`, ``},
		{`{"properties":{"a":{"$ref":"#","default":{}},"b":{"default":1}}}`, Mending{Defaults: true}, `{"a":{}}`, `{"a":{"b":1},"b":1}`},
		{`{"not":{"required":["a","b"]},"properties":{"a":{"default":1}}}`, Mending{Defaults: true}, `{"b":1}`, ``},
		{`{"maxProperties":1,"properties":{"a":{"default":1},"b":{"type":"integer"}}}`, everything, `{"b":"1"}`, `{"b":1}`},
		{`{` + draft7 + `"properties":{"a":{"$ref":"#/definitions/a","default":7}},"definitions":{"a":{"default":1}}}`, Mending{Defaults: true}, `{}`, `{"a":1}`},
		{`{"patternProperties":{"^x":{"properties":{"a":{"default":1}}}},"additionalProperties":{"properties":{"b":{"default":2}}}}`, Mending{Defaults: true}, `{"x":{},"y":{}}`, `{"x":{"a":1},"y":{"b":2}}`},
		{`{"properties":{"a\"b<":{"default":1}}}`, Mending{Defaults: true}, `{}`, `{"a\"b<":1}`},

		// Types.
		{`{"properties":{"n":{"type":"integer"}}}`, Mending{Types: true}, `{"x":1e400, "n": "9007199254740993" }`, `{"x":1e400, "n": 9007199254740993 }`},
		{`{"properties":{"n":{"type":"integer"}}}`, Mending{Defaults: true, Nulls: true}, `{"n":"1"}`, `-`},
		{`{"properties":{"n":{"type":"integer"}}}`, Mending{Types: true}, `{"n":"1.5"}`, `-`},
		{`{"properties":{"n":{"type":"integer"}}}`, Mending{Types: true}, `{"n":"1.0"}`, `{"n":1.0}`},
		{`{"properties":{"n":{"$ref":"#/$defs/i"}},"$defs":{"i":{"allOf":[{"type":"integer"}]}}}`, Mending{Types: true}, `{"n":"1"}`, `{"n":1}`},
		{`{"properties":{"n":{"type":"number"}}}`, Mending{Types: true}, `{"n":" 1.5\n"}`, `{"n":1.5}`},
		{`{"properties":{"n":{"type":"number"}}}`, Mending{Types: true}, `{"n":"1,5"}`, `-`},
		{`{"properties":{"n":{"type":"number"}}}`, Mending{Types: true}, `{"n":""}`, `-`},
		{`{"properties":{"n":{"type":"number"}}}`, Mending{Types: true}, `{"n":"1e999999999"}`, `-`},
		{`{"properties":{"n":{"type":"boolean"}}}`, Mending{Types: true}, `{"n":"\u0074rue"}`, `{"n":true}`},
		{`{"properties":{"n":{"type":"boolean"}}}`, Mending{Types: true}, `{"n":"False"}`, `{"n":false}`},
		{`{"properties":{"n":{"type":"boolean"}}}`, Mending{Types: true}, `{"n":"1"}`, `-`},
		{`{"properties":{"n":{"type":["integer","string"],"pattern":"^x"}}}`, Mending{Types: true}, `{"n":"1"}`, `-`},
		{`{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^x"}]}}}`, Mending{Types: true}, `{"n":"1"}`, `-`},
		{`{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, Mending{Types: true}, `{"n":"1"}`, `{"n":1}`},
		{`{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, Mending{Types: true}, `{"n":"null"}`, `{"n":null}`},
		{`{"properties":{"n":{"enum":[1,2]}}}`, Mending{Types: true}, `{"n":"1"}`, `{"n":1}`},
		{`{"properties":{"n":{"enum":["1",2]}}}`, Mending{Types: true}, `{"n":"2"}`, `-`},
		{`{"properties":{"n":{"enum":["1",2]}}}`, Mending{Types: true}, `{"n":"1"}`, ``},
		{`{"properties":{"n":{}}}`, Mending{Types: true}, `{"n":"1","m":"2"}`, ``},
		{`{"properties":{"l":{"type":"array","items":{"type":"integer"}}}}`, Mending{Types: true}, `{"l":"[1, \"2\"]"}`, `{"l":[1, 2]}`},
		{`{"properties":{"o":{"type":"object","additionalProperties":{"type":"integer"}}}}`, Mending{Types: true}, `{"o":"{\"a\":\"1\"}"}`, `{"o":{"a":1}}`},
		{`{"properties":{"o":{"type":"object"}}}`, Mending{Types: true}, `{"o":"{\"a\":1,\"a\":2}"}`, `-`},
		{`{"properties":{"o":{"type":"object"}}}`, Mending{Types: true}, `{"o":"[1]"}`, `-`},
		{union, Mending{Types: true}, `{"n":"1","k":"x"}`, `{"n":1,"k":"x"}`},
		{`{"prefixItems":[{"type":"integer"}],"items":{"type":"boolean"}}`, Mending{Types: true}, `["1","true"]`, `[1,true]`},
		{`{` + draft7 + `"items":[{"type":"integer"}],"additionalItems":{"type":"boolean"}}`, Mending{Types: true}, `["1","true"]`, `[1,true]`},
		{`{"type":"integer"}`, Mending{Types: true}, ` "7" `, ` 7 `},

		// Nulls.
		{`{"properties":{"a":{"type":"string"}}}`, Mending{Nulls: true}, `{"a":null}`, `{}`},
		{`{"properties":{"a":{"type":"string"}}}`, Mending{Types: true}, `{"a":null}`, `-`},
		{`{"properties":{"a":{"type":"string"}},"required":["a"]}`, Mending{Nulls: true}, `{"a":null}`, `-`},
		{`{"properties":{"a":{"type":["string","null"]},"b":{}}}`, Mending{Nulls: true}, `{"a":null,"b":null,"c":null}`, ``},
		{`{"properties":{"a":{"type":"string"},"c":{"type":"string"}}}`, Mending{Nulls: true}, `{ "a" : null , "b" : 1 , "c" : null }`, `{ "b" : 1 }`},
		{`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, Mending{Nulls: true}, `{"a":null,"b":null, "c":1}`, `{"c":1}`},
		{`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, Mending{Nulls: true}, `{ "a":null, "b":null }`, `{  }`},
		{`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, Mending{Nulls: true}, `{"c":{},"a":null,"b":null,"d":1}`, `{"c":{},"d":1}`},
		{`{"items":{"properties":{"a":{"type":"string"}}}}`, Mending{Nulls: true}, `[{"a":null},null]`, `[{},null]`},
		{`{"properties":{"a":{"type":"integer","default":3},"b":{"type":"integer"}}}`, everything, `{"a":null,"b":"2"}`, `{"b":2,"a":3}`},
		{`{"properties":{"a":{"type":"integer","default":3}}}`, everything, `{"a":null}`, `{"a":3}`},
		{`{"allOf":[{"required":["a"]}],"properties":{"a":{"type":"string"}}}`, Mending{Nulls: true}, `{"a":null}`, `-`},
		{`{"properties":{"a":{"type":["string","null"]},"b":{"type":"string"}}}`, Mending{Nulls: true}, `{"a":null,"b":null}`, `{"a":null}`},
	} {
		s := mustCompile(t, test.schema)
		got, problems := s.Mend([]byte(test.value), test.how)
		text := string(got)
		switch {
		case problems != nil && text != test.value:
			t.Errorf("%s against %s: it does not fit, and became %s", test.value, test.schema, text)
		case problems != nil:
			text = "-"
		case text == test.value:
			text = ""
		}
		if text != test.want {
			t.Errorf("%s against %s, %+v:\ngot  %s %+v\nwant %s", test.value, test.schema, test.how, text, problems, test.want)
		}
	}
}

// What needs no mending is not even copied.
func TestMendKeeps(t *testing.T) {
	s := mustCompile(t, `{"properties":{"n":{"type":"integer","default":1},"s":{"type":"string"}}}`)
	value := []byte(` {"s":"\u00e4","n":1.0}`)
	if got, _ := s.Mend(value, Mending{true, true, true}); &got[0] != &value[0] {
		t.Error("the value was copied")
	}
}

// The problems that are told are those that mending leaves.
func TestMendTellsWhatIsLeft(t *testing.T) {
	s := mustCompile(t, `{"properties":{"n":{"type":"integer"},"m":{"default":1},"s":{"type":"string"},"o":{"type":"null"}},"required":["n","m"]}`)
	value := []byte(`{"n":"1","s":null,"o":7}`)
	_, problems := s.Mend(value, Mending{true, true, true})
	if len(problems) != 1 || problems[0].Path != "o" {
		t.Errorf("problems %+v", problems)
	}
	if _, problems = s.Mend(value, Mending{}); len(problems) != 4 {
		t.Errorf("problems %+v", problems)
	}
	if _, problems = s.Mend([]byte(`{"n":null,"m":1}`), Mending{Nulls: true}); len(problems) != 1 || problems[0].Got != "null" {
		t.Errorf("problems of a required null: %+v", problems)
	}
}

// None of these ends, or fits into memory, without bounds.
func TestMendTraps(t *testing.T) {
	everything := Mending{true, true, true}
	for _, test := range traps() {
		t.Run(test.name, func(t *testing.T) {
			if raced && test.name == "very many values" {
				t.Skip("make norace runs it")
			}
			t.Parallel()
			s := mustCompile(t, test.schema)
			if _, problems := s.Mend([]byte(test.value), everything); len(problems) != 1 {
				t.Errorf("problems %+v", problems)
			}
		})
	}
	for _, test := range []struct{ name, schema, value string }{
		{"doubling defaults", `{"$ref":"#/$defs/d0","$defs":{` + many(60, func(i int) string {
			return fmt.Sprintf(`"d%d":{"type":"object","default":{},"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
		}) + `,"d60":{"default":1}}}`, `{}`},
		{"one large default of many", `{"properties":{` + many(50, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d"}`, i) }) +
			`},"$defs":{"d":{"default":"` + strings.Repeat("x", 60_000) + `"}}}`, `{}`},
		{"default that doubles", `{"default":1,"properties":{"p":{"$ref":"#/$defs/d","default":` + nested(40, `{"a":`, `1`, `}`) + `}},
			"$defs":{"d":{"properties":{"a":{"allOf":[{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"}]}}}}}`, `{}`},
		{"small value", `{"anyOf":[` + many(2, func(i int) string {
			return fmt.Sprintf(`{"type":"object","required":["%d"],"additionalProperties":{"$ref":"#"}}`, i)
		}) + `]}`, nested(16, `{"a":`, `1`, `}`)},
		{"strings within strings", `{"additionalProperties":{"$ref":"#"},"type":"object"}`, nestedStrings(10)},
		{"many members", `{"additionalProperties":{"type":"integer"}}`, `{` + many(10_000, func(i int) string { return fmt.Sprintf(`"%d":"1"`, i) }) + `}`},
		{"many nulls", `{"additionalProperties":{"type":"integer"}}`, `{` + many(10_000, func(i int) string { return fmt.Sprintf(`"%d":null`, i) }) + `}`},
		{"many wrong alternatives", `{"items":{"anyOf":[` + many(50, func(i int) string { return fmt.Sprintf(`{"type":"object","required":["%d"]}`, i) }) + `]}}`,
			`[` + many(1_000, func(int) string { return "{}" }) + `]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := mustCompile(t, test.schema)
			out, problems := s.Mend([]byte(test.value), everything)
			if len(out) > len(test.value)+maxDefaults || len(problems) > MaxProblems {
				t.Errorf("%d bytes, problems %+v", len(out), problems)
			}
		})
	}
}

// nestedStrings is an object within a string within an object, and so on.
func nestedStrings(n int) string {
	value := `{}`
	for range n {
		value = `{"a":` + fmt.Sprintf("%q", value) + `}`
	}
	return value
}

func TestMendConcurrent(t *testing.T) {
	s := mustCompile(t, `{"properties":{"n":{"type":"integer"},"m":{"default":1}}}`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if got, _ := s.Mend([]byte(`{"n":"1"}`), Mending{true, true, true}); string(got) != `{"n":1,"m":1}` {
					t.Errorf("got %s", got)
				}
				if problems := s.Problems([]byte(`{"n":"1"}`)); len(problems) != 1 {
					t.Errorf("problems %+v", problems)
				}
			}
		})
	}
	wg.Wait()
}
