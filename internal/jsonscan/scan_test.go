package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScanFindsParts(t *testing.T) {
	m, err := Scan([]byte(` {"jsonrpc":"2.0", "id" : 7, "result": {"a":[1,{"b":2}]}, "x":null} `))
	assert.OK(t, err)
	assert.Equal(t, fmt.Sprintf("%s %s %s %q %t", m.Version, m.ID, m.Result, m.Method, m.IsResponse()), `2.0 7 {"a":[1,{"b":2}]} "" true`)
	m = assert.Value(Scan([]byte(`{"method":"tools\/list","params":{},"error":null}`)))(t)
	assert.Equal(t, fmt.Sprintf("%s %s %q %t", m.Method, m.Params, m.ID, m.IsResponse()), `tools/list {} "" false`)
}

func TestScanRefuses(t *testing.T) {
	many := make([]string, 0, 40)
	for i := range 40 {
		many = append(many, fmt.Sprintf(`"k%d":1`, i))
	}
	for name, in := range map[string]string{
		"empty": ``, "duplicate": `{"id":1,"id":2}`, "escaped duplicate": `{"id":1,"\u0069d":2}`,
		"nested duplicate": `{"result":{"a":{"x":1,"x":1}}}`,
		"large duplicate":  `{` + strings.Join(many, ",") + `,"k3":0}`, "trailing": `{"id":1} {}`,
		"bad UTF-8": "{\"id\":\"\xff\"}",
		"deep":      strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		"no digits": `{"id":-}`, "no fraction": `{"id":1.}`, "no exponent": `{"id":1E+}`, "no colon": `{"id" 1}`, "no comma": `[1 2]`,
		"open": `{"id":"`, "deep objects": strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1),
		"array": `[]`, "leading zero": `{"id":01}`, "method number": `{"method":5}`,
		"control character": "{\"id\":\"\n\"}", "cut": `{"id":1,"result":{"a":`, "comment": `{"id":1 /* */}`,
		"first half": `{"a":"\ud83d"}`, "first half, text": `{"a":"x\uD83Dx"}`,
		"first half, other": `{"a":"\ud83d\u0041"}`, "first half, line": `{"a":"\ud83d\n"}`,
		"first half, twice": `{"a":"\ud83d\ud83d\ude00"}`, "first half, cut": `{"a":"\ud83d\ude0"}`,
		"second half": `{"a":"\ude00"}`, "halves swapped": `{"a":"\uDE00\uD83D"}`, "half in a key": `{"a\ud800":1}`,
	} {
		assert.Fails(t, assert.Err(Scan([]byte(in))), "%s %q", name, in)
	}
	assert.Is(t, assert.Err(Scan([]byte(`[]`))), ErrNotObject)
	assert.Equal(t, assert.As[*SyntaxError](t, assert.Err(Scan([]byte(`{"a":1,}`)))).Offset, 7)
}

// A character of two halves is one, and so are those next to the halves.
func TestScanTakesPairs(t *testing.T) {
	for _, text := range []string{`\ud83d\ude00`, `\uD800\uDC00`, `\udbff\udfff`, `x\ud83d\ude00\ud83d\ude00y`, `\ud7ff`, `\ue000`, `\uFFFD`, `\\ud83d`} {
		assert.OK(t, Valid([]byte(`{"`+text+`":"`+text+`"}`)), "%s", text)
	}
}

func TestValidHalves(t *testing.T) {
	for in, ok := range map[string]bool{`["\ud83d",-1.5e+3,true,false]`: true, `"\udc00x"`: true, "\"\xff\"": false, `[`: false} {
		assert.Equal(t, ValidHalves([]byte(in)) == nil, ok, "%s", in)
	}
}

func TestOneLine(t *testing.T) {
	text := []byte("{\"a\":\r\n[1,\n\n2]}")
	OneLine(text)
	assert.Equal(t, string(text), `{"a":  [1,  2]}`)
}

