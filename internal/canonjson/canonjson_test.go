// Tests of append.go, number.go, text.go and indent.go.

package canonjson

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func canonical(t testing.TB, text string) string {
	t.Helper()
	out, err := Append(nil, []byte(text))
	assert.OK(t, err, "%.200q", text)
	return string(out)
}

// Each line is one value in several spellings; the first is the canonical one.
var spellings = [][]string{
	{`null`, ` null `}, {`true`}, {`false`},
	{`0`, `-0`, `0.0`, `0e9`, `-0.000e-99999999999999999999`},
	{`1`, `1.0`, `1e0`, `10e-1`, `0.1e1`, `1.000E+0`, `100000e-5`},
	{`-1.5`, `-15e-1`, `-0.15e1`},
	{`0.1`, `1e-1`, `0.10`},
	{`0.0000001`, `1e-7`, `0.00000010`},
	{`1e-8`, `0.00000001`, `10e-9`},
	{`123456789012345678901`, `1.23456789012345678901e20`},
	{`100000000000000000000`, `1e20`, `10e19`},
	{`1e21`, `1000000000000000000000`, `1.0e21`},
	{`1.5e22`, `15000000000000000000000`},
	{`1.2345678901234567890125e21`, `1234567890123456789012.5`},
	{`9007199254740992`}, {`9007199254740993`, `9007199254740993.0`},
	{`1e400`}, {`1e-400`},
	{`1e99999999999999999999`}, {`-10E+99999999999999999998`},
	{`1.5e1073741825`, `15e1073741824`, `1500e1073741822`},
	{`1.5e2147483648`, `15e2147483647`, `150e2147483646`, `0.15e2147483649`},
	{`"a"`, `"\u0061"`},
	{`"/"`, `"\/"`, `"\u002f"`, `"\u002F"`},
	{`"\""`, `"\u0022"`}, {`"\\"`, `"\u005c"`},
	{`"\n\t\r\b\f"`, `"\u000a\u0009\u000d\u0008\u000c"`},
	{`"\u0000\u001f"`, `"\u0000\u001F"`},
	{"\"\u007f\"", `"\u007f"`},
	{`"😀"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`},
	{`"\ud83d"`, `"\uD83D"`}, {`"\ude00\ud83d"`}, {"\"\ufffd\"", `"\ufffd"`},
	{`"\ud83dx"`}, {`"\ud83d\n"`, `"\ud83d\u000a"`}, {`"\ud83d😀"`, `"\ud83d\ud83d\ude00"`},
	{`[]`, ` [ ] `}, {`{}`, " {\n} "}, {`[[]]`}, {`[{}]`}, {`""`},
	{`{"a":1,"b":[2,{"c":null,"d":""}]}`, ` { "b" : [ 2.0 , {"d":"","c":null} ] , "\u0061" : 1e0 } `},
	{`{"":0,"B":4,"a":1,"a!":2,"aa":3}`, `{"aa":3,"a!":2,"a":1,"B":4,"":0}`},
	{`[1,2]`}, {`[2,1]`}, {`[1]`}, {`{"a":null}`}, {`{"a":{}}`}, {`{"a":[]}`}, {`{"a":false}`}, {`{"a":""}`}, {`{"a":0}`},
	{`"1"`}, {`"null"`},
}

func TestSpellings(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range spellings {
		for _, text := range row {
			assert.Equal(t, canonical(t, text), row[0], "%s became", text)
			assert.True(t, Same([]byte(text), []byte(row[0])) && !Same([]byte(text), []byte(`[7]`)), "%s is the same", text)
		}
		assert.False(t, seen[row[0]], "%s is twice in the table", row[0])
		seen[row[0]] = true
	}
}

