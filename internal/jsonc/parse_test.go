package jsonc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseErrors(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, test := range []struct{ in, want string }{
		{"", "1:1: the file is empty"},
		{" \n ", "2:2: the file is empty"},
		{"// only a comment", "1:18: the file is empty"},
		{"{", "1:1: the object is not closed: add }"},
		{`{"a":1`, "1:1: the object is not closed: add }"},
		{`[`, "1:1: the array is not closed: add ]"},
		{"[1,\n 2", "1:1: the array is not closed: add ]"},
		{"{'a': 1}", `1:2: expected a key in double quotes, found '\''`},
		{"{,}", `1:2: expected a key in double quotes, found ','`},
		{`{"a":1,,}`, `1:8: expected a key in double quotes, found ','`},
		{"[,]", "1:2: [0]: expected a value, found ',': strings need double quotes"},
		{`{"a" 1}`, `1:6: a: expected ':' after the key, found '1'`},
		{`{"a"`, `1:5: a: expected ':' after the key, found the end of the file`},
		{`{"a":`, `1:6: a: expected a value, found the end of the file`},
		{`{"a":}`, `1:6: a: expected a value, found '}': strings need double quotes`},
		{`{"a":1 "b":2}`, `1:8: expected ',' or '}', found '"'`},
		{`[1 2]`, `1:4: expected ',' or ']', found '2'`},
		{"{\"a\":1,\n \"b\":2,\n \"\\u0061\":3}", "3:2: a: duplicate key, first on line 1: remove one"},
		{`{"x y":{"a":1,"a":1}}`, `1:15: "x y".a: duplicate key, first on line 1: remove one`},
		{`[1] x`, `1:5: unexpected 'x' after the end of the document: remove it`},
		{`{} {}`, `1:4: unexpected '{' after the end of the document: remove it`},
		{`nulll`, `1:1: expected a value, found 'n': strings need double quotes`},
		{`truefalse`, `1:1: expected a value, found 't': strings need double quotes`},
		{`NaN`, `1:1: expected a value, found 'N': strings need double quotes`},
		{`01`, "1:1: malformed number"},
		{`-`, "1:1: malformed number"},
		{`1.`, "1:1: malformed number"},
		{`1e+`, "1:1: malformed number"},
		{`0x10`, "1:1: malformed number"},
		{`"abc`, `1:1: the string is not closed: add "`},
		{`"abc\`, `1:1: the string is not closed: add "`},
		{"[\"abc\ndef\"]", `1:2: [0]: the string is not closed on its line: add " or write a line break as \n`},
		{"\"a\tb\"", `1:3: control character 0x09 in a string: write it as \u0009`},
		{`"\x41"`, `1:2: unknown escape in the string: write a backslash as \\, and \u with four hexadecimal digits`},
		{`"\u12G4"`, `1:2: unknown escape in the string: write a backslash as \\, and \u with four hexadecimal digits`},
		{`"\u12"`, `1:2: unknown escape in the string: write a backslash as \\, and \u with four hexadecimal digits`},
		{"{\n  /* never closed }", "2:3: the comment is not closed: add */"},
		{"/ {}", "1:1: unexpected '/': a comment is // or /* */"},
		{"{} / x", "1:4: unexpected '/': a comment is // or /* */"},
		{"[1 / x", "1:4: unexpected '/': a comment is // or /* */"},
		{`{"\q":1}`, `1:3: unknown escape in the string: write a backslash as \\, and \u with four hexadecimal digits`},
		{`{"a" / x`, "1:6: a: unexpected '/': a comment is // or /* */"},
		{"// \x01\n{}", "1:4: control character 0x01 in a comment: remove it"},
		{"/* \x7f */ {}", "1:4: control character 0x7f in a comment: remove it"},
		{"\x00{}", `1:1: expected a value, found '\x00': strings need double quotes`},
		{"{\"a\": \"\xff\"}", "1:8: invalid UTF-8: save the file as UTF-8"},
		{"\xff\xfe{\x00", "1:1: the file is UTF-16: save it as UTF-8"},
		{"\ufeff\ufeff{}", `1:1: expected a value, found '\ufeff': strings need double quotes`},
		{"\ufeff{x}", `1:2: expected a key in double quotes, found 'x'`},
		{deep(129), "1:129: " + strings.Repeat("[0]", 128) + ": nested deeper than 128 levels"},
	} {
		assert.Equal(t, assert.As[*SyntaxError](t, assert.Err(Parse([]byte(test.in))), "%.40q", test.in).Error(), test.want, "%.40q", test.in)
	}
	assert.Value(Parse([]byte(deep(MaxDepth))))(t)
}

func TestParseLimits(t *testing.T) {
	big := bytes.Repeat([]byte{' '}, MaxSize-1)
	assert.Value(Parse(append(big, '1')))(t)
	_, err := Parse(append(big, ' ', '1'))
	assert.Fails(t, err)
	assert.Equal(t, err.Error(), "1:1: the file has 16777217 bytes, more than the limit of 16777216")

	// The array and its elements are counted on from a nearly full parser.
	for in, ok := range map[string]bool{"[1,2]": true, "[1,[2]]": false, "[1,2,3]": false} {
		p := &parser{data: []byte(in), nodes: MaxNodes - 3}
		err := p.document(&Node{})
		assert.Equal(t, err == nil, ok, "%s is within MaxNodes", in)
		if !ok {
			assert.Contains(t, fmt.Sprint(err), "the file has more than 1048576 values")
		}
	}
}

// TestParseManyKeys crosses the border where duplicates are looked up in a map.
func TestParseManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "\"k%d\":%d,\n", i, i)
	}
	doc := assert.Value(Parse([]byte("{" + b.String() + "}")))(t)
	assert.Equal(t, doc.Root.Member("k99").Value.Text, "99")
	assert.Equal(t, doc.Root.Member("k100"), nil)
	for _, key := range []string{"k3", "k15", "k16", "k99"} {
		_, err := Parse([]byte("{" + b.String() + strconv.Quote(key) + ":1}"))
		n, _ := strconv.Atoi(key[1:])
		want := fmt.Sprintf("101:1: %s: duplicate key, first on line %d: remove one", key, n+1)
		assert.Fails(t, err, "%s", key)
		assert.Equal(t, err.Error(), want, "%s", key)
	}
}

