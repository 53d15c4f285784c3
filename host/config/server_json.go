package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

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
func (s *Server) Entry() (json.RawMessage, error) {
	if s == nil {
		return nil, errors.New("config: the server is nil")
	}
	return s.encode(false, nil)
}

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
	c := s.Masked()
	c.Title = cmp.Or(c.Title, c.Name)
	return c.encode(true, more)
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

// said returns what the entry says, in the order of the fields; to show it there are the name,
// and whether it is enabled.
func (s *Server) said(show bool) (list []said) {
	fields := reflect.ValueOf(s).Elem()
	for i := range fields.NumField() {
		key := fields.Type().Field(i).Tag.Get("key")
		if key == "" || key == "name" && !show {
			continue
		}
		value := fields.Field(i).Interface()
		switch v := value.(type) {
		case map[string]Secret:
			value = revealed(v)
		case time.Duration:
			value = v.Seconds()
		case *Auth:
			if v != nil {
				value = &authJSON{v, v.ClientSecret.Reveal()}
			}
		case ToolFilter:
			if v.Allow == nil && len(v.Deny)+len(v.Rename) == 0 && !v.SkipOutputCheck {
				continue
			}
		case bool:
			if key == "enabled" && (show || v) {
				value = new(!v)
			}
		}
		list = append(list, said{key, value})
	}
	return list
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
