package cassette

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// redacted stands in the place of a secret.
const redacted = "[redacted]"

// credential finds what looks like a credential wherever it stands in a text, beside what is known by its form.
// Its groups are what stays of it: all before the secret, but for the fourth.
var credential = regexp.MustCompile(strings.Join([]string{
	`(?i:\b(bearer\s+)[A-Za-z0-9._~+/=-]{6,})`,
	`(?i:\b((?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)\s*[:=]\s*)[^\s][^\r\n]*)`,
	`(?i:\b([a-z][a-z0-9+.-]*://)[^/?#\s"']*(@))`,
	`(?i:((?:^|[^a-z0-9])(?:[a-z0-9]+[_-])*(?:key|apikey|token|password|passwd|secret|signature|sig)=)[^&#\s"']+)`,
	`\[redacted: [^\]]+\]`, // what was known by its form
}, "|"))

// withoutCredential is what takes the place of a credential.
const withoutCredential = "${1}${2}${3}${5}" + redacted + "${4}"

// localPort finds the port of an address on this machine, which is another one
// in every recording.
var localPort = regexp.MustCompile(`\b(127\.0\.0\.\d+|localhost|\[::1\]):\d+`)

// maxReplacing bounds how often a text is searched again, since what is left of
// it may read as a credential where it did not before.
const maxReplacing = 8

// A redactor replaces secrets in JSON.
type redactor struct {
	rule func(key, value string) string
}

// nestedTexts is how many texts that are JSON may stand in each other.
const nestedTexts = 3

// A scope says where in a message a value stands.
type scope struct {
	key    string // of the innermost member
	secret bool   // a key around the value looks secret
	schema bool   // inside a JSON Schema, where keys are names of properties
	texts  int    // that are JSON around the value
}

// json returns value, which must be valid, without white space and secrets.
func (r *redactor) json(value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	p := pass{rule: r.rule}
	return p.append(make([]byte, 0, len(value)), bytes.TrimSpace(value), scope{})
}

// A pass goes over one value.
type pass struct {
	rule    func(key, value string) string
	changed bool // something was replaced
}

// append appends value to out, without white space and secrets.
func (p *pass) append(out, value []byte, at scope) []byte {
	switch value[0] {
	case '{':
		return p.object(out, value, at)
	case '[':
		return p.array(out, value, at)
	case 't', 'f', 'n':
	case '"':
		text, _ := jsonscan.String(value)
		if clean := p.string(text, at); clean != text {
			p.changed = true
			return canonjson.AppendString(out, clean)
		}
	default:
		if at.hides() && !counts(at.key) {
			p.changed = true
			return canonjson.AppendString(out, redacted)
		}
	}
	return append(out, value...)
}

func (p *pass) object(out, value []byte, at scope) []byte {
	out = append(out, '{')
	first := len(out)
	for key, member := range jsonscan.Fields(value) {
		if len(out) > first {
			out = append(out, ',')
		}
		clean := p.plain(string(key), scope{texts: nestedTexts})
		p.changed = p.changed || clean != string(key)
		out = append(canonjson.AppendString(out, clean), ':')
		out = p.append(out, member, at.within(string(key), member[0]))
	}
	return append(out, '}')
}

func (p *pass) array(out, value []byte, at scope) []byte {
	out = append(out, '[')
	first := len(out)
	for element := range jsonscan.Elements(value) {
		if len(element) == 0 {
			break // of an empty array
		}
		if len(out) > first {
			out = append(out, ',')
		}
		out = p.append(out, element, at)
	}
	return append(out, ']')
}

func (p *pass) string(text string, at scope) string {
	if text != "" && at.hides() {
		return redacted
	}
	return p.plain(text, at)
}

// plain redacts a text: as JSON if it is that, since many servers answer so.
func (p *pass) plain(text string, at scope) string {
	inner := []byte(strings.TrimSpace(text))
	if at.texts < nestedTexts && len(inner) > 1 && (inner[0] == '{' || inner[0] == '[') && jsonscan.Valid(inner) == nil {
		at.texts++
		nested := pass{rule: p.rule}
		if clean := nested.append(nil, inner, at); nested.changed {
			text = string(clean)
		}
	}
	text = redact.Known().Text(text)
	for range maxReplacing {
		clean := credential.ReplaceAllString(text, withoutCredential)
		if clean == text {
			break
		}
		text = clean
	}
	if p.rule != nil {
		text = p.rule(at.key, text)
	}
	return text
}

// within returns the scope of a member. In a JSON Schema a key that looks
// secret is mostly the name of a property, whose schema must stay as it is but
// for the values that it holds.
func (s scope) within(key string, first byte) scope {
	name := normal(key)
	inner := s
	inner.key = key
	switch {
	case !s.schema && (key == "inputSchema" || key == "outputSchema" || key == "requestedSchema"):
		inner.schema = true
	case !s.schema:
		inner.secret = s.secret || looksSecret(name)
	case first == '{' && looksSecret(name):
		inner.secret = true
	case first == '[' && looksSecret(name):
		inner.key = "" // a list of names of properties
	}
	return inner
}

// hides reports whether a string in this scope is a secret whatever it reads.
func (s scope) hides() bool {
	if !s.schema {
		return s.secret
	}
	values := s.key == "default" || s.key == "const" || s.key == "enum" || s.key == "example" || s.key == "examples"
	return s.secret && values || looksSecret(normal(s.key))
}

// normal returns a key in lower case and without separators.
func normal(key string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(key))
}

// looksSecret reports whether a normal key is that of a secret.
func looksSecret(name string) bool {
	// A progress token is a number that client and server count with.
	if name == "progresstoken" {
		return false
	}
	for _, part := range []string{
		"authorization", "token", "password", "passwd", "passphrase", "secret", "apikey", "privatekey", "accesskey",
		"signingkey", "encryptionkey", "cookie", "session", "credential",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return slices.Contains([]string{"auth", "bearer", "jwt", "pwd", "otp"}, name)
}

// counts reports whether a key that looks secret is that of a plain number.
func counts(key string) bool {
	name := normal(key)
	return strings.HasSuffix(name, "tokens") || strings.HasSuffix(name, "count") || strings.HasSuffix(name, "limit")
}
