package browser

import (
	"slices"
	"testing"

	"go.uber.org/goleak"
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
		if got := append([]string{name}, args...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
}
