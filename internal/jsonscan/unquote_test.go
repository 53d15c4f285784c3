package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// FuzzString: a string has the content that encoding/json finds in it.
func FuzzString(f *testing.F) {
	for _, s := range []string{
		`""`, `"plain"`, `"\"\\\/\b\f\n\r\t"`, `"a\nb\u0041c"`, `"\u00e9\u20AC\uFFFF"`, `"\ud83d\ude00"`, `"x\ud83d"`,
		`"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\n"`, `"\u0000"`, `"\\u0041"`, `"é\\"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want string
		if Valid(data) != nil || json.Unmarshal(data, &want) != nil || data[0] != '"' || data[len(data)-1] != '"' {
			return
		}
		got, _ := String(data)
		assert.Equal(t, got, want, "%s", data)
	})
}

// What is special in a string is found wherever it stands.
func TestLongString(t *testing.T) {
	for _, special := range []string{
		`"`, `\n`, `\"`, `\\`, `\\\"`, `\\"`, `\x`, `\`, `\u0041`, `\u004`, `\ud83d\ude00`, "\n", "\x1f", "#", "]", `\n#`, `\\]`, " ", "\x7f", "é", "\xff",
	} {
		for size := range 200 {
			text := strings.Repeat(`\n67890abcdefghijklmnopqrs`, 8)[:26*(size/26)] + strings.Repeat("x", size%26)
			quoted := []byte(`"` + text + special + text + `"`)
			var want string
			err := json.Unmarshal(quoted, &want)
			valid := err == nil && utf8.Valid(quoted)
			assert.Equal(t, Valid(quoted) == nil, valid, "%q behind %d bytes: got valid", special, size)
			if !valid {
				continue
			}
			got, _ := String(quoted)
			assert.Equal(t, got, want, "%q behind %d bytes", special, size)
			walk := Walk(quoted)
			assert.Equal(t, len(walk.Value()), len(quoted), "%q %d", special, size)
		}
	}
}

func BenchmarkString(b *testing.B) {
	text := make([]byte, 0, 100<<10)
	for len(text) < cap(text)-64 {
		text = append(text, `\tif err != nil {\n\t\treturn fmt.Errorf(\"reading: %w\", err)\n`...)
	}
	quoted := append(append([]byte{'"'}, text...), '"')
	b.SetBytes(int64(len(quoted)))
	b.ReportAllocs()
	for b.Loop() {
		String(quoted)
	}
}
