package auth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A site answers GETs with the documents that a test puts there, and writes down
// what it was asked for.
type site struct {
	url string

	mu   sync.Mutex
	docs map[string]http.HandlerFunc
	got  []string
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{docs: map[string]http.HandlerFunc{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.got = append(s.got, r.Method+" "+r.URL.RequestURI())
	serve := s.docs[r.URL.Path]
	s.mu.Unlock()
	if r.Header.Get("MCP-Protocol-Version") != "2026-07-28" {
		http.Error(w, "no revision", http.StatusTeapot)
		return
	}
	if serve == nil {
		http.NotFound(w, r)
		return
	}
	serve(w, r)
}

func (s *site) put(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.docs[path] = h
}

// asked returns what the site was asked for so far.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *site) wantAsked(t testing.TB, paths ...string) {
	t.Helper()
	var want []string
	for _, p := range paths {
		want = append(want, "GET "+p)
	}
	assert.Equal(t, fmt.Sprint(s.asked()), fmt.Sprint(want), "asked for\n")
}

func parsed(t testing.TB, raw string) *url.URL {
	t.Helper()
	return assert.Value(url.Parse(raw))(t)
}

type members = map[string]any

func jsonDoc(doc any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Error(w, "SECRET", code) }
}

// elsewhere sends to another origin, as programs do that know no such page.
func elsewhere(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "https://login.example/SECRET", http.StatusFound)
}

func html(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<html>SECRET"))
}

// resource puts the metadata of a server there.
func (s *site) resource(at, resource string, issuers ...string) {
	s.put(at, jsonDoc(members{"resource": resource, "authorization_servers": issuers, "scopes_supported": []string{"r"}}))
}

// authorityDoc returns good metadata, changed as told; nil leaves out.
func authorityDoc(issuer string, change members) members {
	doc := members{
		"issuer":                           issuer,
		"authorization_endpoint":           issuer + "/authorize",
		"token_endpoint":                   issuer + "/token",
		"code_challenge_methods_supported": []string{"plain", "S256"},
	}
	for name, value := range change {
		if doc[name] = value; value == nil {
			delete(doc, name)
		}
	}
	return doc
}

const (
	pathPRM = "/.well-known/oauth-protected-resource/mcp"
	rootPRM = "/.well-known/oauth-protected-resource"
	rootAS  = "/.well-known/oauth-authorization-server"
	rootOIC = "/.well-known/openid-configuration"
)

func flowOf(t testing.TB, c *Config) *Flow {
	t.Helper()
	f := assert.Value(New(c))(t)
	t.Cleanup(f.Close)
	return f
}

func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	want := assert.As[E](t, err)
	assert.Lacks(t, err.Error(), "SECRET", "error shows a secret")
	return want
}

// challenge is what a server says that names its metadata.
func challenge(address string) []Challenge {
	return Challenges(http.Header{"Www-Authenticate": {`Bearer resource_metadata="` + address + `"`}})
}
