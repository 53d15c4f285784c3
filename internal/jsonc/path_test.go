package jsonc

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestPathOf(t *testing.T) {
	long := strings.Repeat("a", 79)
	assert.Equal(t, string(PathOf([]string{"a-1", "", "b c", long + "ä"}).Index(2)), `a-1.""."b c"."`+long+`…"[2]`)
}
