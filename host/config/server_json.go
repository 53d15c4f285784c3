package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// An authJSON has the secret in clear.
type authJSON struct {
	*Auth
	ClientSecret string `json:"clientSecret,omitempty"`
}

// Entry returns what stands behind the name of the server in a file, as JSON with the keys of
// this package: all values as they are in s, secrets in clear. Name, Source and Err are no
// part of it.
func (s *Server) Entry() (json.RawMessage, error) { return s.encode(false, nil) }

// MarshalJSON returns the server as it may be shown: the keys of an entry, "name" with
// the name as written, and "source"; secrets are masked, see [Server.Masked], and if the
// entry cannot be used "error" says why.
func (s Server) MarshalJSON() ([]byte, error) {
	more := map[string]string{}
	if s.Err != nil {
		more["error"] = s.Err.Error()
	}
	if s.Source != (Source{}) {
		more["source"] = s.Source.String()
	}
	return s.Masked().encode(true, more)
}

// Hash returns the SHA-256, in hexadecimal, of everything that the entry says:
// two servers with the same hash are configured the same. Where it stands in
// the file, the order of its keys, comments and white space do not matter; the
// values of variables do. The hash is for comparison in memory: from that of a
// short secret the secret could be guessed, so keep it out of logs.
func (s *Server) Hash() string {
	entry, err := s.encode(true, nil)
	sum := sha256.Sum256(fmt.Appendf(entry, "%q %t %t", s.Name, s.Err != nil, err != nil))
	return hex.EncodeToString(sum[:])
}

// A said is what an entry says under a key.
type said struct {
	key   string
	value any
}

// said returns what the entry says, in the order in which it is written; to show it there
// are the name, and whether it is enabled.
func (s *Server) said(show bool) []said {
	var auth *authJSON
	if s.Auth != nil {
		auth = &authJSON{s.Auth, s.Auth.ClientSecret.Reveal()}
	}
	var tools *ToolFilter
	if t := s.Tools; t.Allow != nil || len(t.Deny) > 0 || len(t.Rename) > 0 || t.SkipOutputCheck {
		tools = &t
	}
	title, enabled := "", new(bool)
	if *enabled = !s.Disabled; show {
		title = s.Title
	} else if *enabled {
		enabled = nil
	}
	return []said{
		{"name", title},
		{"description", s.Description}, {"transport", s.Transport},
		{"url", s.URL}, {"headers", revealed(s.Headers)},
		{"command", s.Command}, {"args", s.Args}, {"env", revealed(s.Env)}, {"cwd", s.Cwd},
		{"enabled", enabled}, {"builtin", s.Builtin}, {"proposed", s.Proposed}, {"required", s.Required}, {"lazy", s.Lazy}, {"trust", s.Trust},
		{"quarantined", s.Quarantined}, {"ledger", s.Ledger},
		{"connectTimeoutSeconds", s.ConnectTimeout.Seconds()},
		{"readTimeoutSeconds", s.ReadTimeout.Seconds()},
		{"idleTimeoutSeconds", s.IdleTimeout.Seconds()},
		{"identity", s.Identity}, {"userHeader", s.UserHeader},
		{"proxy", s.Proxy}, {"tls", s.TLS}, {"auth", auth}, {"isolation", s.Isolation}, {"limits", s.Limits}, {"tools", tools},
	}
}

// encode returns the entry; to show it there are the name, whether it is enabled, and more.
func (s *Server) encode(show bool, more map[string]string) ([]byte, error) {
	list := s.said(show)
	own := append(dialect.OwnKeys(), "name", "revision")
	for _, key := range dialect.InOrder(s.Extra) {
		if !slices.Contains(own, key) {
			list = append(list, said{key, s.Extra[key]})
		}
	}
	for _, key := range dialect.InOrder(more) {
		list = append(list, said{key, more[key]})
	}
	object := []byte{'{'}
	var errs []error
	for _, m := range list {
		v := reflect.ValueOf(m.value)
		if v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0 || v.Kind() == reflect.Slice && v.Len() == 0 {
			continue
		}
		if len(object) > len("{") {
			object = append(object, ',')
		}
		key, _ := canonjson.Marshal(m.key) // a string never fails
		value, err := canonjson.Marshal(m.value)
		object = slices.Concat(object, key, []byte{':'}, value)
		errs = append(errs, err)
	}
	return append(object, '}'), errors.Join(errs...)
}

func revealed(values map[string]Secret) map[string]string {
	clear := make(map[string]string, len(values))
	for name, value := range values {
		clear[name] = value.Reveal()
	}
	return clear
}
