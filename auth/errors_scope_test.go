package auth

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestScopeErrorIsShort: scopes that a server asks for make no long error, and none with
// what looks like a secret.
func TestScopeErrorIsShort(t *testing.T) {
	github := "ghp_" + strings.Repeat("a1", 18)
	scopes := []string{"read", github, strings.Repeat("x", 10_000), "\x1b[31m"}
	for i := range 10_000 {
		scopes = append(scopes, fmt.Sprint("scope", i))
	}
	got := (&ScopeError{Server: "docs", Scopes: scopes, Problem: "are too much"}).Error()
	assert.Equal(t, len(got) <= 1000, true, "got an")
	for _, part := range []string{github, "\x1b"} {
		assert.Lacks(t, got, part, "got the")
	}
	assert.Equal(t, (&ScopeError{"docs", []string{"read", "write"}, "no"}).Error(), `auth: server "docs": scopes ["read" "write"]: no`)
}
