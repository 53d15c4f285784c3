package auth

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What an authorization server says of a refusal is told, and what could do harm is not.
func TestRefusalsSayWhy(t *testing.T) {
	const secret, code = "S3CR/ET+of=client", "C0DE/of-the.user"
	basic := base64.StdEncoding.EncodeToString([]byte("id:" + url.QueryEscape(secret)))
	for said, want := range map[string]string{
		"AADSTS7000215: Invalid client secret provided.": `: "AADSTS7000215: Invalid client secret provided."`,
		`a "quoted" text`:                   `: "a \"quoted\" text"`,
		"":                                  "",
		"two\nlines \x1b[2J and \u202eback": `: "two lines <U+001B>[2J and <U+202E>back"`,
		strings.Repeat("ä", 4000):           `: "` + strings.Repeat("ä", 148) + `…"`,
		"the secret " + secret + " is bad":  "",
		"code " + url.QueryEscape(code):     "",
		"you sent Basic " + basic:           "",
	} {
		for _, member := range []string{"error_description", "message"} {
			as := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := json.Marshal(members{"error": "invalid_client", member: said})
				sends(401, string(body))(w, r)
			})
			c := &Client{Issuer: as.url, ID: "id", Secret: secret, AuthMethod: authBasic}
			f := flow(t, Config{Client: c})
			p := begin(t, f, as.authority(), c)
			_, err := f.Complete(t.Context(), p, callback(p, "code", code))
			host := strings.TrimPrefix(as.url, "http://")
			assert.Equal(t, err.Error(), `auth: server "files": token refused by `+host+": invalid_client"+want+" (HTTP status 401)")
		}
		as := newPeer(t, status(500))
		f := flow(t, Config{})
		p := begin(t, f, as.authority(), as.public())
		_, err := f.Complete(t.Context(), p, callback(p, "error", "access_denied", "error_description", said))
		if !strings.Contains(said, "S3CR") && !strings.Contains(said, "C0DE") && !strings.Contains(said, "Basic") {
			assert.Contains(t, err.Error(), ": access_denied"+want)
		}
		_, err = f.Complete(t.Context(), p, callback(p, "error", "access_denied", "error_description", "not "+p.State.Reveal()))
		assert.Lacks(t, err.Error(), p.State.Reveal())
	}
}
