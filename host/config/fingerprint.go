package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// fingerprint returns the fingerprint of the entry.
func (e *entry) fingerprint(s *Server) string {
	d := digest{sha256.New()}
	address := cmp.Or(e.text("url"), e.text("httpUrl"), e.text("serverUrl"))
	d.list("mcpbelt fingerprint 1", s.Transport, e.text("command"), e.text("cwd"), address)
	var args []string
	if m := e.field("args"); m != nil {
		for _, arg := range m.Value.Elems {
			args = append(args, arg.Text)
		}
	}
	d.list(args...)
	d.list(e.keys("env", func(name string) string { return name })...)
	d.list(e.keys("headers", http.CanonicalHeaderKey)...)
	return hex.EncodeToString(d.Sum(nil))
}

// text returns the string of a key as written, or "".
func (e *entry) text(key string) string {
	if m := e.field(key); m != nil && m.Value.Kind == jsonc.String {
		return m.Value.Text
	}
	return ""
}

// keys returns the sorted names of variables or headers, each once and in its one
// spelling.
func (e *entry) keys(key string, spell func(string) string) []string {
	var names []string
	for _, p := range e.pairs(key) {
		names = append(names, spell(p.name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
