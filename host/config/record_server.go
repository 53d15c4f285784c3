package config

import (
	"maps"
	"slices"
)

// record returns the server as a record. It is what was written only if the server was
// read so, see Options.written.
func (s *Server) record() *Record {
	r := &Record{
		Name: s.Title, Description: s.Description,
		Transport: s.Transport, URL: s.URL, Headers: maps.Clone(s.Headers),
		Command: s.Command, Args: slices.Clone(s.Args), Env: maps.Clone(s.Env), Cwd: s.Cwd,
		Disabled: !s.Enabled, Builtin: s.Builtin, Required: s.Required, Lazy: s.Lazy, Trust: s.Trust,
		ConnectTimeout: s.ConnectTimeout, ReadTimeout: s.ReadTimeout, IdleTimeout: s.IdleTimeout,
		Identity: s.Identity, UserHeader: s.UserHeader,
		Auth: s.Auth, Isolation: s.Isolation, Limits: s.Limits, Tools: s.Tools, Extra: s.Extra,
	}
	return r.clone()
}

// MarshalJSON returns the server as it may be shown: the keys of an entry, "name" with
// the name as written, and "source"; secrets are masked, see [Mask], and if the entry
// cannot be used "error" says why.
func (s Server) MarshalJSON() ([]byte, error) {
	r := s.record().Masked()
	show := map[string]string{"source": s.Source.String()}
	if s.Err != nil {
		show["error"] = s.Err.Error()
	}
	out, err := r.encode(true, true)
	if err != nil {
		return nil, err
	}
	return appendTexts(out, show)
}
