package content_test

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/content"
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
		assert.Equal(t, content.ExpandsTo(c.template, c.uri), c.want, "%q to %q", c.template, c.uri)
	}
}

// A URI of a result leads to each server that lists it or has a template of it, also as a parser writes it.
func TestFindResource(t *testing.T) {
	c := content.New(openContents(t, contents{"a": with(resource("x:1"), template("x:{n}")), "b": with(resource("x:é"), template("y:{n}"))}, nil, "a", "b"))
	for uri, want := range map[string]string{
		"x:1": "mcpbelt:a/x:1", "x:2": "mcpbelt:a/x:2", "y:2": "mcpbelt:b/y:2", "mcpbelt:b/x:%C3%A9": "mcpbelt:b/x:é", "z:1": "", "x:é": "mcpbelt:b/x:é mcpbelt:a/x:é",
	} {
		assert.Equal(t, strings.Join(c.FindResource(watchdog(t), uri, nil), " "), want, "%s", uri)
	}
}
