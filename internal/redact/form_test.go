package redact

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// Each line of the table is a form with a source, and no anchor stands there twice.
func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, f := range assert.Value(parseForms(table))(t) {
		assert.True(t, len(f.anchors) > 0 && f.lead.most+len(f.tail) > 0, "%s is a form", f.kind)
		assert.False(t, f.lead.of != nil && f.lead.most == 0, "%s has a part without end before its anchor", f.kind)
		endless := slices.IndexFunc(f.tail, func(p part) bool { return p.of != nil && p.most == 0 })
		assert.True(t, endless < 0 || endless == len(f.tail)-1, "only the last part of %s has no end", f.kind)
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
