package transport

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

const (
	maxChallenge = 4 << 10 // bytes of a field that are looked at
	minSent      = 6       // bytes of what was sent, to be taken for a secret
)

// challengeOf returns the WWW-Authenticate field of a response as it may be shown, on one
// line and short: it is the server's text, which may repeat what it was sent.
func challengeOf(resp *http.Response) string {
	text := resp.Header.Get("WWW-Authenticate")
	for _, secret := range sentSecrets(resp.Request) {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	if len(text) > maxChallenge {
		text = strings.ToValidUTF8(text[:maxChallenge], "")
	}
	return plain.Line(redact.Known().Text(text))
}

// sentSecrets returns what of a request may be a secret, longest first: values of the
// headers and of the query.
func sentSecrets(req *http.Request) []string {
	var sent []string
	for name, values := range req.Header {
		if strings.HasPrefix(name, "Mcp-") || slices.Contains([]string{"Accept", "Accept-Encoding", "Content-Type", "User-Agent"}, name) {
			continue
		}
		for _, value := range values {
			_, credentials, _ := strings.Cut(value, " ") // as in "Bearer token"
			sent = append(sent, value, credentials)
		}
	}
	for _, values := range req.URL.Query() {
		sent = append(sent, values...)
	}
	sent = slices.DeleteFunc(sent, func(text string) bool { return len(text) < minSent })
	slices.SortFunc(sent, func(a, b string) int { return len(b) - len(a) })
	return sent
}
