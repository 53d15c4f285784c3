// Schemas and values of the tests of check.go, graph.go and budget.go that cost more than they may.

package schemagate

import (
	"fmt"
	"strings"
)

// ladder is a schema that holds one value against two to the n others.
func ladder(n int, keyword string) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object"}`, n))
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

// chain is a schema of n that refer to each other in a row, and the last one,
// for a member, to the first.
func chain(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d0"}}}`, n))
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

func nested(n int, before, middle, after string) string {
	return strings.Repeat(before, n) + middle + strings.Repeat(after, n)
}

func many(n int, one func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = one(i)
	}
	return strings.Join(all, ",")
}

// bombs are schemas that are refused, each with its token and the place.
func bombs() []struct{ name, schema, token, path string } {
	return []struct{ name, schema, token, path string }{
		{"itself", `{"$ref":"#"}`, "schema_cycle", ""},
		{"an anchor", `{"$anchor":"a","$ref":"#a"}`, "unresolved_ref", ""},
		{"itself, by a pointer", `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`, "schema_cycle", "/$defs/a"},
		{"itself, where no schema stands", `{"x":{"y":{"allOf":[{"$ref":"#/x/y"}]}},"properties":{"p":{"$ref":"#/x/y"}}}`, "schema_cycle", "/x/y"},
		{"two in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "schema_cycle", "/$defs/a"},
		{"if", `{"if":{"$ref":"#"}}`, "schema_cycle", ""},
		{"then", `{"if":true,"then":{"$ref":"#"}}`, "schema_cycle", ""},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, "schema_cycle", ""},
		{"dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, "schema_cycle", ""},
		{"allOf", ladder(40, "allOf"), "too_complex", ""},
		{"anyOf", ladder(40, "anyOf"), "too_complex", ""},
		{"oneOf", ladder(40, "oneOf"), "too_complex", ""},
		{"long chain", chain(600), "too_deep", ""},
		{"deep", nested(65, `{"not":`, `{}`, `}`), "too_deep", ""},
		{"very deep", nested(2_000, `{"not":`, `{}`, `}`), "too_deep", ""},
		{"deep and cut off", strings.Repeat(`[`, 20_000), "too_deep", ""},
		{"many", `{"enum":[` + many(8_192, func(i int) string { return fmt.Sprint(i) }) + `]}`, "too_many_nodes", ""},
		{"large", `{"description":"` + strings.Repeat("x", MaxBytes) + `"}`, "too_large", ""},
		{"file", `{"$ref":"file:///etc/passwd"}`, "remote_ref", ""},
		{"http", `{"properties":{"a":{"$ref":"http://localhost/x#"}}}`, "remote_ref", "/properties/a"},
		{"relative", `{"$id":"http://localhost/a","$ref":"b"}`, "remote_ref", ""},
		{"metaschema", `{"$ref":"http://json-schema.org/draft-07/schema#"}`, "remote_ref", ""},
		{"unused", `{"$defs":{"a":{"$ref":"x"}}}`, "remote_ref", "/$defs/a"},
		{"dynamicRef", `{"$dynamicAnchor":"a","properties":{"p":{"$dynamicRef":"#a"}}}`, "dynamic_ref", "/properties/p"},
		{"recursiveRef", `{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`, "dynamic_ref", "/items"},
		{"to nothing", `{"$ref":"#/$defs/a"}`, "unresolved_ref", ""},
		{"to no anchor", `{"$ref":"#a"}`, "unresolved_ref", ""},
		{"to no schema", `{"required":["a"],"items":{"$ref":"#/required/0"}}`, "unresolved_ref", "/items"},
		{"beyond a list", `{"allOf":[true],"items":{"$ref":"#/allOf/1"}}`, "unresolved_ref", "/items"},
		{"to the zeroth written otherwise", `{"allOf":[true],"items":{"$ref":"#/allOf/00"}}`, "unresolved_ref", "/items"},
		{"malformed", `{"$ref":"#%zz"}`, "unresolved_ref", ""},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#"}`, "dialect", ""},
		{"dialect of a file", `{"$schema":"file:///etc/passwd"}`, "dialect", ""},
		{"dialect of a part", `{"$defs":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`, "dialect", "/$defs/a"},
		{"lookahead inverted", `{"not":{"properties":{"a":{"pattern":"(?=a)"}}}}`, "pattern", "/not/properties/a"},
		{"lookahead among names", `{"patternProperties":{"(?=a)":{}}}`, "pattern", "/patternProperties"},
		{"backreference", `{"patternProperties":{"(a)\\1":true}}`, "pattern", "/patternProperties"},
		{"long pattern", `{"pattern":"` + strings.Repeat("a", MaxPattern+1) + `"}`, "pattern", ""},
		{"growing pattern", `{"pattern":"(` + strings.Repeat("a", 500) + `){1000}"}`, "pattern", ""},
		{"growing patterns", `{"allOf":[` + many(200, func(i int) string { return fmt.Sprintf(`{"pattern":"a%d{900}"}`, i) }) + `]}`, "pattern", ""},
		{"classes", `{"allOf":[` + many(200, func(i int) string { return fmt.Sprintf(`{"pattern":"x%d%s"}`, i, strings.Repeat(`\\pL`, 200)) }) + `]}`, "pattern", ""},
		{"not JSON", `{"type":"object"`, "invalid_schema", ""},
		{"two keys", `{"type":"object","type":"string"}`, "invalid_schema", ""},
		{"no schema", `7`, "invalid_schema", ""},
		{"null", `null`, "invalid_schema", ""},
		{"wrong type", `{"properties":{"a":{"type":"strin"}}}`, "invalid_schema", "/properties/a/type"},
		{"wrong keyword", `{"minLength":-1}`, "invalid_schema", "/minLength"},
		{"wrong where no schema stands", `{"definitions":{"a":{"type":7}},"$ref":"#/definitions/a"}`, "invalid_schema", "/definitions/a/type"},
		{"reference of wrong type", `{"$ref":7}`, "invalid_schema", ""},
		{"dialect of wrong type", `{"$schema":7}`, "invalid_schema", ""},
		{"in a part with a name of its own", `{"items":{"$id":"http://localhost/x","$ref":"#/$defs/x"},"$defs":{"x":{}}}`, "unresolved_ref", "/items"},
		{"huge number", `{"minimum":1e999999999}`, "invalid_schema", ""},
		{"long number", `{"minimum":` + strings.Repeat("9", 5_000) + `}`, "invalid_schema", ""},
		{"long paths", nested(20, `{"properties":{"`+strings.Repeat("k", 5_000)+`":`,
			`{"properties":{`+many(3_000, func(i int) string { return fmt.Sprintf(`"%d":{}`, i) })+`}}`, `}}`), "too_complex", ""},
	}
}

const doubling = `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}},"items":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`

// smallTraps are of the kind of traps, with values that cost less: seeds for fuzzing.
var smallTraps = [][2]string{
	{doubling, nested(6, `{"a":`, `1`, `}`)},
	{doubling, nested(6, `[`, `1`, `]`)},
	{chain(20), nested(10, `{"a":`, `1`, `}`)},
	{`{"minimum":0}`, `1e999999999`},
	{`true`, `1e-999999999`},
}

// traps are schemas that pass, with values that they make costly, most of them a
// little more than MaxSteps allows. None of them is accepted.
func traps() []struct{ name, schema, value string } {
	ones := func(n int) string { return `[` + many(n, func(int) string { return "1" }) + `]` }
	texts := many(16, func(int) string { return `"` + strings.Repeat("x", 32<<10) + `"` })
	return []struct{ name, schema, value string }{
		{"doubling by members", doubling, nested(100, `{"a":`, `1`, `}`)},
		{"doubling by elements", doubling, nested(100, `[`, `1`, `]`)},
		{"stack", chain(500), nested(127, `{"a":`, `1`, `}`)},
		{"large enum", `{"items":{"enum":[` + many(8_000, func(i int) string { return fmt.Sprint(i + 2) }) + `]}}`, ones(2_000)},
		{"large numbers", `{"items":{"multipleOf":1e-4000}}`, `[` + many(3_000, func(int) string { return "1e-4000" }) + `]`},
		{"alternatives", `{"items":{"anyOf":[` + many(1_000, func(int) string { return `{"type":"string"}` }) + `]}}`, ones(3_000)},
		{"long member", `{"allOf":[` + many(1_000, func(int) string { return `{"properties":{"a":true}}` }) + `]}`,
			`{"` + strings.Repeat("k", 640<<10) + `":1}`},
		{"pattern", `{"pattern":"` + strings.Repeat("(a|b)?", 150) + `$"}`, `"` + strings.Repeat("ab", 5<<18) + `"`},
		{"pattern of members", `{"patternProperties":{"` + strings.Repeat("(a|b)?", 150) + `$":true}}`, `{"` + strings.Repeat("ab", 5<<18) + `":1}`},
		{"colliding elements", `{"uniqueItems":true}`, `[` + many(1<<12, colliding) + `]`},
		{"large elements", `{"allOf":[` + many(100, func(int) string { return `{"uniqueItems":true}` }) + `]}`,
			`[[` + texts + `,1],[` + texts + `,2]]`},
		{"very many values", `true`, `[` + strings.Repeat("1,", MaxValues-1) + `1]`},
		{"exponent", `{"minimum":0}`, `1e999999999`},
		{"exponent of nothing", `true`, `1e-999999999`},
		{"digits", `{"type":"integer"}`, strings.Repeat("9", MaxDigits+1)},
		{"digits in any object", `{"type":"object"}`, `{"a":[` + strings.Repeat("9", MaxDigits+1) + `]}`},
		{"exponent in any object", `{"type":"object"}`, `{"a":1E999999999}`},
	}
}

// colliding returns different arrays that the validator hashes to the same.
func colliding(i int) string {
	var out strings.Builder
	out.WriteString(`["x`)
	for bit := range 12 {
		if i>>bit&1 == 1 {
			out.WriteString(`","x`)
		} else {
			out.WriteString(`\u0004x`)
		}
	}
	out.WriteString(`"]`)
	return out.String()
}
