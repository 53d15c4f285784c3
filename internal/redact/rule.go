package redact

import (
	"encoding/base64"
	"regexp"
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
		rule{"JWT", "eyJ", alone(expression("eyJ", jwtTail))},
		rule{"private key", "-----BEGIN ", expression("-----BEGIN ", keyTail)},
		rule{"URL credentials", "://", behindScheme(expression("://", userTail))},
		rule{"URL credentials", `:\/\/`, behindScheme(expression(`:\/\/`, userTail))},
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

// expression returns what matches an expression that begins behind the anchor. Its group is the secret; without
// one it begins with the anchor.
func expression(anchor, behind string) func(text string, at int) (from, to int) {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + regexp.QuoteMeta(anchor) + behind) })
	return func(text string, at int) (int, int) {
		found := re().FindStringSubmatchIndex(text[at:])
		if found == nil {
			return 0, 0
		}
		return at + found[len(found)-2], at + found[len(found)-1]
	}
}

const (
	// jwtTail is two parts more of base64, of which the first is an object, too.
	jwtTail = `[\w-]{7,}\.eyJ[\w-]{4,}\.[\w-]*`
	// keyTail is the rest of a key in PEM; if its end was cut off, the lines that may belong to it: headers
	// and base64. JSON may have put \n in place of the line feeds.
	keyTail = `[^\n]{0,60}?PRIVATE KEY[^\n]{0,60}?-----(?:(?:[^-]|-[^-])*-----END [^-]{0,60}-----|` +
		`(?:[0-9A-Za-z+/=\\\r\n]|:[^\n]{0,127}\n|-[^-\n][^\n]{0,126}\n)*)`
	// userTail is the user and the password in an address.
	userTail = "([^\x00- /?#\"'<>`\\\\:]*:[^\x00- /?#\"'<>`\\\\]+)@"
)

// behindScheme lets only those matches pass that stand behind the scheme of an address.
func behindScheme(match func(string, int) (int, int)) func(string, int) (int, int) {
	const most = 1 << 10
	return func(text string, at int) (int, int) {
		if at == 0 || !alnum(text[at-1]) {
			return 0, 0
		}
		return match(text[:min(len(text), at+most)], at)
	}
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
