package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// An entryJSON is an entry as JSON, with the keys of this package, and its name.
type entryJSON struct {
	Name                  string            `json:"name,omitempty"`
	Description           string            `json:"description,omitempty"`
	Transport             string            `json:"transport,omitempty"`
	URL                   string            `json:"url,omitempty"`
	Headers               map[string]string `json:"headers,omitempty"`
	Command               string            `json:"command,omitempty"`
	Args                  []string          `json:"args,omitempty"`
	Env                   map[string]string `json:"env,omitempty"`
	Cwd                   string            `json:"cwd,omitempty"`
	Enabled               *bool             `json:"enabled,omitempty"`
	Builtin               bool              `json:"builtin,omitempty"`
	Proposed              bool              `json:"proposed,omitempty"`
	Required              bool              `json:"required,omitempty"`
	Lazy                  bool              `json:"lazy,omitempty"`
	Trust                 bool              `json:"trust,omitempty"`
	Quarantined           bool              `json:"quarantined,omitempty"`
	Ledger                string            `json:"ledger,omitempty"`
	ConnectTimeoutSeconds float64           `json:"connectTimeoutSeconds,omitempty"`
	ReadTimeoutSeconds    float64           `json:"readTimeoutSeconds,omitempty"`
	IdleTimeoutSeconds    float64           `json:"idleTimeoutSeconds,omitempty"`
	Identity              string            `json:"identity,omitempty"`
	UserHeader            string            `json:"userHeader,omitempty"`
	Proxy                 string            `json:"proxy,omitempty"`
	TLS                   *TLS              `json:"tls,omitempty"`
	Auth                  *authJSON         `json:"auth,omitempty"`
	Isolation             *Isolation        `json:"isolation,omitempty"`
	Limits                Limits            `json:"limits,omitzero"`
	Tools                 *ToolFilter       `json:"tools,omitempty"`
}

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

// encode returns the entry; to show it there are the name, whether it is enabled, and more.
func (s *Server) encode(show bool, more map[string]string) ([]byte, error) {
	w := entryJSON{
		Description: s.Description, Transport: s.Transport,
		URL: s.URL, Headers: revealed(s.Headers),
		Command: s.Command, Args: s.Args, Env: revealed(s.Env), Cwd: s.Cwd,
		Builtin: s.Builtin, Proposed: s.Proposed, Required: s.Required, Lazy: s.Lazy, Trust: s.Trust, Quarantined: s.Quarantined, Ledger: s.Ledger,
		ConnectTimeoutSeconds: s.ConnectTimeout.Seconds(),
		ReadTimeoutSeconds:    s.ReadTimeout.Seconds(),
		IdleTimeoutSeconds:    s.IdleTimeout.Seconds(),
		Identity:              s.Identity, UserHeader: s.UserHeader,
		Proxy: s.Proxy, TLS: s.TLS, Isolation: s.Isolation, Limits: s.Limits,
	}
	if show {
		w.Name = s.Title
	}
	if show || !s.Enabled {
		w.Enabled = &s.Enabled
	}
	if s.Auth != nil {
		w.Auth = &authJSON{s.Auth, s.Auth.ClientSecret.Reveal()}
	}
	if t := s.Tools; t.Allow != nil || len(t.Deny) > 0 || len(t.Rename) > 0 {
		w.Tools = &t
	}
	object, err := encodeJSON(w)
	own := append(dialect.OwnKeys(), "name", "revision")
	appendMember := func(key string, value []byte) {
		name, _ := encodeJSON(key) // a string never fails
		object = bytes.TrimSuffix(object, []byte{'}'})
		if len(object) > len("{") {
			object = append(object, ',')
		}
		object = slices.Concat(object, name, []byte{':'}, value, []byte{'}'})
	}
	for _, key := range dialect.InOrder(s.Extra) {
		if !slices.Contains(own, key) {
			appendMember(key, s.Extra[key])
		}
	}
	for _, key := range dialect.InOrder(more) {
		text, _ := encodeJSON(more[key])
		appendMember(key, text)
	}
	return object, err
}

func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func revealed(values map[string]Secret) map[string]string {
	if values == nil {
		return nil
	}
	clear := make(map[string]string, len(values))
	for name, value := range values {
		clear[name] = value.Reveal()
	}
	return clear
}
