// Package mask hides the secrets in what a server is started or reached with: values of
// variables and headers, arguments, URLs and JSON. References such as ${VAR} stay.
package mask

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

const (
	// Stars stand for what a mask hides. There are always four, so that the length
	// of a secret is not told.
	Stars = "****"
	// maskShort is the length in characters below which nothing is shown. Of longer texts a
	// quarter is shown at most: the last maskTail, and then the first maskHead.
	maskShort          = 16
	maskHead, maskTail = 2, 4
	// redacted begins what stands for a secret that was known by its form.
	redacted = "[redacted: "
)

// String returns s as it may be shown: enough to tell two secrets apart, too little to
// use one. Of fewer than 16 characters it shows none, of more a quarter at most: the last 4, and
// then up to 2 of the first, or 3 if the third is a dash.
//
//	hunter2               ****
//	sk-0123456789abcd     ****abcd
//	Bearer sk-0123456789abcdef0123456789   Bearer sk-****6789
//	${GITHUB_TOKEN}       ${GITHUB_TOKEN}
//	https://me:pw@host/?key=secret&n=1   https://****:****@host/?key=****&n=1
//
// The number of stars says nothing. References, which are no secrets, stay; the
// default in ${VAR:-default} is masked. Of a URL the user, the password, the values
// in the query whose names or looks are those of secrets, and parts of the path that
// look like one are masked. For the arguments of a command use [Args].
func String(s string) string {
	if IsURL(s) {
		return URL(s)
	}
	if scheme, rest, ok := AuthScheme(s); ok {
		return scheme + maskParts(rest)
	}
	return maskParts(s)
}

// Named returns the value of a variable, a header or another key as it may be shown: as
// [String] does if the name or the form of the value is that of a secret, else as it is. The default of
// a reference is judged by the name of the reference.
//
//	API_KEY       hunter2               ****
//	LOG_LEVEL     debug                 debug
//	DATA_FILE     ${userHome}/data.json ${userHome}/data.json
//	ID            ${API_KEY:-hunter2}   ${API_KEY:-****}
func Named(name, value string) string {
	switch {
	case IsSecretName(name):
		return String(value)
	case IsURL(value):
		return URL(value)
	case strings.HasPrefix(value, "{") || strings.HasPrefix(value, "["):
		if shown, ok := JSON("", []byte(value)); ok {
			return string(shown)
		}
	}
	literal, shown := references(value)
	if hasSecretForm(literal) {
		return String(value)
	}
	return shown
}

// references returns s without its references, and with those of their defaults masked that
// are secrets by name or form.
func references(s string) (literal, shown string) {
	var l, b strings.Builder
	for i := 0; i < len(s); {
		length, masked := Reference(s[i:])
		if length == 0 {
			l.WriteByte(s[i])
			b.WriteByte(s[i])
			i++
			continue
		}
		text := s[i : i+length]
		i += length
		if name, fallback, ok := strings.Cut(strings.TrimSuffix(text, "}"), ":-"); ok && masked != text {
			masked = name + ":-" + Named(strings.TrimPrefix(strings.Trim(name, "${"), "env:"), fallback) + "}"
		}
		b.WriteString(masked)
	}
	return l.String(), b.String()
}

// maskText masks all of s.
func maskText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if s == "" {
		return ""
	}
	head, tail, ok := strings.Cut(s, Stars)
	if ok && utf8.RuneCountInString(head) <= maskHead+1 && utf8.RuneCountInString(tail) == maskTail {
		return s // it is a mask: what was masked may be shown again
	}
	chars := []rune(s)
	if len(chars) < maskShort {
		return Stars
	}
	first := maskHead
	if chars[first] == '-' {
		first++
	}
	first = min(first, len(chars)/4-maskTail)
	return string(chars[:first]) + Stars + string(chars[len(chars)-maskTail:])
}

// maskParts masks s, but for the references in it.
func maskParts(s string) string {
	var b strings.Builder
	literal := 0 // where the text before the next reference begins
	for i := 0; i < len(s); {
		length, shown := Reference(s[i:])
		if length == 0 {
			i++
			continue
		}
		b.WriteString(maskBetween(s[literal:i]))
		b.WriteString(shown)
		i += length
		literal = i
	}
	if literal == 0 {
		return maskText(s)
	}
	b.WriteString(maskBetween(s[literal:]))
	return b.String()
}

// maskBetween masks what stands beside references. A text without letters and digits,
// such as a colon, is no secret.
func maskBetween(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	})
	if plain && len(s) <= 3 {
		return s
	}
	return maskText(s)
}

// Reference returns the length of the reference at the start of s and how it is
// shown. The length is 0 if there is none. After a bare dollar only capitals are
// taken for a name: a password may begin with one.
func Reference(s string) (length int, shown string) {
	if strings.HasPrefix(s, "{env:") || strings.HasPrefix(s, "{file:") { // of OpenCode
		length, shown = Reference("$" + s)
		return max(length-1, 0), strings.TrimPrefix(shown, "$")
	}
	if len(s) < 2 || s[0] != '$' {
		return 0, ""
	}
	if s[1] != '{' {
		length = 1 + dialect.NameLength(s[1:])
		if name := s[1:length]; name == "" || length > dialect.MaxVariable || name != strings.ToUpper(name) {
			return 0, ""
		}
		return length, s[:length]
	}
	end := strings.IndexByte(s[:min(len(s), dialect.MaxPath)], '}')
	if end < 0 {
		return 0, ""
	}
	inner := s[2:end]
	if kind, rest, ok := strings.Cut(inner, ":"); ok && (kind == "file" || kind == "input" || kind == "keyring") {
		if rest == "" || strings.ContainsAny(rest, "\r\n\x00") {
			return 0, ""
		}
		return end + 1, s[:end+1]
	}
	name := strings.TrimPrefix(inner, "env:")
	n := dialect.NameLength(name)
	if n == 0 || n > dialect.MaxVariable {
		return 0, ""
	}
	if n == len(name) {
		return end + 1, s[:end+1]
	}
	fallback, ok := strings.CutPrefix(name[n:], ":-")
	if !ok {
		return 0, ""
	}
	return end + 1, s[:end-len(fallback)] + maskText(fallback) + "}"
}

// AuthScheme splits the value of a header into the scheme, with the blanks behind it,
// and the credentials.
func AuthScheme(s string) (scheme, rest string, ok bool) {
	word, rest, ok := strings.Cut(s, " ")
	if !ok {
		return "", "", false
	}
	switch strings.ToLower(word) {
	case "bearer", "basic", "token", "apikey", "api-key", "dpop", "digest", "negotiate", "key":
		credentials := strings.TrimLeft(rest, " ")
		return s[:len(s)-len(credentials)], credentials, true
	}
	return "", "", false
}

// IsMasked reports whether a part of s is what this file puts in the place of a
// secret.
func IsMasked(s string) bool {
	return strings.Contains(s, Stars) || strings.Contains(s, redacted)
}
