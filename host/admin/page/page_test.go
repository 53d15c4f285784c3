package page

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestNewWithoutAPI(t *testing.T) {
	for _, api := range []http.Handler{nil, http.HandlerFunc(nil)} {
		if p, err := New(api); err == nil {
			t.Errorf("%T: got %v, want an error", api, p)
		}
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
		if got := p.Link("good"); got != "/admin/" {
			t.Errorf("link: got %q, want the page", got)
		}
	}
}

// body reads the body of an answer.
func body(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDocument(t *testing.T) {
	p, api := newPage(t)
	var etag string
	for _, path := range []string{"/admin/", "/admin/servers/github", "/admin/tools/a%2Fb"} {
		res := do(p, "GET", path, "", "", nil)
		if res.StatusCode != 200 {
			t.Errorf("%s: got status %d, want 200", path, res.StatusCode)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-cache", "Content-Security-Policy": policy,
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", path, name, got, want)
			}
		}
		etag = res.Header.Get("ETag")
	}
	res := do(p, "GET", "/admin/keys", "", "", func(r *http.Request) { r.Header.Set("If-None-Match", etag) })
	if res.StatusCode != http.StatusNotModified {
		t.Errorf("with the ETag: got status %d, want 304", res.StatusCode)
	}
	if api.asked.Load() != nil {
		t.Errorf("the API was asked for a document, want it not to be")
	}
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/admin", 301}, {"GET", "/", 404}, {"GET", "/administration", 404}, {"POST", "/admin/", 405},
		{"GET", "/admin/assets/app.js", 404}, {"GET", "/admin/assets/old/app.js", 404}, {"PUT", "/admin/session", 405},
	} {
		if got := do(p, c.method, c.path, "", "", nil).StatusCode; got != c.want {
			t.Errorf("%s %s: got status %d, want %d", c.method, c.path, got, c.want)
		}
	}
}

var imports = regexp.MustCompile(`(?m)(?:^import .*|^} )from '([^']+)';$`)

// Each asset that another refers to is served, as what it is and for good.
func TestAssets(t *testing.T) {
	p, _ := newPage(t)
	document := body(t, do(p, "GET", "/admin/", "", "", nil))
	var wait []string
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(document, -1) {
		wait = append(wait, m[1])
	}
	kinds := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	seen := map[string]bool{}
	for len(wait) > 0 {
		name := wait[0]
		if wait = wait[1:]; seen[name] {
			continue
		}
		seen[name] = true
		res := do(p, "GET", name, "", "", nil)
		if res.StatusCode != 200 {
			t.Errorf("%s: got status %d, want 200", name, res.StatusCode)
			continue
		}
		if got, want := res.Header.Get("Content-Type"), kinds[path.Ext(name)]; got != want {
			t.Errorf("%s: got the type %q, want %q", name, got, want)
		}
		if got := res.Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: got Cache-Control %q, want it to be immutable", name, got)
		}
		for _, m := range imports.FindAllStringSubmatch(body(t, res), -1) {
			wait = append(wait, path.Join(path.Dir(name), m[1]))
		}
	}
	if got, want := len(seen), 20; got < want {
		t.Errorf("assets that are used: got %d, want at least %d", got, want)
	}
}

// No script makes elements, code or styles of a text.
func TestScriptsMakeNothingOfTexts(t *testing.T) {
	bad := regexp.MustCompile(`\.(innerHTML|outerHTML|srcdoc|cssText)\b|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTMLUnsafe|\beval\(|new Function|javascript:|setAttribute\('style'|\sstyle=`)
	err := fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if found := bad.FindString(string(data)); found != "" {
			t.Errorf("%s: got %q, want no such thing", name, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
