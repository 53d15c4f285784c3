package redact_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
		assert.Equal(t, fmt.Sprintf("%q", redact.Hidden(c.text, c.shown)), fmt.Sprintf("%q", c.want), "%q %q", c.text, c.shown)
	}
}
