package apps

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"
)

//go:embed assets/sandbox.html
var sandboxPage string

// A frame is where a browser has an app.
type frame struct {
	policy, connections string // headers
	origin              string // of the page around it
}

// Sandbox serves the frames in which apps run. It belongs at [Options].SandboxURL, an origin that serves nothing else.
func (a *Apps) Sandbox() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("X-DNS-Prefetch-Control", "off")
		token := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		a.mu.Lock()
		f := a.frames[token]
		a.mu.Unlock()
		if f == nil || r.Method != http.MethodGet {
			http.Error(w, "There is no such app, or it has ended.", http.StatusNotFound)
			return
		}
		h.Set("Content-Security-Policy", f.policy)
		h.Set("Connection-Allowlist", f.connections)
		h.Set("Content-Type", "text/html; charset=utf-8")
		origin, _ := json.Marshal(f.origin) // strings always encode
		_, _ = w.Write([]byte(strings.Replace(sandboxPage, `"{origin}"`, string(origin), 1)))
	})
}
