package transport_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/transport"
)

// A wrong URL is refused with what to write instead, and without quoting it: it
// may hold a secret.
func TestURLRefused(t *testing.T) {
	for url, want := range map[string]string{
		"":                     "must start with https:// or http://",
		"host:1/mcp":           "must start with https:// or http://",
		"127.0.0.1:1/mcp":      "must start with https:// or http://",
		"ftp://host/mcp":       "must start with https:// or http://",
		"https:/mcp":           "has no host: write it as https://host/path",
		"https://:443/mcp":     "has no host: write it as https://host/path",
		"http://host:no/mcp":   "is not a URL: write it as https://host/path",
		"HTTPS://host:no/mcp":  "is not a URL: write it as https://host/path",
		"https://me:pw@h/path": "holds a user or password: put them in an Authorization header",
	} {
		_, err := (&transport.HTTP{URL: url}).Connect(t.Context())
		if want := "transport: HTTP.URL: " + want; err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", url, err, want)
		}
	}
}
