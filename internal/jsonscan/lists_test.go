package jsonscan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestScanLists(t *testing.T) {
	deep := strings.Repeat(`[{"a":`, 100_000) + `0` + strings.Repeat(`}]`, 100_000)
	for name, element := range map[string]string{
		"deep": deep, "duplicate": `{"a":1,"a":2}`, "bad UTF-8": "\"\xff\"", "control": "{\"a\":\"\t\n\x00\"}",
		"unknown escape": `{"a":"C:\Users\x"}`, "short escape": `{"a":"\u12"}`,
		"half a character": `{"a":"\ud83d"}`, "sound": `{"a":[1,{}]}`, "empty containers": `[ { } , [ ] ]`,
	} {
		result := `{"tools":[ ` + element + ` , {"name":"b"}],"next":"ü"}`
		m, ok := ScanLists([]byte(`{"jsonrpc":"2.0","id":7,"result": ` + result + ` }`))
		assert.True(t, ok, "%s: it is accepted", name)
		assert.Equal(t, string(m.Result), result, "%s", name)
		assert.Equal(t, string(m.ID), "7", "%s", name)
		assert.True(t, ValidLists([]byte(result)), "%s: ValidLists takes it", name)
	}
}

func TestScanListsRefuses(t *testing.T) {
	deep := strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200)
	for name, in := range map[string]string{
		"a deep member":            `{"id":1,"result":{"a":{"b":` + deep + `}}}`,
		"two lists of one name":    `{"id":1,"result":{"a":[],"a":[]}}`,
		"an escaped second name":   `{"id":1,"result":{"a":[],"\u0061":[]}}`,
		"two results":              `{"id":1,"result":{"a":[]},"result":{}}`,
		"bad UTF-8 beside":         "{\"id\":1,\"result\":{\"a\":[" + deep + "],\"b\":\"\xff\"}}",
		"a deep result":            `{"id":1,"result":` + deep + `}`,
		"a deep request":           `{"id":1,"method":"m","params":{"a":[` + deep + `]}}`,
		"mixed brackets":           `{"id":1,"result":{"a":[[}]]}}`,
		"a comma too many":         `{"id":1,"result":{"a":[{"b":1,}]}}`,
		"a comma too many in list": `{"id":1,"result":{"a":[[1,]]}}`,
		"no colon":                 `{"id":1,"result":{"a":[{"b" 1}]}}`,
		"an open element":          `{"id":1,"result":{"a":[{"b":1]}}`,
		"a word":                   `{"id":1,"result":{"a":[nul]}}`,
		"a control character":      "{\"id\":1,\"result\":{\"a\":[],\"b\":\"\n\"}}",
		"a control in a key":       "{\"id\":1,\"result\":{\"a\":[{\"\n\":1}]}}",
		"a wrong escape beside":    `{"id":1,"result":{"a":[],"b":"\x"}}`,
		"an open string":           `{"id":1,"result":{"a":["\"]}}`,
		"a quote in a string":      `{"id":1,"result":{"a":["a"b"]}}`,
		"half a key beside":        `{"id":1,"result":{"a":[` + deep + `],"\ud83d":0}}`,
		"trailing bytes":           `{"id":1,"result":{"a":[]}} {}`,
		"nothing":                  ``,
		"no object":                `[` + deep + `]`,
	} {
		_, ok := ScanLists([]byte(in))
		assert.False(t, ok, "%s: it is accepted", name)
	}
}

// FuzzScanLists holds the forgiving scan against the strict one, and against
// encoding/json.
func FuzzScanLists(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"result":{"tools":[{"a":1,"a":2},7],"x":[]}}`, `{"result":[[]],"error":null}`, `[[{}]]`,
		`{"result":{"a":[ [ ] , { } ]},"b":[{"c":1,"c":1}]}`, "{\"result\":{\"a\":[\"\xff\"]}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !wellFormed(data) && json.Valid(data) {
			t.Fatalf("got a refusal of %q, want it well-formed", data)
		}
		strict, err := Scan(data)
		m, ok := ScanLists(data)
		if err == nil && (!ok || string(m.Result) != string(strict.Result) || string(m.ID) != string(strict.ID)) {
			t.Fatalf("got %+v, %v of %q, want %+v", m, ok, data, strict)
		}
		if !ok {
			return
		}
		sound := true
		for _, list := range Fields(m.Result) {
			for element := range Elements(list) {
				sound = sound && Valid(element) == nil
			}
		}
		if sound && err != nil && Nesting(data) < MaxDepth {
			t.Fatalf("got no flaw in an element of %q, want one, for Scan says %v", data, err)
		}
	})
}

// A list's elements are checked as they would be one by one.
func TestChecked(t *testing.T) {
	elements := []string{`1`, `"a"`, `{"a":1}`, `{"a":1,"a":2}`, "\"\xff\"", `"é"`, `"\ud83d"`, "\"\n\"", `"\x"`, strings.Repeat("[", 200) + strings.Repeat("]", 200), `null`}
	walk := Walk([]byte("[ " + strings.Join(elements, " , ") + " ]"))
	got := 0
	for i := range walk.Elements() {
		value, err := walk.Checked()
		assert.Equal(t, string(value), elements[i])
		assert.Equal(t, fmt.Sprint(err), fmt.Sprint(Valid([]byte(elements[i]))), "%q", value)
		got++
	}
	assert.Equal(t, got, len(elements), "elements")
}
