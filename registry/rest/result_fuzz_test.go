package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// FuzzResult looks for answers that make a result that nobody can encode or read.
func FuzzResult(f *testing.F) {
	f.Add(200, "application/json; charset=utf-16", "x; y", []byte(`{"a":1}`), false)
	f.Add(404, "text/html; charset=\"iso-8859-1", "30", []byte("\xff\x00"), true)
	f.Add(302, "image/png", "//u:p@h?x#y", []byte{}, false)
	f.Add(200, "audio/\x00", "\r\n", []byte("\xef\xbb\xbf[1"), false)
	f.Fuzz(func(t *testing.T, status int, kind, header string, body []byte, truncated bool) {
		o := &operation{api: "shop", name: "op", method: "GET"}
		a := &answer{status: status, body: body, truncated: truncated, header: http.Header{
			"Content-Type": {kind}, "Location": {header}, "Retry-After": {header}, "Etag": {header},
		}}
		for _, o.method = range []string{"GET", "HEAD"} {
			res := o.result(a)
			assert.Value(json.Marshal(res))(t)
			assert.Equal(t, len(res.Content), 1)
			assert.Equal(t, res.IsError, (status < 200 || status > 299 || truncated && o.method != "HEAD"))
			if text, ok := res.Content[0].(*mcp.TextContent); ok && !utf8.ValidString(text.Text) {
				t.Fatalf("text %q", text.Text)
			}
			if res.IsError && res.StructuredContent != nil {
				t.Fatal("a failure has structured content")
			}
		}
	})
}

// FuzzPath looks for values that leave a path, and templates that let them.
func FuzzPath(f *testing.F) {
	f.Add("/a/{x}/b", "..", ".")
	f.Add("/{x}{y}.json/", "%2", "e/..")
	f.Add("/v1/:{x}/%2e{y}", "a", ".")
	f.Fuzz(func(t *testing.T, path, x, y string) {
		template, err := readPath(path)
		if err != nil {
			return
		}
		got, at := template.expand(map[string]string{"x": escape(x), "y": escape(y)})
		if at != "" {
			return
		}
		for _, name := range template.names() {
			if name != "x" && name != "y" {
				return // which New refuses
			}
		}
		if strings.Count(got, "/") != len(template) || strings.ContainsAny(got, "?#\\ ") {
			t.Fatalf("%q with %q and %q became %q", path, x, y, got)
		}
		// As a server that decodes before it looks sees it.
		depth := 0
		for _, piece := range strings.FieldsFunc(decode(decode(got)), func(r rune) bool { return r == '/' || r == '\\' }) {
			if depth++; piece == ".." || piece == "." {
				t.Fatalf("%q with %q and %q became %q, which has a step in it", path, x, y, got)
			}
		}
	})
}
