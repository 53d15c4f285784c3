package redact_test

import (
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/redact"
)

func TestHidden(t *testing.T) {
	for _, c := range []struct {
		text, shown string
		want        []string
	}{
		{"--quiet", "--quiet", nil},
		{"", "", nil},
		{"s3cret-value", "****", []string{"s3cret-value", "s3cret-value"}},
		{"API_KEY=s3cret=", "API_KEY=****", []string{"API_KEY=s3cret=", "s3cret=", "s3cret"}},
		{"Authorization: Bearer s3cret", "Authorization: Bearer ****", []string{"Authorization: Bearer s3cret", "Bearer s3cret", "s3cret"}},
		{"pg://me:s3cret@host/db", "pg://****:****@host/db", []string{"pg://me:s3cret@host/db", "me", "s3cret"}},
		{`{"key":"s3cret"}`, `{"key":"****"}`, []string{`{"key":"s3cret"}`, "s3cret"}},
	} {
		if got := redact.Hidden(c.text, c.shown); !slices.Equal(got, c.want) {
			t.Errorf("Hidden(%q, %q) = %q, want %q", c.text, c.shown, got, c.want)
		}
	}
}
