package browser

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpener(t *testing.T) {
	const page = "https://a.example/"
	for system, want := range map[string][]string{
		"linux":   {"xdg-open", page},
		"freebsd": {"xdg-open", page},
		"darwin":  {"open", page},
		"windows": {"rundll32", "url.dll,FileProtocolHandler", page},
	} {
		name, args := opener(system, page)
		assert.Equal(t, fmt.Sprintf("%q", append([]string{name}, args...)), fmt.Sprintf("%q", want), "%s", system)
	}
}
