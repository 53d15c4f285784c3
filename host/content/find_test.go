package content

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A template of a URI is compared with a URI.
func TestExpandsTo(t *testing.T) {
	//report: Gateway | PrefectHQ/fastmcp#4250, IBM/mcp-context-forge#4418 | templates with a query or a path, such as `{?format}` and `{/path*}`, are not found through a proxy | a URI that such a template expands to leads to its server
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"note://{n}", "note://1", true},
		{"note://{n}", "note://", true}, // of an empty value
		{"note://{n}", "note://1/2", false},
		{"note://{+n}", "note://1/2", true},
		{"note://{n}", "other://1", false},
		{"a://{x}/b/{y}", "a://1/b/2", true},
		{"a://{x}/b/{y}", "a://1/c/2", false},
		{"a://{x}{y}.txt", "a://12.txt", true},
		{"a://{x}.txt", "a://1.md", false},
		{"a://x{?q}", "a://x?q=1", true},
		{"a://x{/p*}", "a://x/1/2", true},
		{"{+all}", "any://thing", true},
		{"a://b", "a://b", true},
		{"a://b", "a://bc", false},
		{"a://{", "a://1", true},
		{"", "", true},
	} {
		assert.Equal(t, expandsTo(c.template, c.uri), c.want, "%q to %q", c.template, c.uri)
	}
}
