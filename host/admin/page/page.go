package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/internal/loginpage"
	"github.com/mcpbelt/mcpbelt/internal/nils"
)

//go:embed assets
var files embed.FS

const (
	root    = "/admin/"  // is below which the page is
	apiRoot = "/api/v1/" // is below which the API is
)

// policy is the Content-Security-Policy of the document.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// A Page serves the page below /admin/, and the API below /api/v1/. It is an [http.Handler], and
// may be used by any number of goroutines.
type Page struct {
	api      http.Handler
	policy   string       // of the document
	apps     http.Handler // has the script that shows apps; nil: none is shown
	sessions sessions
}

// An asset is a file that is served.
type asset struct {
	data, packed []byte // packed is compressed
	kind, etag   string
}

// New returns a page for an API, which is the handler of package admin. The error is that of a
// missing API.
func New(api http.Handler) (*Page, error) {
	if nils.Is(api) {
		return nil, errors.New("page: the handler of the API is required")
	}
	return &Page{api: api, policy: policy, sessions: sessions{links: map[string]link{}}}, nil
}

// loadAssets returns the files by their paths, and the document as that of "". They are the same for all
// pages, and compressing them takes a while.
var loadAssets = sync.OnceValue(func() map[string]asset {
	found := map[string]asset{} // by name
	all := sha256.New()
	_ = fs.WalkDir(files, "assets", func(name string, d fs.DirEntry, err error) error { // of files that are part of the program
		if d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		all.Write([]byte(name))
		all.Write(data)
		found[strings.TrimPrefix(name, "assets/")] = newAsset(data, kindOf(name))
		return err
	})
	// The path of the assets has a hash of all of them, so that a browser may keep them forever, and
	// never mixes those of two versions.
	base := root + "assets/" + base64.RawURLEncoding.EncodeToString(all.Sum(nil)[:12]) + "/"
	document := loginpage.Fill(string(found["index.html"].data), "assets", base)
	delete(found, "index.html")
	byPath := map[string]asset{"": newAsset([]byte(document), "text/html; charset=utf-8")}
	for name, a := range found {
		byPath[base+name] = a
	}
	return byPath
})

// ShowApps has the page show the apps of tools that are tried, those of Options.Apps of the API. Call it before the page serves.
func (p *Page) ShowApps(a *apps.Apps) {
	if p == nil || a == nil {
		return
	}
	p.apps = http.StripPrefix(strings.TrimSuffix(root, "/"), a.Bridge())
	p.policy = policy + "; frame-src " + a.SandboxOrigin()
}

// kindOf returns the type of a file. That of the machine's own tables may be another.
func kindOf(name string) string {
	if path.Ext(name) == ".js" {
		return "text/javascript; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

func newAsset(data []byte, kind string) asset {
	sum := sha256.Sum256(data)
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	_, _ = w.Write(data) // a buffer takes all
	_ = w.Close()
	return asset{data, packed.Bytes(), kind, base64.RawURLEncoding.EncodeToString(sum[:12])}
}

// ServeHTTP serves the page and the API; there is nothing elsewhere.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if nils.Is(w) || w.Header() == nil || r == nil || r.URL == nil || p == nil || p.api == nil {
		return // no server calls it so
	}
	if strings.HasPrefix(r.URL.Path, apiRoot) {
		p.serveAPI(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", p.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch rest, found := strings.CutPrefix(r.URL.Path, root); {
	case r.URL.Path == strings.TrimSuffix(root, "/"):
		http.Redirect(w, r, root, http.StatusMovedPermanently)
	case !found:
		http.NotFound(w, r)
	case rest == "session":
		p.serveSession(w, r)
	case rest == "apps.js" && p.apps != nil:
		p.apps.ServeHTTP(w, r)
	case strings.HasPrefix(rest, "assets/"):
		a, ok := loadAssets()[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		serveAsset(w, r, a, "public, max-age=31536000, immutable")
	default: // the document has the views of all other paths
		serveAsset(w, r, loadAssets()[""], "no-cache")
	}
}

func serveAsset(w http.ResponseWriter, r *http.Request, a asset, keep string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this can only be read", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", keep)
	h.Set("Vary", "Accept-Encoding")
	data, etag := a.data, a.etag
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		data, etag = a.packed, etag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
