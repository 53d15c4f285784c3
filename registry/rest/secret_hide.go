package rest

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
)

// minHidden is how long a secret has to be to be taken out of answers, in bytes.
// Shorter ones occur by chance.
const minHidden = 6

// hiddenMark is what stands in the place of a secret.
const hiddenMark = "[redacted]"

// forms returns the texts by which the hidden secrets could come back: as they
// are, in a string of JSON, in a URL or a form, and in base64. Longer ones come first,
// for one may be a part of another.
func (k *keyring) forms() []string {
	var forms []string
	for _, secret := range k.hidden {
		inJSON := canonjson.AppendString(nil, secret)
		forms = append(forms, secret,
			string(inJSON[1:len(inJSON)-1]),
			strings.ReplaceAll(secret, "/", `\/`),
			escape(secret),
			url.PathEscape(secret),
			strings.ReplaceAll(escape(secret), "%20", "+"),
			base64.StdEncoding.EncodeToString([]byte(secret)),
			base64.RawURLEncoding.EncodeToString([]byte(secret)),
		)
	}
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(forms)
}

// clean takes the secrets of a call out of its answer.
func (k *keyring) clean(a *answer) {
	forms := k.forms()
	if len(forms) == 0 {
		return
	}
	for _, form := range forms {
		if bytes.Contains(a.body, []byte(form)) {
			a.body = bytes.ReplaceAll(a.body, []byte(form), []byte(hiddenMark))
		}
		if a.truncated {
			a.body = withoutBeginning(a.body, form)
		}
	}
	clean := make(http.Header, len(a.header))
	for name, values := range a.header {
		values = slices.Clone(values)
		for i := range values {
			for _, form := range forms {
				values[i] = strings.ReplaceAll(values[i], form, hiddenMark)
			}
		}
		clean[name] = values
	}
	a.header = clean
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
