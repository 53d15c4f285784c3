package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each edit is made twice: the second time there is nothing to do.
func TestSet(t *testing.T) {
	for _, c := range []struct{ name, have, path, value, want string }{
		{"scalar", `{"a": 1, "b": 2}`, "a", `3`, `{"a": 3, "b": 2}`},
		{"same", `{"a": 1.0}`, "a", `1`, `{"a": 1.0}`},
		{"another kind", `{"a": [1] /* x */}`, "a", `"y"`, `{"a": "y" /* x */}`},
		{"root", `[1]`, "", `{"a":[true,null]}`, `{"a": [true, null]}`},
		{"add on one line", `{"a": 1}`, "b", `2`, `{"a": 1, "b": 2}`},
		{"add compact", `{"a":1,"b":[1]}`, "c", `{"x":[1,2],"y":null}`, `{"a":1,"b":[1],"c":{"x":[1,2],"y":null}}`},
		{"add padded", `{ "a": { "b": 1 } }`, "c", `{"x":1}`, `{ "a": { "b": 1 }, "c": { "x": 1 } }`},
		{"add to lines", "{\n  \"a\": 1\n}\n", "b", `2`, "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"trailing comma", "{\n\t\"a\": 1,\n}\n", "b", `2`, "{\n\t\"a\": 1,\n\t\"b\": 2,\n}\n"},
		{"CRLF", "{\r\n    \"a\": 1 // one\r\n}\r\n", "b", `{"c":[]}`,
			"{\r\n    \"a\": 1, // one\r\n    \"b\": {\r\n        \"c\": []\r\n    }\r\n}\r\n"},
		{"BOM and tabs", "\xef\xbb\xbf{\n\t\"a\": {\n\t\t\"x\": 1\n\t}\n}", "b", `{"y":2}`,
			"\xef\xbb\xbf{\n\t\"a\": {\n\t\t\"x\": 1\n\t},\n\t\"b\": {\n\t\t\"y\": 2\n\t}\n}"},
		{"colon", "{\n  \"a\" : 1\n}", "b", `2`, "{\n  \"a\" : 1,\n  \"b\" : 2\n}"},
		{"comment behind the last", "{\n  \"a\": 1 /* one */ // a\n  // footer\n}", "b", `2`,
			"{\n  \"a\": 1, /* one */ // a\n  \"b\": 2\n  // footer\n}"},
		{"comment behind the comma", "{\n  \"a\": 1, // a\n}", "b", `2`, "{\n  \"a\": 1, // a\n  \"b\": 2,\n}"},
		{"line comment on one line", "{\"a\": 1 // a\n}", "b", `2`, "{\"a\": 1, \"b\": 2 // a\n}"},
		{"empty", `{}`, "a", `{"b":1}`, "{\n  \"a\": {\n    \"b\": 1\n  }\n}"},
		{"empty inside of lines", "{\n    \"a\": {}\n}", "a/b", `[{"c":1}]`,
			"{\n    \"a\": {\n        \"b\": [\n            {\n                \"c\": 1\n            }\n        ]\n    }\n}"},
		{"empty list inside of lines", "{\n  \"a\": []\n}", "a/-", `"b"`, "{\n  \"a\": [\"b\"]\n}"},
		{"empty with a comment", "{\n  \"a\": {\n    // none yet\n  }\n}", "a/b", `1`,
			"{\n  \"a\": {\n    // none yet\n\n    \"b\": 1\n  }\n}"},
		{"empty with a comment on the line", "{\"a\": { /* none */ }}", "a/b", `1`, "{\"a\": { /* none */\n  \"b\": 1\n}}"},
		{"objects on the way", `{"x": 1}`, "a/b/c", `1`, `{"x": 1, "a": {"b": {"c": 1}}}`},
		{"null on the way", `{"a": null}`, "a/b", `1`, `{"a": {"b": 1}}`},
		{"element", `{"a": [1, 2, 3]}`, "a/1", `4`, `{"a": [1, 4, 3]}`},
		{"new element", `{"a": [1, 2, ]}`, "a/-", `4`, `{"a": [1, 2, 4, ]}`},
		{"new element in lines", "[\n  1, // one\n  2 // two\n]", "-", `3`, "[\n  1, // one\n  2, // two\n  3\n]"},
		{"inside of a new element", `[]`, "-/a", `3`, "[\n  {\n    \"a\": 3\n  }\n]"},
		{"array: the middle goes", "[\n  1, // one\n  2, // two\n  3 // three\n]", "", `[1,3]`, "[\n  1, // one\n  3 // three\n]"},
		{"array: the middle comes", "[\n  1, // one\n  3 // three\n]", "", `[1,2,3]`, "[\n  1, // one\n  2,\n  3 // three\n]"},
		{"array: the first comes", "[\n  // two\n  2\n]", "", `[1,2]`, "[\n  1,\n  // two\n  2\n]"},
		{"array: the first comes on the line", "[2, 3]", "", `[0,1,2,3]`, "[0, 1, 2, 3]"},
		{"object: some go, some come", "{\n  // a\n  \"a\": 1,\n  // b\n  \"b\": {\"x\": 1, /* y */ \"y\": 2},\n}", "", `{"b":{"y":2,"z":3},"c":4}`,
			"{\n  // b\n  \"b\": {/* y */ \"y\": 2, \"z\": 3},\n  \"c\": 4,\n}"},
		{"all change", "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}", "env", `{"B":"2"}`, "{\n  \"env\": {\n    \"B\": \"2\"\n  }\n}"},
		{"a flat array", "{\n  \"a\": [\"x\", 1],\n  \"b\": 1\n}", "a/1", `{"y":[2]}`, "{\n  \"a\": [\"x\", {\"y\": [2]}],\n  \"b\": 1\n}"},
		{"text", `{"a": 1}`, "b", `"<&> \u202e é \n \u007f"`, `{"a": 1, "b": "<&> \u202e é \n \u007f"}`},
		{"a key like a number", `{"0": 1}`, "0", `2`, `{"0": 2}`},
		{"order does not matter", `{"a": {"x": 1, "y": 2}}`, "a", `{"y": 2, "x": 1}`, `{"a": {"x": 1, "y": 2}}`},
		{"comma in front", "{ \"a\": 1 // a\n, \"b\": 2 // b\n}", "c", `3`, "{ \"a\": 1 // a\n, \"b\": 2, \"c\": 3 // b\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := []byte(c.have)
			got := assert.Value(Set(before, []byte(c.value), split(c.path)...))(t)
			assert.Equal(t, string(got), c.want)
			assert.Equal(t, string(before), c.have, "the input changed")
			again := assert.Value(Set(got, []byte(c.value), split(c.path)...))(t)
			isNew := strings.HasSuffix(c.path, "-") || strings.HasPrefix(c.path, "-")
			assert.True(t, &again[0] == &got[0] || isNew, "the second time there is nothing to do: %s", again)
		})
	}
}

