package access

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// MetadataPath is below which clients look for the metadata of a protected resource (RFC 9728): the path
// of the resource follows.
const MetadataPath = "/.well-known/oauth-protected-resource"

// A Resource tells clients of a gateway where they get tokens for it: it is a protected resource
// of OAuth (RFC 9728). It does not check tokens; an [Authenticator] does.
type Resource struct {
	// AuthorizationServers are the issuers of tokens that are accepted. Clients mostly take the first.
	AuthorizationServers []string
	// Scopes are those that a client may ask for. Default: it is not told.
	Scopes []string
	// URL is what clients reach the gateway by, such as https://belt.example, if that is not the
	// scheme and host of its requests because TLS ends in a proxy before it. Its path, if it has
	// any, stands before those of the views.
	URL string
}

// ServeHTTP serves the metadata, at [MetadataPath] and below it. The resource is the URL as asked, since
// clients compare it with theirs.
func (s *Resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin, prefix := s.base(r)
	path, ok := strings.CutPrefix(r.URL.Path, MetadataPath)
	own := strings.TrimPrefix(path, prefix)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	switch {
	case !ok || own != "" && own != "/" && own != ResourcePath(own):
		http.Error(w, "no such resource", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	text, err := json.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers,omitempty"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
	}{origin + (&url.URL{Path: path}).EscapedPath(), s.AuthorizationServers, s.Scopes, []string{"header"}})
	if err != nil {
		http.Error(w, "the metadata cannot be written", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(text)
}

// metadataURL returns where the metadata is of the resource that a request wants.
func (s *Resource) metadataURL(r *http.Request) string {
	origin, prefix := s.base(r)
	return origin + (&url.URL{Path: MetadataPath + prefix + ResourcePath(r.URL.Path)}).EscapedPath()
}

// base returns the scheme and host of the gateway, and the path before those of its views.
func (s *Resource) base(r *http.Request) (origin, prefix string) {
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host, strings.TrimRight(u.Path, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host, ""
}

// ResourcePath returns the path of the view that a request for a path is made of: that of
// /p/office/mcp/tools/list is /p/office/mcp. A slash at the end of the path of a view stays.
func ResourcePath(path string) string {
	base := ""
	for _, prefix := range []string{"/p/", "/s/"} {
		if name, ok := strings.CutPrefix(path, prefix); ok {
			name, _, _ = strings.Cut(name, "/")
			base = prefix + name
		}
	}
	if view := base + "/mcp"; path != view+"/" {
		return view
	}
	return path
}
