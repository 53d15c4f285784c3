package plain_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\x1b[2J":            "a b<U+001B>[2J",
		"\xff\ufffd":             "<FF>\ufffd",
		strings.Repeat("ä", 500): strings.Repeat("ä", 500),
		strings.Repeat("ä", 501): strings.Repeat("ä", 500) + "... (1 more characters)",
	} {
		assert.Equal(t, plain.Line(text), want, "%q became", text)
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "lo…"}, {"ääää", 7, "ää…"}, {"ääää", 6, "ä…"}, {"abcd", 3, "…"},
		{"abcd", 2, ""}, {"\x80\x80\x80\x80\x80", 4, "…"},
	} {
		assert.Equal(t, plain.Cut(test.text, test.most), test.want, "of %q in %d bytes", test.text, test.most)
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\x1b":               `"a\nb\x1b"`,
		"a\u034fb":               `"a<U+034F>b"`,
		`say "no"`:               `"say \"no\""`,
		strings.Repeat("a", 201): `"` + strings.Repeat("a", 197) + `…"`,
	} {
		assert.Equal(t, plain.Quote(text), want, "of %q", text)
	}
}