func split(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

func TestRemove(t *testing.T) {
	const lines = "{\n  // about a\n  \"a\": 1, // a\n\n  /* about b,\n     long */\n  \"b\": 2, // b\n  // about c\n  \"c\": 3 // c\n  // footer\n}\n"
	for _, c := range []struct{ name, have, path, want string }{
		{"the bracket behind the last", "[{ \"a\": 1,\n   \"b\": 2 }]", "0/b", "[{ \"a\": 1 }]"},
		{"the bracket behind the last, and a comment", "[{ \"a\": 1, // one\n   \"b\": 2 }]", "0/b", "[{ \"a\": 1 // one\n   }]"},
		{"not there", lines, "d", lines},
		{"not there below", lines, "d/e/f", lines},
		{"below a null", `{"a": null}`, "a/b", `{"a": null}`},
		{"first", lines, "a", "{\n\n  /* about b,\n     long */\n  \"b\": 2, // b\n  // about c\n  \"c\": 3 // c\n  // footer\n}\n"},
		{"middle", lines, "b", "{\n  // about a\n  \"a\": 1, // a\n\n  // about c\n  \"c\": 3 // c\n  // footer\n}\n"},
		{"last", lines, "c", "{\n  // about a\n  \"a\": 1, // a\n\n  /* about b,\n     long */\n  \"b\": 2 // b\n  // footer\n}\n"},
		{"last with a comma", "{\n  \"a\": 1,\n  \"b\": 2,\n}", "b", "{\n  \"a\": 1,\n}"},
		{"only one", "{\n  // a\n  \"a\": 1\n}", "a", "{}"},
		{"only one, comment stays", "{\n  // header\n\n  \"a\": 1\n}", "a", "{\n  // header\n}"},
		{"switched off", "{\n  \"a\": 1,\n  // \"b\": 2,\n  // c\n  \"c\": 3\n}", "c", "{\n  \"a\": 1\n  // \"b\": 2,\n}"},
		{"on one line, first", `{"a": 1, "b": 2}`, "a", `{"b": 2}`},
		{"on one line, middle", `[1, 2, 3]`, "1", `[1, 3]`},
		{"on one line, last", `{ "a": 1, "b": 2 }`, "b", `{ "a": 1 }`},
		{"on one line, all", `{ "a": 1 }`, "a", `{}`},
		{"comment is the next one's", `{"a": 1, /* b */ "b": 2}`, "a", `{/* b */ "b": 2}`},
		{"comment before the comma", `{"a": 1 /* a */, "b": 2}`, "a", `{"b": 2}`},
		{"comments inside", "{\"a\" /* 1 */ : // 2\n 1, \"b\": 2}", "a", `{"b": 2}`},
		{"two on a line of many", "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", "b", "{\n  \"a\": 1,\n  \"c\": 3\n}"},
		{"first on a line of many", "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3\n}", "a", "{\n  \"b\": 2,\n  \"c\": 3\n}"},
		{"CRLF", "{\r\n  \"a\": 1, // a\r\n  \"b\": 2 // b\r\n}", "b", "{\r\n  \"a\": 1 // a\r\n}"},
		{"behind the bracket", "{ // all\n  \"a\": 1,\n  \"b\": 2\n}", "a", "{ // all\n  \"b\": 2\n}"},
		{"comma in front", "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}", "b", "{ \"a\": 1\n, \"c\": 3\n}"},
		{"line comment before the bracket", "[1, 2 // two\n]", "1", "[1\n]"},
		{"one empty line is enough", "{\n  \"a\": 1,\n\n  \"b\": 2,\n\n  \"c\": 3\n}", "b", "{\n  \"a\": 1,\n\n  \"c\": 3\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, string(assert.Value(Remove([]byte(c.have), split(c.path)...))(t)), c.want)
		})
	}
}

