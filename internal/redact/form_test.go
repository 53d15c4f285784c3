package redact

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Each line of the table is a form with a source, and no anchor stands there twice.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, f := range assert.Value(parseForms(table))(t) {
		tail := f.tail.String()
		assert.True(t, len(f.anchors) > 0 && (f.lead != nil || tail != "^(?:)"), "%s is a form", f.kind)
		assert.True(t, f.lead == nil || !strings.Contains(f.lead.String(), ",}"), "%s has an end before its anchor", f.kind)
		assert.True(t, !strings.Contains(strings.TrimSuffix(tail, ",})"), ",}"), "only the last part of %s has no end", f.kind)
		for _, anchor := range f.anchors {
			assert.True(t, len(anchor) >= startLength, "%s: %s is long enough", f.kind, anchor)
			assert.False(t, known[anchor], "%s stands there twice", anchor)
			known[anchor] = true
		}
	}
	for line := range strings.Lines(table) {
		assert.True(t, line[0] == '#' || strings.Contains(line, "\thttps://"), "%s has a source", line)
	}
}
