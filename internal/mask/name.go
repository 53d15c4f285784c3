package mask

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// IsSecretName reports whether what bears the name is likely to be a secret: an
// environment variable, a flag, a key of an object, a parameter of a URL.
func IsSecretName(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "file", "path", "dir", "url", "uri", "endpoint", "issuer", "type", "hint", "use", "name", "header":
		return false // it says where the secret is
	}
	whole := strings.Join(words, "")
	parts := []string{"token", "secret", "passw", "apikey", "credential", "accesskey", "privatekey", "authorization", "assertion"}
	if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(whole, part) }) {
		return true
	}
	return slices.ContainsFunc(words, func(word string) bool {
		switch word {
		case "key", "keys", "pass", "passphrase", "pwd", "pw", "auth", "cred", "creds", "sig", "signature",
			"code", "session", "sessionid", "cookie", "jwt", "bearer", "pat", "sas", "dsn", "otp", "totp", "pin", "mnemonic":
			return true
		}
		return false
	})
}

// capital matches where a new word begins in apiKey.
var capital = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

// nameWords returns the words of a name such as API_KEY, api-key or apiKey, in small
// letters.
func nameWords(name string) []string {
	const longest = 256
	parted := capital.ReplaceAllString(name[:min(len(name), longest)], "$1 $2")
	return strings.FieldsFunc(strings.ToLower(parted), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// secretLooking reports whether a part of a URL has the form of a secret, or could be nothing else:
// a long run of letters and digits, a UUID, or 8 letters and digits that take turns 3 times or more.
func secretLooking(s string) bool {
	return s != "" && (LooksRandom(s) || takesTurns(s) || redact.Known().Text(s) != s)
}

// hasSecretForm reports whether a text holds what has the form of a secret, such as a word of
// 12 letters and digits, 4 of these at least, or is called one in it: as a login, after the name of
// a secret and = or :, or behind the flag of one.
func hasSecretForm(s string) bool {
	if _, _, ok := AuthScheme(s); ok || secretLooking(s) || IsMasked(s) {
		return true
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r < 0x80 && !isAlnum(byte(r)) }) {
		digits := len(word) - len(strings.Map(withoutDigit, word))
		if takesTurns(word) || len(word) >= 12 && digits >= 4 && digits < len(word) {
			return true
		}
	}
	flag := false // the field before is the flag of a secret
	for _, field := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n;,&\"'", r) }) {
		if flag || isBase64(field) {
			return true
		}
		name := field[:len(field)-len(strings.TrimLeft(field, "-"))+strings.IndexAny(strings.TrimLeft(field, "-")+"=", "=:")]
		flag = IsSecretName(name) && !strings.ContainsAny(name, "/\\.")
		if flag && len(name) < len(field)-1 {
			return true
		}
		flag = flag && (strings.HasPrefix(field, "-") || len(name) < len(field))
	}
	return false
}

func withoutDigit(r rune) rune {
	if '0' <= r && r <= '9' {
		return -1
	}
	return r
}

// isBase64 reports whether a word without seams has 24 characters or more, capitals, small letters and digits.
func isBase64(s string) bool {
	const capitals, small, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
	return len(s) >= 24 && !LooksLikePath(s) && strings.Trim(s, capitals+small+digits+"+/=_-") == "" &&
		strings.ContainsAny(s, capitals) && strings.ContainsAny(s, small) && strings.ContainsAny(s, digits)
}

var (
	alnums    = regexp.MustCompile(`^[0-9A-Za-z]{8,}$`)
	turns     = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)
	longWords = regexp.MustCompile(`[0-9A-Za-z]{20,}`)
	uuid      = regexp.MustCompile(`^[0-9A-Za-z]{8}([^0-9A-Za-z][0-9A-Za-z]{4}){3}[^0-9A-Za-z][0-9A-Za-z]{12}$`)
)

func takesTurns(s string) bool { return alnums.MatchString(s) && len(turns.FindAllString(s, 5)) > 3 }

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// LooksRandom reports whether s has 20 letters and digits in a row, of both kinds, or
// the form of a UUID. Hashes that name a content, such as sha256:…, have a name.
func LooksRandom(s string) bool {
	return !strings.Contains(s, "sha256:") && (uuid.MatchString(s) || slices.ContainsFunc(longWords.FindAllString(s, -1), func(word string) bool {
		return len(turns.FindAllString(word, 2)) > 1
	}))
}
