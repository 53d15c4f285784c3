package transport_test

import (
	"testing"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/transport"
)

// What a server writes is made visible in the texts of errors.
func TestErrorTextsShowWhatIsHidden(t *testing.T) {
	const spell = "no\x1b[2J safe\revil \u202egnp.exe ze\u200bro \u3164fill"
	for what, err := range map[string]error{
		"stderr":   &transport.ExitError{Path: "x", Code: 1, Stderr: spell + "\n\tat main\n"},
		"redirect": &transport.RedirectError{Code: 302, To: "https://" + spell},
	} {
		text := err.Error()
		assert.Contains(t, text, "evil", "%s", what)
		for _, r := range text {
			if r != '\n' && (!unicode.IsPrint(r) || r == 0x3164) {
				t.Errorf("%s: got %q with %U in it, want visible characters", what, text, r)
				break
			}
		}
	}
}