func TestRename(t *testing.T) {
	rename := func(data, key string, path ...string) string {
		got, err := Rename([]byte(data), key, path...)
		if err != nil {
			return err.Error()
		}
		return string(got)
	}
	for _, c := range []struct{ got, want string }{
		{rename(`{ /* x */ "a" : 1}`, "b", "a"), `{ /* x */ "b" : 1}`},
		{rename(`{"a": {"b": 1}}`, "\"\u202e", "a", "b"), `{"a": {"\"\u202e": 1}}`},
		{rename(`{"a": 1}`, "b", "c"), `{"a": 1}`},
		{rename(`{"a": 1}`, "b", "c", "d"), `{"a": 1}`},
		{rename(`{"a": 1}`, "a", "a"), `{"a": 1}`},
		{rename(`{"a": {"b": 1, "c": 2}}`, "c", "a", "b"), `a.c: is there already`},
		{rename(`{"a": 1}`, "b"), `the whole document has no key`},
		{rename(`{`, "b", "a"), `1:1: the object is not closed: add }`},
	} {
		assert.Equal(t, c.got, c.want)
	}
}

func TestEditErrors(t *testing.T) {
	set := func(data, value string, path ...string) error {
		_, err := Set([]byte(data), []byte(value), path...)
		return err
	}
	remove := func(data string, path ...string) error {
		_, err := Remove([]byte(data), path...)
		return err
	}
	deep := strings.Repeat("[", jsonc.MaxDepth)
	for _, c := range []struct {
		err  error
		want string
	}{
		{set(`{"a": "x"}`, `1`, "a", "b"), `a: is a string, which has no members`},
		{set(`{"a": [1]}`, `1`, "a", "1"), `a: is an array of 1 elements: write an index in it, or - for a new one`},
		{set(`[1]`, `1`, "01"), `is an array of 1 elements: write an index in it, or - for a new one`},
		{set(`[1]`, `1`, "-1"), `is an array of 1 elements: write an index in it, or - for a new one`},
		{set(`{}`, `{"a"}`, "b"), `b: the new value is not JSON: 1:5: a: expected ':' after the key, found '}'`},
		{set(`{"a": `+deep+strings.Repeat("]", jsonc.MaxDepth)+`}`, `1`), `1:134: `},
		{set(`[]`, deep+strings.Repeat("]", jsonc.MaxDepth), "-"), `the document would not be readable any more: `},
		{set(`{`, `1`), `1:1: the object is not closed: add }`},
		{remove(`{`, "a"), `1:1: the object is not closed: add }`},
		{remove(`{}`), `the whole document cannot be removed`},
		{remove(`[1]`, "x"), `is an array of 1 elements: write an index in it, or - for a new one`},
		{remove(`{"a": 1}`, "a", "b", "c"), `a: is a number, which has no members`},
	} {
		assert.Contains(t, fmt.Sprint(c.err), c.want)
		if !errors.As(c.err, new(*EditError)) {
			assert.As[*jsonc.SyntaxError](t, c.err)
		}
	}
}

