package config

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// Entry returns what stands behind the name of the server in a file, as JSON with the keys of
// this package: all values as they are in s, secrets in clear. Name, Source and Err are no
// part of it.
func (s *Server) Entry() (json.RawMessage, error) { return s.encode(false) }

// MarshalJSON returns the server as it may be shown: the keys of an entry, "name" with
// the name as written, and "source"; secrets are masked, see [Server.Masked], and if the
// entry cannot be used "error" says why.
func (s Server) MarshalJSON() ([]byte, error) {
	object, err := s.Masked().encode(true)
	if err != nil {
		return nil, err
	}
	more := map[string]string{}
	if s.Err != nil {
		more["error"] = s.Err.Error()
	}
	if s.Source != (Source{}) {
		more["source"] = s.Source.String()
	}
	for _, key := range []string{"error", "source"} {
		if text, ok := more[key]; ok {
			if object, err = dialect.AppendMember(object, key, canonjson.AppendString(nil, text)); err != nil {
				return nil, err
			}
		}
	}
	return object, nil
}

// encode returns the entry; to show it there are the name and whether it is enabled.
func (s *Server) encode(show bool) ([]byte, error) {
	w := dialect.Own{
		Description: s.Description, Transport: s.Transport,
		URL: s.URL, Headers: revealed(s.Headers),
		Command: s.Command, Args: s.Args, Env: revealed(s.Env), Cwd: s.Cwd,
		Builtin: s.Builtin, Proposed: s.Proposed, Required: s.Required, Lazy: s.Lazy, Trust: s.Trust, Quarantined: s.Quarantined, Ledger: s.Ledger,
		ConnectTimeoutSeconds: s.ConnectTimeout.Seconds(),
		ReadTimeoutSeconds:    s.ReadTimeout.Seconds(),
		IdleTimeoutSeconds:    s.IdleTimeout.Seconds(),
		Identity:              s.Identity, UserHeader: s.UserHeader,
		Proxy: s.Proxy, TLS: s.TLS.wire(), Auth: s.Auth.wire(),
	}
	if show {
		w.Name = s.Title
	}
	if show || !s.Enabled {
		w.Enabled = &s.Enabled
	}
	if i := s.Isolation; i != nil {
		w.Isolation = &dialect.OwnIsolation{Kind: i.Kind, Image: i.Image, Network: i.Network, Args: i.Args}
		for _, m := range i.Mounts {
			w.Isolation.Mounts = append(w.Isolation.Mounts, dialect.OwnMount(m))
		}
	}
	if s.Limits != (Limits{}) {
		limits := dialect.OwnLimits(s.Limits)
		w.Limits = &limits
	}
	if t := s.Tools; t.Allow != nil || len(t.Deny) > 0 || len(t.Rename) > 0 {
		w.Tools = &dialect.OwnTools{Deny: t.Deny, Rename: t.Rename}
		if t.Allow != nil {
			w.Tools.Allow = &t.Allow
		}
	}
	return dialect.EncodeOwn(&w, s.Extra)
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
