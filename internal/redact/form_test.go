package redact

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Each line of the table is a form with a source, and no anchor stands there twice.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, r := range tableRules(table) {
		r.match(" "+r.anchor, 1) // its expressions compile
		assert.True(t, len(r.anchor) >= startLength, "%s: %s is long enough", r.kind, r.anchor)
		assert.False(t, known[r.anchor], "%s stands there twice", r.anchor)
		known[r.anchor] = true
	}
	for line := range strings.Lines(table) {
		assert.True(t, line[0] == '#' || strings.Contains(line, "\thttps://"), "%s has a source", line)
	}
}
