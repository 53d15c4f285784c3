package plain_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\x1b[2J":            "a b<U+001B>[2J",
		strings.Repeat("ä", 500): strings.Repeat("ä", 500),
		strings.Repeat("ä", 501): strings.Repeat("ä", 500) + "... (1 more characters)",
	} {
		if got := plain.Line(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
