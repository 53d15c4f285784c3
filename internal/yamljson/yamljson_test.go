package yamljson

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Values of YAML come out as the JSON that people mean by them.
func TestValues(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{`12`, `12`}, {`-0`, `-0`}, {`9007199254740993`, `9007199254740993`},
		{`0.10`, `0.10`}, {`.5`, `0.5`}, {`+7`, `7`}, {`0x1F`, `31`}, {`0o17`, `15`}, {`5.`, `5`},
		{`.inf`, `".inf"`}, {`.NaN`, `".NaN"`},
		{`true`, `true`}, {`False`, `false`}, {`yes`, `"yes"`}, {`off`, `"off"`},
		{`null`, `null`}, {`~`, `null`}, {``, `null`}, {`"null"`, `"null"`}, {`'12'`, `"12"`},
		{`2020-01-01`, `"2020-01-01"`}, {`12:30`, `"12:30"`}, {`!!str 12`, `"12"`}, {`!mine abc`, `"abc"`},
		{`"a\u0000\"\u202E"`, "\"a\\u0000\\\"\u202e\""},
		{`{a: 1, 2: b, null: c, true: d}`, `{"a":1,"2":"b","null":"c","true":"d"}`},
		{`[[], {}, [{}]]`, `[[],{},[{}]]`},
		{`{one: &one {a: 1, b: 2}, two: *one}`, `{"one":{"a":1,"b":2},"two":{"a":1,"b":2}}`},
		{`[&one {a: 1, b: 2}, {<<: *one, b: 5}]`, `[{"a":1,"b":2},{"b":5,"a":1}]`},
		{`[&one {a: 1, b: 2}, &two {b: 3, c: 4}, {c: 9, <<: [*two, *one]}]`, `[{"a":1,"b":2},{"b":3,"c":4},{"c":9,"b":3,"a":1}]`},
		{`[&two {b: 3}, {<<: {<<: *two, c: 0}}]`, `[{"b":3},{"c":0,"b":3}]`},
	} {
		assert.Equal(t, string(assert.Value(Parse([]byte("v: "+c.yaml)))(t).Root.JSON()), `{"v":`+c.want+`}`, "%s", c.yaml)
	}
	for _, text := range []string{`!!int "{}"`, `!!float "true"`, `!!bool "x"`} {
		if doc, err := Parse([]byte(text)); err == nil {
			assert.Equal(t, doc.Root.Kind, jsonc.String, "%s", text)
		}
	}
}

func TestPlaces(t *testing.T) {
	doc := assert.Value(Parse([]byte("\xef\xbb\xbfa: 1\nb:\n  - c: text\n")))(t)
	c := doc.Root.Member("b").Value.Elems[0].Member("c")
	assert.Equal(t, doc.Position(c.Offset), jsonc.Position{Line: 3, Column: 5}, "the key")
	assert.Equal(t, string(doc.Data[c.Value.Offset:c.Value.End]), "text", "the value")
	assert.Equal(t, doc.Position(doc.Root.Offset), jsonc.Position{Line: 1, Column: 1}, "the root")
}

// A few hundred bytes that would become gigabytes end early.
func TestRefusals(t *testing.T) {
	laughs := func(form string) string {
		var b strings.Builder
		b.WriteString("x-a: &a {k: v}\n")
		for c := 'b'; c < 'z'; c++ {
			fmt.Fprintf(&b, "x-%c: &%c ", c, c)
			fmt.Fprintf(&b, form, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), ", "))
			b.WriteByte('\n')
		}
		return b.String()
	}
	deep := "x-0: &a0 []\n"
	for i := 1; i < 300; i++ {
		deep += fmt.Sprintf("x-%d: &a%d [*a%d]\n", i, i, i-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases":              {laughs("[%s]"), "aliases written out"},
		"aliases in maps":      {laughs("{a: [%s]}"), "aliases written out"},
		"merges":               {laughs("{<<: [%s]}"), "aliases written out"},
		"a long alias":         {"x-a: &a " + strings.Repeat("x", 100_000) + "\nx-b: [" + strings.Repeat("*a, ", 680) + "*a]\n", "aliases written out"},
		"an alias of itself":   {"x-a: &a [*a]\n", ""},
		"a merge of itself":    {"x-a: &a {<<: *a}\n", ""},
		"deep lists":           {"x-a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ""},
		"deep blocks":          {"x-a:\n  " + strings.Repeat("- ", 5000) + "a\n", ""},
		"deep by aliases":      {deep, "nested deeper"},
		"a list without end":   {"x-a: [" + strings.Repeat("a,", 1<<20) + "]", "about 1048"},
		"lines without end":    {"x-a:\n" + strings.Repeat("- \n", 1<<20), "values"},
		"members without end":  {"x-a: {" + strings.Repeat("? ,", 1<<20) + "}", "values"},
		"an anchor of nothing": {"x-a: *sk-secret\n", "put a text that starts with * or & in quotes"},
		"a merge of a text":    {"x-a: {<<: text}\n", "a merge key takes a mapping"},
		"a list as a key":      {"? [a]\n: b\n", "a key must be a text"},
		"a key twice":          {"a: 1\nb: 2\na: 3\n", "3:1: a: duplicate key"},
		"no UTF-8":             {"a: \xff\n", "1:4: invalid UTF-8"},
		"nothing":              {"# nothing\n", "empty"},
		"two documents":        {"a: 1\n---\na: 1\n", "more than one document"},
		"broken":               {"a: {b\nc: d\n", ""},
		"too long":             {strings.Repeat("#", jsonc.MaxSize+1), "more than the limit"},
	} {
		if len(c.text) > assert.Cases(1<<20, 1<<30) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			assert.As[*jsonc.SyntaxError](t, err)
			assert.Contains(t, err.Error(), c.want)
			assert.Lacks(t, err.Error(), "sk-secret")
			assert.False(t, len(err.Error()) > 400, "%d are more than %d", len(err.Error()), 400)
		})
	}
}
