package redact

import (
	"encoding/base64"
	"strings"
	"sync"
	"unicode/utf8"
)

// A rule finds the secrets of one form. Match is asked at each place where the
// anchor stands, and returns the secret there, or an empty one. It looks at a
// bounded number of bytes if it finds none, so that a text of anchors alone is
// read in a time that grows with its length and no faster.
type rule struct {
	kind   string
	anchor string
	match  func(text string, at int) (from, to int)
}

const awsSecret = "AWS secret key"

// A class is a set of bytes.
type class func(c byte) bool

func alnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
func word(c byte) bool   { return alnum(c) || c == '_' || c == '-' }
func base(c byte) bool   { return alnum(c) || c == '+' || c == '/' || c == '=' }
func bearer(c byte) bool { return word(c) || base(c) || c == '.' || c == '~' }

// knownForms returns the rules: those of the table, and of forms that take more to
// find. A test reads the table, too.
var knownForms = sync.OnceValue(func() (rules []rule) {
	rules = tableRules(table)
	rules = append(rules,
		rule{"JWT", "eyJ", alone(jwt)},
		rule{"private key", "-----BEGIN ", privateKey},
		rule{"URL credentials", "://", userinfo(len("://"))},
		rule{"URL credentials", `:\/\/`, userinfo(len(`:\/\/`))},
	)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER "} {
		rules = append(rules, rule{"bearer token", scheme, alone(bearerToken)})
	}
	for _, scheme := range []string{"Basic ", "basic "} {
		rules = append(rules, rule{"basic credentials", scheme, alone(basicCredentials)})
	}
	for _, name := range []string{"ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"} {
		rules = append(rules, rule{awsSecret, name, assigned(len(name))})
	}
	return rules
})

// run returns the end of the bytes of a class that begin at a place, and stops
// behind most of them.
func run(text string, from, most int, of class) int {
	to := from
	for to < len(text) && to-from < most && of(text[to]) {
		to++
	}
	return to
}

// alone lets only those matches pass that do not begin in the middle of a word.
func alone(match func(string, int) (int, int)) func(string, int) (int, int) {
	return func(text string, at int) (int, int) {
		if !begins(text, at) {
			return 0, 0
		}
		return match(text, at)
	}
}

// begins reports whether a word may begin at a place. In JSON and in addresses
// the letter before may be part of an escape.
func begins(text string, at int) bool {
	if at == 0 || !word(text[at-1]) {
		return true
	}
	switch {
	case at >= 2 && text[at-2] == '\\' && strings.IndexByte("nrtbf", text[at-1]) >= 0,
		at >= 3 && text[at-3] == '%',
		at >= 6 && text[at-6:at-4] == `\u`:
		return true
	}
	return coloured(text[max(0, at-16):at])
}

// coloured reports whether text ends with what sets a colour at a terminal.
func coloured(text string) bool {
	params, ok := strings.CutSuffix(text, "m")
	return ok && strings.HasSuffix(strings.TrimRight(params, "0123456789;"), "\x1b[")
}

// jwt matches three parts of base64, of which the first two are objects.
func jwt(text string, at int) (int, int) {
	const most = 16 << 10
	head := run(text, at, most, word)
	if head-at < 10 || !strings.HasPrefix(text[head:], ".eyJ") {
		return 0, 0
	}
	body := run(text, head+1, len(text), word)
	if body-head < 8 || body == len(text) || text[body] != '.' {
		return 0, 0
	}
	return at, run(text, body+1, len(text), word)
}

// privateKey matches a key in PEM, also if its end was cut off.
func privateKey(text string, at int) (int, int) {
	const (
		dashes = "-----"
		most   = 64 << 10
	)
	label := at + len("-----BEGIN ")
	size := strings.Index(text[label:min(len(text), label+64)], dashes)
	if size < 0 || !strings.Contains(text[label:label+size], "PRIVATE KEY") {
		return 0, 0
	}
	body := label + size + len(dashes)
	next := strings.Index(text[body:min(len(text), body+most)], dashes)
	if next < 0 || !strings.HasPrefix(text[body+next:], "-----END ") {
		return at, keyLines(text, body)
	}
	end := body + next + len("-----END ")
	if size := strings.Index(text[end:min(len(text), end+64)], dashes); size >= 0 {
		return at, end + size + len(dashes)
	}
	return at, end
}

// keyLines returns the end of the lines that may belong to a key in PEM: headers
// and base64. JSON may have put \n in place of the line feeds.
func keyLines(text string, from int) int {
	for from < len(text) {
		to := run(text, from, len(text), keyByte)
		switch {
		case to == len(text):
			return to
		case text[to] == '\n' || text[to] == '\r':
			from = to + 1
		case text[to] == ':' || text[to] == '-':
			size := strings.IndexByte(text[to:min(len(text), to+128)], '\n')
			if size < 0 {
				return to
			}
			from = to + size + 1
		default:
			return to
		}
	}
	return from
}

func keyByte(c byte) bool { return base(c) || c == '\\' }

// userinfo matches the user and the password in an address.
func userinfo(anchor int) func(string, int) (int, int) {
	return func(text string, at int) (int, int) {
		if at == 0 || !alnum(text[at-1]) {
			return 0, 0
		}
		const most = 1 << 10
		from := at + anchor
		to, colon := -1, -1
		for i := from; i < len(text) && i-from < most && !endsAuthority(text[i]); i++ {
			switch text[i] {
			case '@':
				to = i
			case ':':
				if colon < 0 {
					colon = i
				}
			}
		}
		if colon < 0 || colon+1 >= to {
			return 0, 0
		}
		return from, to
	}
}

func endsAuthority(c byte) bool {
	return c <= ' ' || strings.IndexByte("/?#\"'<>`\\", c) >= 0
}

func bearerToken(text string, at int) (int, int) {
	const least = 16
	from := at + len("Bearer ")
	to := run(text, from, len(text), bearer)
	for to > from && text[to-1] == '.' {
		to--
	}
	if to-from < least || !strings.ContainsAny(text[from:to], "0123456789") {
		return 0, 0
	}
	return from, to
}

// basicCredentials matches what is a user and a password if it is decoded.
func basicCredentials(text string, at int) (int, int) {
	const most = 2 << 10
	from := at + len("Basic ")
	to := run(text, from, most, base)
	if to-from < 8 {
		return 0, 0
	}
	user, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text[from:to], "="))
	if err != nil || !utf8.Valid(user) || !strings.Contains(string(user), ":") {
		return 0, 0
	}
	return from, to
}

// assigned matches a secret key of AWS behind its name.
func assigned(name int) func(string, int) (int, int) {
	return func(text string, at int) (int, int) {
		const gap = 8 // such as \": \"
		from := run(text, at+name, gap, func(c byte) bool { return strings.IndexByte(" \t\\\"':=", c) >= 0 })
		if from == at+name || !isAWSSecret(text, from) {
			return 0, 0
		}
		return from, from + awsSecretLength
	}
}

const awsSecretLength = 40

func isAWSSecret(text string, from int) bool {
	return run(text, from, awsSecretLength+1, base)-from == awsSecretLength
}

// secretAfter reports whether text is a secret access key of AWS: 40 characters that
// say nothing by themselves, as the value of a key that is called so.
func secretAfter(key, text string) bool {
	if key == "" || len(text) != awsSecretLength || !isAWSSecret(text, 0) {
		return false
	}
	key = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
	return strings.HasSuffix(key, "secretaccesskey")
}