// Texts are looked at eight bytes at a time: what is forbidden must be found
// at every place.
func TestStringsAtEveryPlace(t *testing.T) {
	for length := range 40 {
		for at := range length {
			for _, c := range []byte{0, '\n', 0x1f, '"', '\\', 0x80, 0xff} {
				text := bytes.Repeat([]byte{0x7f}, length)
				text[at] = c
				in := slices.Concat([]byte(`{"a":"`), text, []byte(`"}`))
				assert.Fails(t, assert.Err(Scan(in)), "%q", in)
			}
		}
		plain := strings.Repeat("~ !", length)
		escaped := strings.Repeat(`\\\"`, length)
		in := fmt.Sprintf(`{"a":%q,"b":"%s","c":[{"d":"%s"}],"e":0}`, plain, escaped, escaped)
		assert.Value(Scan([]byte(in)))(t)
		var got []string
		for k, v := range Fields([]byte(in)) {
			got = append(got, string(k)+string(v))
		}
		want := []string{fmt.Sprintf("a%q", plain), `b"` + escaped + `"`, `c[{"d":"` + escaped + `"}]`, "e0"}
		assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	}
}

// Hidden characters are found at every place.
func TestIsPlain(t *testing.T) {
	for length := range 40 {
		plain := []byte(strings.Repeat(`\nu~`, 10)[:length])
		assert.True(t, IsPlain(plain), "%s", plain)
		for at := range length {
			for _, hidden := range []string{"\x80", `\u`} {
				in := slices.Concat(plain[:at], []byte(hidden), plain[at:])
				assert.False(t, IsPlain(in), "%q", in)
			}
		}
	}
}

// Keys are compared with those of their own object, however many are open.
func TestDuplicatesAmongManyOpenKeys(t *testing.T) {
	for depth := range 2 * keyRoom {
		open := strings.Repeat(`{"a":1,"b":`, depth)
		shut := strings.Repeat(`}`, depth)
		assert.OK(t, Valid([]byte(open+`{"a":0,"b":0}`+shut)), "%d", depth)
		for _, dup := range []string{`{"a":0,"b":0,"a":0}`, `{"b":0,"b":0}`, `{"c":{"a":0},"c":0}`} {
			assert.Fails(t, Valid([]byte(open+dup+shut)), "%d", depth)
		}
	}
}

func TestSameKeyInSiblingsIsNoDuplicate(t *testing.T) {
	assert.OK(t, Valid([]byte(`[{"a":1},{"a":{"a":2}}]`)))
}

func TestWalk(t *testing.T) {
	var got []string
	for k, v := range Fields([]byte(` { "a" : [1, "]"] , "b\n":{"c":"}"}, "d":-1.5e3 } `)) {
		got = append(got, string(k)+"="+string(v))
	}
	assert.Equal(t, strings.Join(got, "|"), "a=[1, \"]\"]|b\n={\"c\":\"}\"}|d=-1.5e3")
	got = nil
	for v := range Elements([]byte(`[ {"a":[]} ,2, "x" ]`)) {
		got = append(got, string(v))
	}
	assert.Equal(t, strings.Join(got, "|"), `{"a":[]}|2|"x"`)
	for range Elements([]byte(`[]`)) {
		t.Error("element of an empty array")
	}
	for range Fields([]byte(`5`)) {
		t.Error("field of a number")
	}
}

// FuzzScan holds the scanner against encoding/json: whatever it accepts is
// valid there, and the parts it finds are the ones that decoding finds.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"id":1,"result":{}}`, `{"id":"x","error":{"code":1}}`, `[1,2]`, `{"a":{"b":[{}]},"method":"m"}`, `"\ud800"`, `{"\u0061":1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		assert.Equal(t, Valid(data) == nil, (json.Valid(data) && Valid(data) == nil))
		m, err := Scan(data)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		assert.OK(t, json.Unmarshal(data, &want))
		assert.Equal(t, string(m.Result), string(want["result"]))
		assert.Equal(t, string(m.Params), string(want["params"]))
		n := 0
		for k, v := range Fields(data) {
			n++
			assert.Equal(t, string(v), string(want[string(k)]), "%s", k)
		}
		assert.Equal(t, n, len(want))
	})
}

func BenchmarkScan(b *testing.B) {
	data := []byte(`{"jsonrpc":"2.0","id":1000000001,"result":{"content":[{"type":"text","text":"` + strings.Repeat("hello ", 40) + `"}],"isError":false}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(Scan(data))(b)
	}
}