func TestPositions(t *testing.T) {
	const in = "\ufeff// é\r\n{\r\n\t\"é\": [1,\n  { \"x\": /* c\n */ null, },\n ],\n}\n"
	doc := assert.Value(Parse([]byte(in)))(t)
	member := doc.Root.Member("é")
	object := &member.Value.Elems[1]
	x := object.Member("x")
	for _, test := range []struct {
		what   string
		offset int
		want   Position
	}{
		{"start", 0, Position{1, 1}}, {"after the mark", 3, Position{1, 1}}, {"comment text", 6, Position{1, 4}},
		{"root", doc.Root.Offset, Position{2, 1}}, {"é", member.Offset, Position{3, 2}},
		{"array", member.Value.Offset, Position{3, 8}},
		{"object", object.Offset, Position{4, 3}}, {"x", x.Offset, Position{4, 5}},
		{"null", x.Value.Offset, Position{5, 5}}, {"end", len(in), Position{8, 1}},
		{"beyond", len(in) + 100, Position{8, 1}}, {"before", -1, Position{1, 1}},
	} {
		assert.Equal(t, doc.Position(test.offset), test.want, "%s: Position(%d) =", test.what, test.offset)
	}
	assert.Equal(t, string(doc.Data[object.Offset:object.End]), "{ \"x\": /* c\n */ null, }", "Source =")
	assert.Equal(t, string(doc.Root.JSON()), `{"é":[1,{"x":null}]}`, "JSON =")
}

func TestExactNumbersAndStrings(t *testing.T) {
	const in = `{"n":[1.50,-0,12345678901234567890,1E400],"s":"\u00e9\ud83d\ude00\/"}`
	doc := assert.Value(Parse([]byte(in)))(t)
	want := `{"n":[1.50,-0,12345678901234567890,1E400],"s":"é😀/"}`
	assert.Equal(t, string(doc.Root.JSON()), want, "JSON =")
	assert.Equal(t, doc.Root.Member("s").Value.Text, "é😀/", "Text =")
}

func TestErrorsKeepValuesSecret(t *testing.T) {
	for _, in := range []string{
		`{"token": "hunter2`, `{"token": "hunter2\q"}`, `{"token": "hunter2" x}`,
		"{\"token\": \"hunter2\n\"}", `{"token": hunter2}`, `{"token": 'hunter2'}`,
	} {
		assert.Lacks(t, assert.As[*SyntaxError](t, assert.Err(Parse([]byte(in))), in).Error(), "unter2", in)
	}
}

// strictJSON reports whether in is plain JSON that this package must accept,
// by encoding/json's judgement plus the documented extra rules.
func strictJSON(in []byte) bool {
	if !json.Valid(in) || !utf8.Valid(in) {
		return false
	}
	type level struct {
		object bool
		key    bool // the next token is a key
		seen   map[string]bool
	}
	var stack []level
	dec := json.NewDecoder(bytes.NewReader(in))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
		top := len(stack) - 1
		if key, ok := token.(string); ok && top >= 0 && stack[top].object && stack[top].key {
			if stack[top].seen[key] {
				return false
			}
			stack[top].seen[key] = true
			stack[top].key = false
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			stack = append(stack, level{token == json.Delim('{'), true, map[string]bool{}})
			if len(stack) > MaxDepth {
				return false
			}
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			top--
		}
		if top >= 0 {
			stack[top].key = true
		}
	}
}

// decoded builds from n what encoding/json would with UseNumber.
func decoded(n *Node) any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case String:
		return n.Text
	case Array:
		list := make([]any, 0, len(n.Elems))
		for i := range n.Elems {
			list = append(list, decoded(&n.Elems[i]))
		}
		return list
	case Object:
		object := make(map[string]any, len(n.Members))
		for i := range n.Members {
			object[n.Members[i].Key] = decoded(&n.Members[i].Value)
		}
		return object
	default:
		return nil
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"a":[1,2.5e-3,"\u00e9\ud83d\ude00\ud800\u0041",true,false,null]}`,
		"\ufeff{ // c\n \"a\": 1, /* d */ }", `{"a":1,"a":2}`, `{"a":{"b":{"c":[[[]]]}}}`,
		`"\ud800"`, `"\ud800\ud800"`, `-0.0E+9`, "[1,]", "{\"\":\"\\\"\"}", "\"\x7f\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		doc, err := Parse(in)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Column < 1 || syntax.Message == "" {
				t.Fatalf("error without a place: %#v", err)
			}
			if strictJSON(in) && len(in) <= MaxSize {
				t.Fatalf("plain JSON was refused: %v", err)
			}
			return
		}
		plain := doc.Root.JSON()
		var want any
		source := plain // of a document with comments only the plain form can be compared
		if json.Valid(in) {
			source = in
		}
		dec := json.NewDecoder(bytes.NewReader(source))
		dec.UseNumber()
		assert.OK(t, dec.Decode(&want), "%q", source)
		if got := decoded(&doc.Root); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %#v, encoding/json says %#v", got, want)
		}
		again, err := Parse(plain)
		assert.OK(t, err, "%q", plain)
		assert.Equal(t, string(again.Root.JSON()), string(plain), "the JSON of JSON")
	})
}
