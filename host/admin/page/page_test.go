package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestNewWithoutAPI(t *testing.T) {
	for _, api := range []http.Handler{nil, http.HandlerFunc(nil)} {
		assert.Fails(t, assert.Err(New(api)), "%T", api)
	}
}

// What is nil or zero serves nothing, and does not panic.
func TestZero(t *testing.T) {
	made, _ := newPage(t)
	for _, p := range []*Page{nil, {}, made} {
		for _, r := range []*http.Request{nil, {}, {URL: &url.URL{}}, {URL: &url.URL{Path: "/admin/session"}}, {URL: &url.URL{Path: "/api/v1/me"}}} {
			p.ServeHTTP(httptest.NewRecorder(), r)
			p.ServeHTTP(nil, r)
		}
	}
	for _, p := range []*Page{nil, {}} {
		assert.Equal(t, p.Link("good"), "/admin/", "link")
	}
}

// body reads the body of an answer.
func body(t *testing.T, res *http.Response) string {
	t.Helper()
	return string(assert.Value(io.ReadAll(res.Body))(t))
}

func TestDocument(t *testing.T) {
	p, api := newPage(t)
	var etag string
	for _, path := range []string{"/admin/", "/admin/servers/github", "/admin/tools/a%2Fb"} {
		res := do(p, "GET", path, "", browser{}, nil)
		assert.Equal(t, res.StatusCode, 200, "%s: got status", path)
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Content-Security-Policy": policy,
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			assert.Equal(t, res.Header.Get(name), want, "%s: got %s", path, name)
		}
		etag = res.Header.Get("ETag")
	}
	res := do(p, "GET", "/admin/keys", "", browser{}, func(r *http.Request) { r.Header.Set("If-None-Match", etag) })
	assert.Equal(t, res.StatusCode, http.StatusNotModified, "with the ETag: got status")
	assert.False(t, api.asked.Load() != nil, "the API was asked for a document")
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/admin", 301}, {"GET", "/", 404}, {"GET", "/administration", 404}, {"POST", "/admin/", 405},
		{"GET", "/admin/assets/app.js", 404}, {"GET", "/admin/assets/old/app.js", 404}, {"PUT", "/admin/session", 405},
	} {
		assert.Equal(t, do(p, c.method, c.path, "", browser{}, nil).StatusCode, c.want, "%s %s: got status", c.method, c.path)
	}
}

var (
	imports = regexp.MustCompile(`(?m)(?:^import .*|^} )from '([^']+)';$`)
	lazy    = regexp.MustCompile(`\bimport\('([^']+)'\)`)
)

// maxFirst bounds the scripts and styles of the first view, compressed; its data come besides.
const maxFirst = 40_000

// Each asset that another refers to is served, as what it is and for good. What the first view needs is named in the
// document, so that it comes at once, and is small.
func TestAssets(t *testing.T) {
	p, _ := newPage(t)
	document := body(t, do(p, "GET", "/admin/", "", browser{}, nil))
	var wait []string
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(document, -1) {
		wait = append(wait, m[1])
	}
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	seen := map[string]bool{}
	sum := 0
	for len(wait) > 0 {
		name := wait[0]
		if wait = wait[1:]; seen[name] {
			continue
		}
		seen[name] = true
		res := do(p, "GET", name, "", browser{}, nil)
		if res.StatusCode != 200 {
			t.Errorf("%s: got status %d, want 200", name, res.StatusCode)
			continue
		}
		assert.Equal(t, res.Header.Get("Content-Type"), kinds[path.Ext(name)], "%s: the type", name)
		assert.Contains(t, res.Header.Get("Cache-Control"), "immutable", "%s: got Cache-Control", name)
		text := body(t, res)
		packed := do(p, "GET", name, "", browser{}, func(r *http.Request) { r.Header.Set("Accept-Encoding", "br, gzip") })
		assert.Equal(t, packed.Header.Get("Content-Encoding"), "gzip", "%s: the coding", name)
		assert.True(t, packed.Header.Get("ETag") != res.Header.Get("ETag"), "%s: the ETag is that of the coding", name)
		data := assert.Value(io.ReadAll(packed.Body))(t)
		unpacked := assert.Value(gzip.NewReader(bytes.NewReader(data)))(t)
		assert.Equal(t, string(assert.Value(io.ReadAll(unpacked))(t)), text, "%s: what was compressed", name)
		first := strings.Contains(document, name)
		if first {
			sum += len(data)
		}
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			wait = append(wait, path.Join(path.Dir(name), m[1]))
			assert.True(t, !first || strings.Contains(document, wait[len(wait)-1]), "%s: the document names %s", name, m[1])
		}
		for _, m := range lazy.FindAllStringSubmatch(text, -1) {
			wait = append(wait, path.Join(path.Dir(name), m[1]))
		}
	}
	assert.True(t, len(seen) >= 20, "%d assets are used, at least 20", len(seen))
	assert.True(t, sum <= maxFirst, "the first view has %d bytes, at most %d", sum, maxFirst)
}

// No script makes elements, code or styles of a text.
func TestScriptsMakeNothingOfTexts(t *testing.T) {
	bad := regexp.MustCompile(`\.(innerHTML|outerHTML|srcdoc|cssText)\b|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTMLUnsafe|\beval\(|new Function|javascript:|setAttribute\('style'|\sstyle=`)
	assert.OK(t, fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		assert.Equal(t, bad.FindString(string(data)), "", "%s", name)
		return err
	}))
}
