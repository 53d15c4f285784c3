package toolset

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestSummary(t *testing.T) {
	words := strings.Repeat("word ", 60)
	for _, c := range []struct{ title, description, want string }{
		{"", "", ""},
		{"Title", "", "Title"},
		{"Title", " \n\t ", "Title"},
		{"Title", "Does it.", "Does it."},
		{"", "Does\n\n it\tall. \r\n", "Does it all."},
		{"", "First sentence of " + words[:50] + "end. Second one, which is long: " + words, "First sentence of " + words[:50] + "end. …"},
		{"", "As in v1.2 or e.g. here. " + words, strings.TrimSpace(("As in v1.2 or e.g. here. " + words)[:199]) + "…"},
		{"", words, strings.TrimSpace(words[:199]) + "…"},
		{"", strings.Repeat("字", 300), strings.Repeat("字", 200) + "…"},
		{"", strings.Repeat("字", 99) + "。" + strings.Repeat("字", 200), strings.Repeat("字", 99) + "。 …"},
		{"", "⚠\ufe0f Take care.", "⚠ Take care."},
		{"", "a\x00b\u202ec\u2028d\u200be\xff", "a<U+0000>b<U+202E>c d<U+200B>e\ufffd"},
	} {
		assert.Equal(t, summaryOf(&registry.Definition{Title: c.title, Description: c.description}), c.want, "%q, %.60q", c.title, c.description)
	}
	for _, s := range toolcorpus.Servers() {
		for _, tool := range s.Tools {
			got := summaryOf(&registry.Definition{Title: tool.Title, Description: tool.Description})
			n := utf8.RuneCountInString(got)
			wantBetween(t, n, 0, maxHitSummary+2, "%s/%s, characters", s.Name, tool.Name)
			assert.Equal(t, n == 0, false, "%s/%s, characters", s.Name, tool.Name)
			assert.Equal(t, plain.Text(got), got, "%s/%s, characters", s.Name, tool.Name)
			assert.Lacks(t, got, "\n", "%s/%s, characters", s.Name, tool.Name)
		}
	}
}

func TestHintsInWords(t *testing.T) {
	for _, c := range []struct {
		annotations string
		want, brief string
	}{
		{``, "It does not say what it changes.", ""},
		{`{"readOnlyHint":true}`, "It says that it changes nothing and may deal with the world outside.", "read-only"},
		{`{"destructiveHint":true,"executionTimeHint":"slow"}`, "It says that it may destroy or overwrite something, may deal with the world outside and takes more than ten seconds.", "may destroy"},
		{`{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"executionTimeHint":"fast"}`,
			"It says that it may add something, but destroys nothing, has no further effect if called again with the same arguments, deals with nothing outside and takes less than a second.", ""},
		{`{"openWorldHint":false,"executionTimeHint":"medium"}`, "It says that it may destroy or overwrite something, deals with nothing outside and takes seconds.", "may destroy"},
	} {
		d := registry.Definition{}
		if c.annotations != "" {
			d.RawAnnotations = []byte(c.annotations)
		}
		h := d.Hints()
		assert.Equal(t, hintsInWords(h), c.want, "%s", c.annotations)
		assert.Equal(t, strings.Join(briefHints(h), ", "), c.brief, "%s", c.annotations)
	}
}
