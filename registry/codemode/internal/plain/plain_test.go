package plain

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTexts(t *testing.T) {
	assert.Equal(t, Text("a\nb\x1b[2J\u202e\u034f\u3164\u2800\ufe0fé"), "a\nb<U+001B>[2J<U+202E><U+034F><U+3164><U+2800><U+FE0F>é")
	assert.Equal(t, Quote("a\nb\u034f"), `"a\nb<U+034F>"`)
	for text, want := range map[string]string{"short": "short", "longer": "lo…", "ää": "ää", "äää": "ä…"} {
		assert.Equal(t, Cut(text, 5), want, "of %q", text)
	}
	assert.Equal(t, Cut("abcd", 2), "")
}

func TestNesting(t *testing.T) {
	for text, want := range map[string]int{`1`: 0, `[]`: 1, `{"a":[{}],"b":"[[[["}`: 3, `"\"[["`: 0, `[[],[]]`: 2} {
		assert.Equal(t, Nesting(text), want, "of %s", text)
	}
}
