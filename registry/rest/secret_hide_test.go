package rest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// TestSecretsInEachForm: an answer shows no secret in the forms in which servers and their
// frameworks repeat what they were sent.
func TestSecretsInEachForm(t *testing.T) {
	const secret = `s3cr3t/"v=l<e>&'x+ y~ä`
	percent := func(format string, all bool) string {
		var b strings.Builder
		for i := range len(secret) {
			if c := secret[i]; all || c < '0' || c > 'z' {
				fmt.Fprintf(&b, format, c)
			} else {
				b.WriteByte(c)
			}
		}
		return b.String()
	}
	entities := func(format string) string {
		var b strings.Builder
		for _, r := range secret {
			fmt.Fprintf(&b, format, r)
		}
		return b.String()
	}
	inURL, _ := json.Marshal(map[string]string{"at": "https://h.example/?q=" + percent("%%%02x", false)})
	inHTML, _ := json.Marshal("<p>" + html.EscapeString(secret) + "</p>")
	for name, text := range map[string]string{
		"as it is":                    secret,
		"HTML":                        html.EscapeString(secret),
		"HTML with names":             strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;", "ä", "&auml;").Replace(secret),
		"HTML with slashes":           strings.ReplaceAll(html.EscapeString(secret), "/", "&#x2F;"),
		"HTML with numbers":           entities("&#%d;"),
		"HTML with hex numbers":       entities("&#x%X;"),
		"HTML in JSON":                string(inHTML),
		"percent":                     url.QueryEscape(secret),
		"percent in a path":           url.PathEscape(secret),
		"percent in small letters":    percent("%%%02x", false),
		"percent of all":              percent("%%%02X", true),
		"percent in JSON":             string(inURL),
		"hex":                         hex.EncodeToString([]byte(secret)),
		"HEX":                         strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64":                      base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 without padding":      base64.RawStdEncoding.EncodeToString([]byte(secret)),
		"base64 for URLs":             base64.URLEncoding.EncodeToString([]byte(secret)),
		"base64 behind one":           base64.StdEncoding.EncodeToString([]byte("u" + secret)),
		"base64 behind two":           base64.StdEncoding.EncodeToString([]byte("u:" + secret)),
		"base64 in the middle":        base64.StdEncoding.EncodeToString([]byte("user:" + secret + " and more")),
		"base64 for URLs, not at 0":   base64.RawURLEncoding.EncodeToString([]byte("user:" + secret + "\xff\xfe")),
		"base64 of a header":          base64.StdEncoding.EncodeToString([]byte("Authorization: Bearer " + secret + "\r\n")),
		"percent that is none of it":  "100% & " + secret,
		"HTML that is none of it":     "a & b; &nothing; " + secret,
		"twice, once in another form": secret + " " + percent("%%%02x", true),
	} {
		k := &keyring{hidden: []string{secret}}
		a := &guardhttp.Answer{Body: []byte("before " + text + " after"), Header: http.Header{"X-Echo": {text}}}
		k.clean(a)
		for place, got := range map[string]string{"body": string(a.Body), "header": a.Header.Get("X-Echo")} {
			assert.Contains(t, got, hiddenMark, "%s %s", name, place)
			assert.Lacks(t, decodedOnce(got), secret[2:len(secret)-3], "%s, %s", name, place)
		}
		body := string(a.Body)
		assert.True(t, strings.HasPrefix(body, "before ") && strings.HasSuffix(body, " after"), "%s: %s has what is around it", name, body)
	}
}

// decodedOnce undoes what escapes single characters.
func decodedOnce(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return html.UnescapeString(text)
}

// TestWhatIsNoSecretStays: escapes without a secret in them are left alone.
func TestWhatIsNoSecretStays(t *testing.T) {
	for _, text := range []string{"", "%", "%4", "%zz", "100%25", "&", "&;", "&amp;&lt;", "&#;", "&#x110000;", strings.Repeat("&", 100), strings.Repeat("%41", 100)} {
		k := &keyring{hidden: []string{"s3cr3t/value"}}
		a := &guardhttp.Answer{Body: []byte(text)}
		k.clean(a)
		assert.Equal(t, string(a.Body), text)
	}
}