// TestHashesStay holds the form for good: hashes of it are kept in files.
func TestHashesStay(t *testing.T) {
	var all strings.Builder
	for _, row := range spellings {
		fmt.Fprintln(&all, canonical(t, row[len(row)-1]))
	}
	data := assert.Value(os.ReadFile(filepath.Join("testdata", "tool.json")))(t)
	for _, c := range []struct{ text, want string }{
		{all.String(), "1eec6a83eac3c97506e178df10ff565dc6356387b8a146596de08993f62ae9e0"},
		{canonical(t, string(data)), "04217bb5fd894a11cde64d96495a6293bd816f7fba0052b7529e05e8ebc97153"},
	} {
		sum := sha256.Sum256([]byte(c.text))
		assert.Equal(t, hex.EncodeToString(sum[:]), c.want)
	}
}

func TestNotCanonical(t *testing.T) {
	assert.True(t, Same([]byte(`{`), []byte(`{`)) && !Same([]byte(`{`), []byte(`{ `)), "what is no JSON is the same")
	for _, text := range []string{``, `{`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `01`, `1.`, `"`, "\"\xff\"", "\"\n\"", `[1]]`,
		strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
		out, err := Append([]byte("before"), []byte(text))
		assert.Fails(t, err, "%.20q", text)
		assert.Equal(t, string(out), "before", "%.20q", text)
	}
}

func TestAppendString(t *testing.T) {
	for text, want := range map[string]string{
		"": `""`, "a\"\\\n\x00": `"a\"\\\n\u0000"`, "ä😀\ufffd": "\"ä😀\ufffd\"", "\xff\x80": `"\udcff\udc80"`,
		"a\xed\xa0\x80": `"a\udced\udca0\udc80"`,
	} {
		got := string(AppendString(nil, text))
		assert.Equal(t, got, want, "%q", text)
		assert.Equal(t, canonical(t, got), got, "%q", text)
	}
}

func TestAppendIndented(t *testing.T) {
	wide := strings.Repeat("w", 104) // with 16 bytes around it, it is as wide as a line may be
	value := canonical(t, `{"b":[1,[],{"x":"]}\\\"["},{"wide":"`+wide+`wwwww"},{"wide":"`+wide+`wwwwww"}],"a":"read\u202eme\u200b \ud83d\ude00 \u00e4\u3164\udb40\udc41","c":{"d":"\u200b"}}`)
	want := `{
  	"a": "read\u202eme\u200b 😀 ä\u3164\udb40\udc41",
  	"b": [
  		1,
  		[],
  		{"x":"]}\\\"["},
  		{"wide":"` + wide + `wwwww"},
  		{
  			"wide": "` + wide + `wwwwww"
  		}
  	],
  	"c": {"d":"\u200b"}
  }`
	got := string(AppendIndented(nil, []byte(value), "  "))
	assert.Equal(t, got, want, "got")
	assert.Equal(t, canonical(t, got), value, "came back as")
}

// A number of a million digits costs no more than its length.
func TestLongNumbers(t *testing.T) {
	nines := strings.Repeat("9", 1<<20)
	assert.True(t, canonical(t, "10e"+nines) == "10e"+nines, "an exponent that is too large stays")
	assert.Equal(t, len(canonical(t, nines+".5")), 1<<20+len(".5e1048575")-1+1)
}

func FuzzAppend(f *testing.F) {
	for _, row := range spellings {
		for _, text := range row {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := Append(nil, []byte(text))
		if err != nil {
			return
		}
		twice, err := Append(nil, once)
		assert.OK(t, err)
		assert.Equal(t, string(twice), string(once), "the form of the form")
		back, err := Append(nil, AppendIndented(nil, once, "\t"))
		assert.OK(t, err)
		assert.Equal(t, string(back), string(once), "indented and back")
		if huge.MatchString(text) {
			return // too large for the other side
		}
		assert.True(t, same(t, []byte(text), once), "%q means the same as %q", once, text)
	})
}

var huge = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{3}`)

// same compares by encoding/json, numbers by their exact value.
func same(t *testing.T, a, b []byte) bool {
	decode := func(data []byte) any {
		var v any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		assert.OK(t, d.Decode(&v), "%q", data)
		return exact(v)
	}
	return fmt.Sprintf("%#v", decode(a)) == fmt.Sprintf("%#v", decode(b))
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return r.RatString()
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = exact(v[key])
		}
	}
	return v
}
