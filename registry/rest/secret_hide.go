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
	"strconv"
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
// Longer ones come first, for one may be a part of another. See decodings for texts of
// which any character may be escaped.
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

// without takes the hidden secrets out of a text. Forms are those of the keyring.
func (k *keyring) without(text []byte, forms []string) []byte {
	for _, form := range forms {
		if bytes.Contains(text, []byte(form)) {
			text = bytes.ReplaceAll(text, []byte(form), []byte(hiddenMark))
		}
	}
	return htmlEncoded().without(percentEncoded().without(text, k.hidden), k.hidden)
}

// clean takes the secrets of a call out of its answer.
func (k *keyring) clean(a *guardhttp.Answer) {
	forms := k.forms()
	if len(forms) == 0 {
		return
	}
	a.Body = k.without(a.Body, forms)
	a.Body = k.cleanStrings(a.Body, forms, 0)
	for _, form := range forms {
		if a.Truncated {
			a.Body = withoutBeginning(a.Body, form)
		}
	}
	clean := make(http.Header, len(a.Header))
	for name, values := range a.Header {
		values = slices.Clone(values)
		for i := range values {
			values[i] = string(k.cleanStrings(k.without([]byte(values[i]), forms), forms, 0))
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
func (k *keyring) cleanStrings(body []byte, forms []string, depth int) []byte {
	if depth == maxEscaped || bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	var clean []byte // nil as long as nothing is found
	done := 0        // up to where body is in it
	for i := 0; i < len(body); i++ {
		if body[i] != '"' {
			continue
		}
		begin, escaped := i, false
		for i++; i < len(body) && body[i] != '"'; i++ {
			if body[i] == '\\' {
				escaped = true
				i++
			}
		}
		var text string
		if !escaped || i >= len(body) || i-begin <= minHidden || json.Unmarshal(body[begin:i+1], &text) != nil {
			continue
		}
		if without := string(k.cleanStrings(k.without([]byte(text), forms), forms, depth+1)); without != text {
			clean = canonjson.AppendString(append(clean, body[done:begin]...), without)
			done = i + 1
		}
	}
	if done == 0 {
		return body
	}
	return append(clean, body[done:]...)
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

// A decoding reads texts in which any character may be escaped, as the writer of the text
// chose. Its escape returns what the escape at the start of a text stands for, and its length; 0
// if there is none.
type decoding struct {
	mark   byte // begins an escape
	escape func(text []byte) (value []byte, length int)
}

func percentEncoded() decoding { return decoding{'%', percentEscape} }
func htmlEncoded() decoding    { return decoding{'&', htmlEscape} }

// percentEscape reads %2F or %2f.
func percentEscape(text []byte) ([]byte, int) {
	if len(text) < 3 {
		return nil, 0
	}
	c, err := strconv.ParseUint(string(text[1:3]), 16, 8)
	if err != nil {
		return nil, 0
	}
	return []byte{byte(c)}, 3
}

// htmlEscape reads &amp;, &#38; or &#x26;.
func htmlEscape(text []byte) ([]byte, int) {
	const longest = 32 // bytes of a name
	end := bytes.IndexByte(text[:min(len(text), longest)], ';')
	if end < 0 {
		return nil, 0
	}
	escape := string(text[:end+1])
	value := html.UnescapeString(escape)
	if value == escape {
		return nil, 0
	}
	return []byte(value), end + 1
}

// read returns a text with its escapes replaced; nil if there are none. With places it
// returns where in the text each of its bytes begins, too, and where the text ends.
func (d decoding) read(text []byte, places bool) (plain []byte, at []int) {
	escaped := false
	for i := 0; i < len(text); {
		value, length := text[i:i+1], 1
		if text[i] == d.mark {
			if v, n := d.escape(text[i:]); n > 0 {
				value, length, escaped = v, n, true
			}
		}
		plain = append(plain, value...)
		for range value {
			if places {
				at = append(at, i)
			}
		}
		i += length
	}
	if !escaped {
		return nil, nil
	}
	return plain, append(at, len(text))
}

// without takes secrets out of a text in which characters of them are escaped. A text that
// has none is returned as it is.
func (d decoding) without(text []byte, secrets []string) []byte {
	if bytes.IndexByte(text, d.mark) < 0 {
		return text
	}
	plain, _ := d.read(text, false)
	if !slices.ContainsFunc(secrets, func(s string) bool { return bytes.Contains(plain, []byte(s)) }) {
		return text
	}
	plain, at := d.read(text, true)
	var clean []byte
	done := 0 // up to where text is in it
	for i := 0; i < len(plain); {
		length := 0
		for _, secret := range secrets {
			if len(secret) > length && bytes.HasPrefix(plain[i:], []byte(secret)) {
				length = len(secret)
			}
		}
		if length == 0 {
			i++
			continue
		}
		clean = append(append(clean, text[done:at[i]]...), hiddenMark...)
		i += length
		done = at[i]
	}
	return append(clean, text[done:]...)
}
