package jsonscan

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMend(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"x\ud83d"}`:                 `{"a":"x\ufffd"}`,
		`"\uDE00\uD83D"`:                  `"\ufffd\ufffd"`,
		`"\ud83d\ud83d\ude00"`:            `"\ufffd\ud83d\ude00"`,
		`{"a\ud800":1}`:                   `{"a\ufffd":1}`,
		`"\\ud83d\ud83d\\ude00"`:          `"\\ud83d\ufffd\\ude00"`,
		`"\ud83d\ude0"`:                   `"\ufffd\ude0"`, // which Valid refuses still
		"\"Gr\xf6\xdfe, \xe2\x82, \x80\"": "\"Gr\uFFFDe, \uFFFD, \uFFFD\"",
		"\"\xed\xa0\xbd\"":                "\"\uFFFD\"", // half a pair, as bytes
		"\"\\\xff\"":                      "\"\\\uFFFD\"",
	} {
		got, ok := Mend([]byte(in))
		assert.Equal(t, string(got), want, "%q", in)
		assert.True(t, ok, "%q: mended", in)
	}
	for _, same := range []string{``, `\`, `"\ud83d\ude00"`, `"\u0041\n\\"`, `"é"`, `"\u"`, `"\ud83`} {
		got, ok := Mend([]byte(same))
		assert.Equal(t, string(got), same)
		assert.False(t, ok, "%q: mended", same)
	}
}

// What is mended is sound, unless more is wrong with it, and what is sound stays.
func FuzzMend(f *testing.F) {
	f.Add([]byte(`{"a":"\ud83d","b":["\ude00\ud83d"]}`))
	f.Add([]byte("{\"a\":\"\xff\",\"b\":\"\\\\ud83d\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		mended, ok := Mend(data)
		assert.Equal(t, ok, string(mended) != string(data), "%q: mended", data)
		assert.False(t, ok && Valid(data) == nil, "%q was sound", data)
		again, ok := Mend(mended)
		assert.False(t, ok, "%q is mended again: %q", mended, again)
		if json.Valid(data) {
			var syntax *SyntaxError
			if err := Valid(mended); errors.As(err, &syntax) {
				assert.True(t, syntax.Reason == TooDeep || syntax.Reason == DuplicateKey, "%q: %v", mended, err)
			}
		}
	})
}
