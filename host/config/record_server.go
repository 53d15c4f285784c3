package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// record returns the server as a record. It is what was written only if the server was
// read so, see Options.written.
func (s *Server) record() *Record {
	r := &Record{
		Name: s.Title, Description: s.Description,
		Transport: s.Transport, URL: s.URL, Headers: maps.Clone(s.Headers),
		Command: s.Command, Args: slices.Clone(s.Args), Env: maps.Clone(s.Env), Cwd: s.Cwd,
		Disabled: !s.Enabled, Builtin: s.Builtin, Required: s.Required, Lazy: s.Lazy, Trust: s.Trust,
		Quarantined: s.Quarantined, Ledger: s.Ledger,
		ConnectTimeout: s.ConnectTimeout, ReadTimeout: s.ReadTimeout, IdleTimeout: s.IdleTimeout,
		Identity: s.Identity, UserHeader: s.UserHeader,
		Proxy: s.Proxy, TLS: s.TLS, Auth: s.Auth, Isolation: s.Isolation, Limits: s.Limits, Tools: s.Tools, Extra: s.Extra,
	}
	return r.clone()
}

// Masked returns the server as it may be shown: what is written with references, as
// arguments, URL, variables and headers may be, is shown so, and not what these stand for;
// of the rest secrets are masked, see [Mask]. Nobody connects with it.
func (s *Server) Masked() *Record {
	r := s.record()
	var clientSecret Secret
	if r.Env, r.Headers, clientSecret = s.Written(); r.Auth != nil {
		r.Auth.ClientSecret = clientSecret
	}
	r.URL, r.Proxy = s.asWritten(r.URL), s.asWritten(r.Proxy)
	for i := range r.Args {
		r.Args[i] = s.asWritten(r.Args[i])
	}
	if r.Isolation != nil {
		for i := range r.Isolation.Args {
			r.Isolation.Args[i] = s.asWritten(r.Isolation.Args[i])
		}
	}
	return r.Masked()
}

// asWritten returns a value with the references that it was written with, if it was, and
// without their defaults.
func (s *Server) asWritten(value string) string {
	text, ok := s.templates["text "+value]
	if !ok {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		length, shown := shownReference(text[i:])
		if length == 0 {
			length, shown = 1, text[i:i+1]
		}
		b.WriteString(shown)
		i += length
	}
	return b.String()
}

// shortestSecret is how short a text can be to be taken for a secret wherever it stands:
// shorter ones are in any text.
const shortestSecret = 4

// Secrets returns what the references of the entry to secrets stand for, longest first:
// those to files, inputs and the keyring, and to variables with the name of a secret. What
// has fewer than 4 bytes, or stands in the host of the URL, is left out. No text about the
// server that others see may hold them, see [Server.MaskError].
func (s *Server) Secrets() []string {
	host := ""
	if text := s.asWritten(s.URL); isURL(s.URL) && isURL(text) && strings.Contains(cutURL(text).host, "$") {
		host = cutURL(s.URL).host
	}
	var list []string
	for _, secret := range s.secrets {
		for _, form := range []string{secret, strings.TrimSpace(secret), url.PathEscape(secret), url.QueryEscape(secret)} {
			if len(form) >= shortestSecret && !strings.Contains(host, form) {
				list = append(list, form)
			}
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(list)
}

// standsForSecret reports whether a reference is one to a secret that it stands for.
func standsForSecret(reference, value string) bool {
	if value == reference {
		return false // it waits
	}
	if asksSomebody(reference) || strings.HasPrefix(reference, "${file:") {
		return true
	}
	name, fallback, hasDefault := strings.Cut(strings.Trim(reference, "${}"), ":-")
	return secretName(strings.TrimPrefix(name, "env:")) && !(hasDefault && value == fallback && !looksRandom(value))
}

// MarshalJSON returns the server as it may be shown: the keys of an entry, "name" with
// the name as written, and "source"; secrets are masked, see [Server.Masked], and if the
// entry cannot be used "error" says why.
func (s Server) MarshalJSON() ([]byte, error) {
	r := s.Masked()
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
