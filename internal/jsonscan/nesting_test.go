package jsonscan_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

func TestNesting(t *testing.T) {
	for raw, want := range map[string]int{
		"": 0, "1": 0, `"[["`: 0, `"\"[["`: 0, `{}`: 1, `[[],{"a":[1]}]`: 3, `{"[":"]","\\":[{}]}`: 3, `]]][`: 0,
		strings.Repeat("[", 1e6): 1e6,
	} {
		assert.Equal(t, jsonscan.Nesting([]byte(raw)), want, "%.40q", raw)
	}
}
