package rest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
)

// minHidden is how long a secret has to be to be taken out of answers, in bytes.
// Shorter ones occur by chance.
const minHidden = 6

// hiddenMark is what stands in the place of a secret.
const hiddenMark = "[redacted]"

// forms returns the texts by which the hidden secrets could come back: as they are, in a
// string of JSON, in a URL or a form, in hex, and in base64, also inside of a longer text.
// Longer ones come first, for one may be a part of another.
func (k *keyring) forms() []string {
	var forms []string
	for _, secret := range k.hidden {
		inJSON := canonjson.AppendString(nil, secret)
		inHex := hex.EncodeToString([]byte(secret))
		forms = append(forms, secret,
			string(inJSON[1:len(inJSON)-1]),
			strings.ReplaceAll(secret, "/", `\/`),
			escape(secret),
			url.PathEscape(secret),
			strings.ReplaceAll(escape(secret), "%20", "+"),
			html.EscapeString(secret),
			inHex, strings.ToUpper(inHex),
		)
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			raw := encoding.WithPadding(base64.NoPadding)
			forms = append(forms, encoding.EncodeToString([]byte(secret)), raw.EncodeToString([]byte(secret)))
			for before := range 3 {
				forms = append(forms, inBase64(raw, secret, before))
			}
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(forms)
}

// inBase64 returns the characters that a secret has in the base64 of a longer text, with so
// many bytes before it, whatever these are and whatever follows.
func inBase64(encoding *base64.Encoding, secret string, before int) string {
	const bits = 6 // of a character
	text := encoding.EncodeToString(append(make([]byte, before), secret...))
	return text[(8*before+bits-1)/bits : 8*(before+len(secret))/bits]
}

// without takes the hidden secrets out of a text. Forms are those of the keyring. A text that has
// one with any of its characters escaped, as its writer chose, is returned without its escapes.
func without(text []byte, forms []string) []byte {
	text = replaced(text, forms)
	if !bytes.ContainsAny(text, "%&") {
		return text
	}
	for _, decoded := range []func(string) string{decode, html.UnescapeString} {
		plain := []byte(decoded(string(text)))
		if clean := replaced(plain, forms); !bytes.Equal(clean, plain) {
			text = clean
		}
	}
	return text
}

// replaced returns a text with a mark in the place of each form of a secret.
func replaced(text []byte, forms []string) []byte {
	for _, form := range forms {
		if bytes.Contains(text, []byte(form)) {
			text = bytes.ReplaceAll(text, []byte(form), []byte(hiddenMark))
		}
	}
	return text
}

// clean takes the secrets of a call out of its answer.
func (k *keyring) clean(a *guardhttp.Answer) {
	forms := k.forms()
	if len(forms) == 0 {
		return
	}
	a.Body = cleanStrings(without(a.Body, forms), forms, 0)
	for _, form := range forms {
		if a.Truncated {
			a.Body = withoutBeginning(a.Body, form)
		}
	}
	clean := make(http.Header, len(a.Header))
	for name, values := range a.Header {
		values = slices.Clone(values)
		for i := range values {
			values[i] = string(cleanStrings(without([]byte(values[i]), forms), forms, 0))
		}
		clean[name] = values
	}
	a.Header = clean
}

// maxEscaped is how deep JSON is looked for in strings of JSON.
const maxEscaped = 3

// cleanStrings takes secrets out of the strings of JSON that have escapes in them.
// Writers of JSON differ in what they escape: &, + and é may stay or become \u0026 and
// so on. An echo of a body has JSON in a string, and so all that once more.
func cleanStrings(body []byte, forms []string, depth int) []byte {
	if depth == maxEscaped || bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	return canonjson.MapStrings(body, func(quoted, _ []byte) (string, bool) {
		var text string
		if len(quoted) <= minHidden+1 || bytes.IndexByte(quoted, '\\') < 0 || json.Unmarshal(quoted, &text) != nil {
			return "", false
		}
		readable := string(cleanStrings(without([]byte(text), forms), forms, depth+1))
		return readable, readable != text
	})
}

// withoutBeginning cuts off the end of a body if it is the beginning of a secret.
func withoutBeginning(body []byte, secret string) []byte {
	for n := min(len(secret)-1, len(body)); n >= minHidden; n-- {
		if bytes.HasSuffix(body, []byte(secret[:n])) {
			return body[:len(body)-n]
		}
	}
	return body
}
