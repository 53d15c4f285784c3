package config

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// Clone returns a copy that shares no list and no map with s.
func (s *Server) Clone() *Server {
	c := *s
	c.Headers, c.Env = maps.Clone(s.Headers), maps.Clone(s.Env)
	c.Args = slices.Clone(s.Args)
	c.Extra = maps.Clone(s.Extra)
	c.Tools.Allow, c.Tools.Deny = slices.Clone(s.Tools.Allow), slices.Clone(s.Tools.Deny)
	c.Tools.Rename = maps.Clone(s.Tools.Rename)
	if s.Auth != nil {
		c.Auth = new(*s.Auth)
		c.Auth.Scopes, c.Auth.LoginParams = slices.Clone(s.Auth.Scopes), maps.Clone(s.Auth.LoginParams)
	}
	if s.TLS != nil {
		c.TLS = new(*s.TLS)
	}
	if s.Isolation != nil {
		c.Isolation = new(*s.Isolation)
		c.Isolation.Mounts, c.Isolation.Args = slices.Clone(s.Isolation.Mounts), slices.Clone(s.Isolation.Args)
	}
	return &c
}

// Masked returns the server as it may be shown: what is written with references, as
// arguments, URL, variables and headers may be, is shown so, and not what these stand for;
// of the rest secrets are masked. No connection is made with it.
func (s *Server) Masked() *Server {
	c := s.Clone()
	shown := func(value string) string {
		if value == "" {
			return ""
		}
		return mask.URL(s.asWritten(value))
	}
	c.URL, c.Proxy = shown(s.URL), shown(s.Proxy)
	c.Args = mask.Args(s.allAsWritten(c.Args))
	var clientSecret Secret
	c.Env, c.Headers, clientSecret = s.written()
	for _, values := range []map[string]Secret{c.Headers, c.Env} {
		for name, value := range values {
			values[name] = Secret(mask.Named(name, value.Reveal()))
		}
	}
	if c.Auth != nil {
		c.Auth.ClientSecret = Secret(mask.String(clientSecret.Reveal()))
	}
	if c.Isolation != nil {
		c.Isolation.Args = mask.Args(s.allAsWritten(c.Isolation.Args))
	}
	for key, raw := range c.Extra {
		masked, ok := mask.JSON(key, raw)
		if !ok {
			masked = []byte(`"` + mask.Stars + `"`)
		}
		c.Extra[key] = masked
	}
	c.templates = nil
	return c
}

func (s *Server) allAsWritten(values []string) []string {
	for i := range values {
		values[i] = s.asWritten(values[i])
	}
	return values
}

// asWritten returns a value with the references that it was written with, if it was.
func (s *Server) asWritten(value string) string { return cmp.Or(s.templates["text "+value], value) }

// shortestSecret is how short a text can be to be taken for a secret wherever it stands:
// shorter ones are in any text.
const shortestSecret = 4

// Secrets returns what the references of the entry to secrets stand for, longest first:
// those to files, inputs and the keyring, and to variables with the name of a secret. What
// has fewer than 4 bytes, or stands in the host of the URL, is left out. No text about the
// server that others see may hold them, see [Server.MaskError].
func (s *Server) Secrets() []string {
	host := ""
	if text := s.asWritten(s.URL); mask.IsURL(s.URL) && mask.IsURL(text) && strings.Contains(mask.CutURL(text).Host, "$") {
		host = mask.CutURL(s.URL).Host
	}
	var list []string
	for _, secret := range s.secrets {
		for _, form := range []string{secret, strings.TrimSpace(secret), url.PathEscape(secret), url.QueryEscape(secret)} {
			if len(form) >= shortestSecret && !strings.Contains(host, form) {
				list = append(list, form)
			}
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(list)
}

// standsForSecret reports whether a reference is one to a secret that it stands for.
func standsForSecret(reference, value string) bool {
	if value == reference {
		return false // it waits
	}
	if asksUser(reference) || strings.HasPrefix(reference, "${file:") {
		return true
	}
	name, fallback, hasDefault := strings.Cut(strings.Trim(reference, "${}"), ":-")
	return mask.IsSecretName(strings.TrimPrefix(name, "env:")) && !(hasDefault && value == fallback && !mask.LooksRandom(value))
}

// maxErrorText bounds the text of one error as it is kept, in bytes.
const maxErrorText = 2 << 10

// Masker returns a function that returns a text about s as it may be shown: secrets in
// its environment, headers, arguments and URL, of so many bytes or more, what references in environment and headers
// stand for unless it is a path, [Server.Secrets], each line of them, and what has the form of a secret are masked. With stands in their place; empty means "****".
func (s *Server) Masker(shortest int, with string) func(text string) string {
	with = cmp.Or(with, mask.Stars)
	secrets := s.Secrets()
	note := func(value string) {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= shortest && mask.String(line) != line {
				secrets = append(secrets, line)
			}
		}
	}
	for _, secret := range slices.Clone(secrets) {
		note(secret)
	}
	env, headers, _ := s.written()
	for i, values := range []map[string]Secret{s.Env, s.Headers} {
		for name, value := range values {
			text, literal := value.Reveal(), []map[string]Secret{env, headers}[i][name] == value
			if mask.Named(name, text) == text && (literal || mask.LooksLikePath(text)) {
				continue
			}
			note(text)
			if _, rest, ok := mask.AuthScheme(text); ok {
				note(rest)
			}
		}
	}
	if s.Auth != nil {
		note(s.Auth.ClientSecret.Reveal())
	}
	for i, shown := range mask.Args(s.Args) {
		for _, part := range redact.Hidden(s.Args[i], shown) {
			note(part)
		}
	}
	shownURL := mask.URL(s.asWritten(s.URL))
	if s.URL != "" && shownURL != s.URL {
		for _, part := range mask.URLSecrets(mask.CutURL(s.URL)) {
			note(part)
			note(mask.Unescape(part))
		}
	}
	// Longest first: one may be a part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return func(text string) string {
		if s.URL != "" {
			text = strings.ReplaceAll(text, s.URL, strings.ReplaceAll(shownURL, mask.Stars, with))
		}
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, with)
		}
		return redact.Known().Text(text)
	}
}

// MaskError returns the text of an error about s as it may be shown and kept, see
// [Server.Masker], as one line of at most 2 KiB. Of nil it is empty.
func (s *Server) MaskError(err error) string {
	if err == nil {
		return ""
	}
	text := s.Masker(shortestSecret, "")(err.Error())
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return plain.Text(strings.Join(strings.Fields(text), " "))
}
