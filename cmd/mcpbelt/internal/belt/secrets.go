package belt

import (
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// shortestSecret is how short a value can be to be looked for.
const shortestSecret = 4

// Redact returns a function that replaces secrets in a text: those of the entries, line by line, and texts that have the
// form of a secret.
func Redact(servers ...*config.Server) func(text string) string {
	var secrets []string
	note := func(text string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= shortestSecret {
				secrets = append(secrets, line)
			}
		}
	}
	for _, s := range servers {
		for _, secret := range s.Secrets() {
			note(secret)
		}
		for _, values := range []map[string]config.Secret{s.Env, s.Headers} {
			for name, value := range values {
				if text := value.Reveal(); mask.Named(name, text) != text {
					scheme, rest, _ := mask.AuthScheme(text)
					note(strings.TrimPrefix(text, scheme))
					note(rest)
				}
			}
		}
		for i, shown := range mask.Args(s.Args) {
			for _, part := range redact.Hidden(s.Args[i], shown) {
				note(part)
			}
		}
		if mask.IsURL(s.URL) {
			for _, part := range mask.URLSecrets(mask.CutURL(s.URL)) {
				note(part)
				note(mask.Unescape(part))
			}
		}
	}
	// Longest first: one may be a part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	forms := redact.Known()
	return func(text string) string {
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
		return forms.Text(text)
	}
}
