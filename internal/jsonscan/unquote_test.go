package jsonscan

import (
	"encoding/json"
	"testing"
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
		if got, ok := String(data); !ok || got != want {
			t.Errorf("%s is %q, want %q", data, got, want)
		}
	})
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