// Work does not grow with the square of the size: the full number of members would take
// until the tests are broken off.
func TestEditLarge(t *testing.T) {
	members := assert.Cases(1_000, 50_000)
	keys := make([]string, members)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"key %d": 1`, i)
	}
	file := []byte("{" + strings.Join(keys, ",\n  // c\n ") + "}")
	slices.Reverse(keys)
	got := assert.Value(Set(file, []byte("{"+strings.Join(keys, ",")+"}")))(t)
	assert.Equal(t, len(got), len(file), "bytes, for the order of keys does not count")
	got = assert.Value(Set(file, []byte(`{"a": 1}`)))(t)
	assert.Equal(t, string(bytes.Join(bytes.Fields(got), nil)), `{"a":1}`)
	got = assert.Value(Set([]byte(`{"x": 1}`), file))(t)
	assert.Contains(t, string(got), fmt.Sprintf(`"key %d"`, members-1))
}

// TestRemoveWhatWasAdded: the comments of an object without members stay.
func TestRemoveWhatWasAdded(t *testing.T) {
	for _, text := range []string{
		"{\n  \"a\": { // the servers\n  }\n}\n",
		"{\n  \"a\": {\n    // the servers\n  }\n}\n",
		"{\r\n\t\"a\": {\r\n\t\t// the servers\r\n\t\t/* of all */\r\n\t},\r\n}\r\n",
		"{\n  \"a\": {}\n}\n",
	} {
		added := assert.Value(Set([]byte(text), []byte(`{"command": "x"}`), "a", "b"))(t)
		got, err := Remove(added, "a", "b")
		assert.OK(t, err)
		assert.Equal(t, string(got), text)
	}
}
