package openapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/rest/openapi"
)

// Values of YAML come out as the JSON that people mean by them.
func TestYAMLValues(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{`12`, `12`}, {`-0`, `-0`}, {`9007199254740993`, `9007199254740993`},
		{`0.10`, `0.10`}, {`.5`, `0.5`}, {`+7`, `7`}, {`0x1F`, `31`}, {`0o17`, `15`}, {`5.`, `5`},
		{`.inf`, `".inf"`}, {`.NaN`, `".NaN"`},
		{`true`, `true`}, {`False`, `false`}, {`yes`, `"yes"`}, {`off`, `"off"`},
		{`null`, `null`}, {`~`, `null`}, {``, `null`}, {`"null"`, `"null"`}, {`'12'`, `"12"`},
		{`2020-01-01`, `"2020-01-01"`}, {`12:30`, `"12:30"`}, {`!!str 12`, `"12"`}, {`!mine abc`, `"abc"`},
		{`!!int "{}"`, ``}, {`!!float "true"`, ``}, {`!!bool "x"`, ``},
		{`"a\u0000\"\u202E"`, "\"a\\u0000\\\"\u202e\""},
		{`{a: 1, 2: b, null: c, true: d}`, `{"a":1,"2":"b","null":"c","true":"d"}`},
		{`[[], {}, [{}]]`, `[[],{},[{}]]`},
	} {
		text := head + "paths: {/a: {get: {operationId: a, parameters: [{name: p, in: query, schema: {const: " + c.yaml + "}}]}}}"
		api, problems, err := openapi.Parse([]byte(text), nil)
		if c.want == "" {
			// A tag that is not true of its value: an error, or a text, but never
			// JSON made of it.
			if err == nil && !strings.HasPrefix(string(api.Endpoints[0].Params[0].Schema), `{"const":"`) {
				t.Errorf("%s became %s", c.yaml, api.Endpoints[0].Params[0].Schema)
			}
			continue
		}
		assert.OK(t, err, c.yaml)
		assert.Equal(t, fmt.Sprint(problems), "[]", c.yaml)
		assert.Equal(t, string(api.Endpoints[0].Params[0].Schema), `{"const":`+c.want+`}`, "%s", c.yaml)
	}
}

func TestAliasesAndMerges(t *testing.T) {
	e := one(t, head+`
x-one: &one {type: string, minLength: 1}
x-two: &two {type: integer, maximum: 2}
paths:
  /a:
    get:
      operationId: a
      parameters:
        - {name: a, in: query, schema: *one}
        - {name: b, in: query, schema: {<<: *one, minLength: 5}}
        - {name: c, in: query, schema: {maximum: 9, <<: [*two, *one]}}
        - {name: d, in: query, schema: {<<: {<<: *two, minimum: 0}}}
`)
	for i, want := range []string{
		`{"type":"string","minLength":1}`, `{"minLength":5,"type":"string"}`,
		`{"maximum":9,"type":"integer","minLength":1}`, `{"minimum":0,"type":"integer","maximum":2}`,
	} {
		same(t, e.Params[i].Name, e.Params[i].Schema, want)
	}
}

// A few hundred bytes that would become gigabytes end early.
func TestYAMLBombs(t *testing.T) {
	laughs := func(form string) string {
		var b strings.Builder
		b.WriteString("openapi: 3.0.0\nx-a: &a {k: v}\n")
		for c := 'b'; c < 'z'; c++ {
			fmt.Fprintf(&b, "x-%c: &%c ", c, c)
			fmt.Fprintf(&b, form, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
			b.WriteByte('\n')
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"aliases":              laughs("[%s]"),
		"aliases in maps":      strings.ReplaceAll(laughs("{a: [%s]}"), "\t", ""),
		"merges":               laughs("{<<: [%s]}"),
		"a long alias":         "openapi: 3.0.0\nx-a: &a " + strings.Repeat("x", 100_000) + "\nx-b: [" + strings.Repeat("*a, ", 680) + "*a]\n",
		"an alias of itself":   "openapi: 3.0.0\nx-a: &a [*a]\n",
		"a merge of itself":    "openapi: 3.0.0\nx-a: &a {<<: *a}\n",
		"deep lists":           "openapi: 3.0.0\nx-a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"deep blocks":          "openapi: 3.0.0\nx-a:\n  " + strings.Repeat("- ", 5000) + "a\n",
		"deep maps":            "openapi: 3.0.0\nx-a: " + strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000),
		"deep by aliases":      deepByAliases(),
		"a list without end":   "openapi: 3.0.0\nx-a: [" + strings.Repeat("a,", 1<<20) + "]",
		"lines without end":    "openapi: 3.0.0\nx-a:\n" + strings.Repeat("- \n", 1<<20),
		"members without end":  "openapi: 3.0.0\nx-a: {" + strings.Repeat("? ,", 1<<20) + "}",
		"an anchor of nothing": "openapi: 3.0.0\nx-a: *nothing\n",
		"a merge of a text":    "openapi: 3.0.0\nx-a: {<<: text}\n",
		"a list as a key":      "openapi: 3.0.0\n? [a]\n: b\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := openapi.Parse([]byte(text), nil)
			assert.As[*openapi.DocumentError](t, err)
			assert.False(t, len(err.Error()) > 400, "%d are more than %d", len(err.Error()), 400)
		})
	}
}

// deepByAliases is not deep as it is written, but with its aliases written out.
func deepByAliases() string {
	var b strings.Builder
	b.WriteString("openapi: 3.0.0\nx-0: &a0 []\n")
	for i := 1; i < 300; i++ {
		fmt.Fprintf(&b, "x-%d: &a%d [*a%d]\n", i, i, i-1)
	}
	return b.String()
}

// As JSON a document may hold more, since what is not asked for is not kept.
func TestLargeDocuments(t *testing.T) {
	large := `{"openapi": "3.0.0", "x-a": [` + strings.Repeat("1,", 1<<20) + `1]}`
	parse(t, large, nil)
	_, _, err := openapi.Parse([]byte(large), &openapi.Options{MaxBytes: 1 << 20})
	assert.As[*openapi.DocumentError](t, err)
	assert.Contains(t, err.Error(), "Options.MaxBytes")
	deep := `{"openapi": "3.0.0", "x-a": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`
	_, _, err = openapi.Parse([]byte(deep), nil)
	assert.As[*openapi.DocumentError](t, err)
	assert.Contains(t, err.Error(), "deep")
}
