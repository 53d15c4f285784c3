package textguard

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestStrip(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\r\n": "plain\ttext\r\n", "ze\u200bro\u2060 width": "zero width",
		"soft\u00adhyphen": "softhyphen", "private\ue000 use\U000f0000": "private use",
		"fill\u3164er\u115f\uffa0\u2800s": "fillers", "\ufeffbom": "bom", "tags\U000e0068\U000e0069": "tags",
		"left\u200emark": "leftmark", "line\u2028end\u2029": "line\u2028end\u2029",
		"bytes \xff\u200b": "bytes \xff", "\x1b[31mred\x1b[0m": "\x1b[31mred\x1b[0m",
		"\U0001f468\u200d\U0001f4bb \u2764\ufe0f": "\U0001f468\u200d\U0001f4bb \u2764\ufe0f",
		"\u05e9\u200f\u05dc":                      "\u05e9\u200f\u05dc",
		"\u0645\u06cc\u200c\u062e":                "\u0645\u06cc\u200c\u062e",
	} {
		assert.Equal(t, Strip(text), want, "%q", text)
	}
}

func FuzzStrip(f *testing.F) {
	f.Add("a\u200b\u200d\U0001f468\u200d\u200b\U0001f4bb\u2028\xff\u05e9\u200f")
	f.Fuzz(func(t *testing.T, text string) {
		got := Strip(text)
		assert.False(t, utf8.ValidString(text) && !utf8.ValidString(got), "%q: %q is not UTF-8", text, got)
		assert.False(t, utf8.ValidString(got) && hides(got), "%q: %q hides something", text, got)
	})
}

// A byte that is not ASCII is found wherever it is.
func TestIsASCII(t *testing.T) {
	for size := range 80 {
		text := []byte(strings.Repeat("\x7f", size))
		assert.True(t, IsASCII(text), "IsASCII(text)")
		for i := range text {
			text[i] = 0x80
			assert.False(t, IsASCII(text), "IsASCII(text)")
			assert.False(t, IsASCII(string(text)), "%q is ASCII", text)
			text[i] = 0x7f
		}
	}
}
