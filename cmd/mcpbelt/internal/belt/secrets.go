package belt

import "github.com/mcpbelt/mcpbelt/host/config"

// shortestSecret is how short a value can be to be looked for.
const shortestSecret = 4

// Redact returns a function that replaces secrets in a text: those of the entries, line by line, and texts that have the
// form of a secret.
func Redact(servers ...*config.Server) func(text string) string {
	maskers := make([]func(string) string, len(servers))
	for i, s := range servers {
		maskers[i] = s.Masker(shortestSecret, "[redacted]")
	}
	return func(text string) string {
		for _, mask := range maskers {
			text = mask(text)
		}
		return text
	}
}
