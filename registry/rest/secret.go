package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

const (
	maxSecretName = 256      // bytes
	maxSecret     = 64 << 10 // bytes
)

// ErrNotSet is what [Options].Secrets returns for a name that it does not know.
var ErrNotSet = errors.New("is not set: set the environment variable of that name, or have Options.Secrets give it")

// A secretError reports a secret that an API refers to and that cannot be had or used.
type secretError struct {
	place string // where the API refers to it, such as auth.value
	name  string // NAME of ${NAME}; empty if the text itself, secrets put in, cannot be used
	err   error  // perhaps of Options.Secrets
}

func (e *secretError) Error() string {
	text := e.place + ": "
	if e.name != "" {
		text += "the secret " + e.name + " "
	}
	// The words may be those of a store of secrets.
	return text + plain.Line(redact.Known().Text(e.err.Error()))
}

func (e *secretError) Unwrap() error { return e.err }

// environment gives secrets if [Options] has no function for them.
func environment(_ context.Context, name string) (string, error) {
	value, ok := os.LookupEnv(name)
	if !ok {
		return "", ErrNotSet
	}
	return value, nil
}

// Secrets returns the names of the secrets that the API refers to, sorted. Look at them
// before you use an API of another author: what an API refers to is sent to where the API
// says.
func (a *API) Secrets() []string {
	var names []string
	cloneAPI(a).eachText(func(_, text string) string {
		names = append(names, secretsIn(text)...)
		return text
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// eachText replaces each text in which secrets are referred to by what f makes of it and its
// place.
func (a *API) eachText(f func(at, text string) string) {
	a.BaseURL = f("baseUrl", a.BaseURL)
	a.Auth.Value = f("auth.value", a.Auth.Value)
	a.Auth.User, a.Auth.Password = f("auth.user", a.Auth.User), f("auth.password", a.Auth.Password)
	members := func(at string, texts map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			texts[name] = f(at+name, texts[name])
		}
	}
	members("headers.", a.Headers)
	if t := a.Auth.Token; t != nil {
		t.URL = f("auth.token.url", t.URL)
		t.User, t.Password = f("auth.token.user", t.User), f("auth.token.password", t.Password)
		members("auth.token.fields.", t.Fields)
	}
}

// secretsIn returns the names of the secrets that a text refers to, in its order.
func secretsIn(raw string) []string {
	var names []string
	text, _ := parseSecretText("", raw)
	for _, part := range text.parts {
		if part.name != "" {
			names = append(names, part.name)
		}
	}
	return names
}

// A secretText is a text of an API, with the places where secrets go.
type secretText struct {
	place string // in the API
	parts []secretPart
}

// A secretPart is a text, or a reference.
type secretPart struct{ text, name string }

// tokenName is the name of the reference {{token}}. No other can have it.
const tokenName = "{{token}}"

// parseSecretText reads a text. Problems show nothing of it.
func parseSecretText(place, raw string) (t secretText, problem string) {
	t.place = place
	var literal strings.Builder
	for raw != "" {
		before, after, found := strings.Cut(raw, "$")
		literal.WriteString(before)
		if !found {
			break
		}
		switch {
		case strings.HasPrefix(after, "$"):
			literal.WriteByte('$')
			raw = after[1:]
		case strings.HasPrefix(after, "{"):
			name, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return t, "has a ${ that is not closed: add }, or write $${ for the characters themselves"
			}
			if !isSecretName(name) {
				return t, "has a reference that is none: write ${NAME} with letters, digits and _ . - / in it, or $${ for the characters themselves"
			}
			t.parts = appendText(t.parts, literal.String())
			t.parts = append(t.parts, secretPart{name: name})
			literal.Reset()
			raw = rest
		default:
			literal.WriteByte('$')
			raw = after
		}
	}
	t.parts = appendText(t.parts, literal.String())
	return t, ""
}

func appendText(parts []secretPart, text string) []secretPart {
	if text == "" {
		return parts
	}
	return append(parts, secretPart{text: text})
}

func isSecretName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '.' || c == '-' || c == '/'):
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxSecretName
}

// isMask reports whether a text stands for a secret that was not to be shown, and is not
// one: <YOUR_API_KEY>, ********, [redacted].
func isMask(text string) bool {
	text = strings.TrimSpace(text)
	switch {
	case len(text) < 3:
		return false
	case text[0] == '<' && text[len(text)-1] == '>':
		return true
	}
	return strings.Trim(text, "*") == "" || strings.Trim(text, "•") == "" || strings.EqualFold(strings.Trim(text, "[]"), "redacted")
}

// readSecretText reads a text of an API and notes what is wrong with it.
func readSecretText(place, raw string, p *problems) secretText {
	text, problem := parseSecretText(place, raw)
	if problem == "" && isMask(raw) {
		problem = maskProblem
	}
	if problem != "" {
		p.add(place, problem)
	}
	return text
}

const maskProblem = "is a mask, and not what it stands for: write ${NAME}, the name of a secret"

// withToken makes references of each {{token}}, and reports whether there are any.
func (t secretText) withToken() (secretText, bool) {
	with := secretText{place: t.place}
	found := false
	for _, part := range t.parts {
		if part.name != "" {
			with.parts = append(with.parts, part)
			continue
		}
		for i, text := range strings.Split(part.text, tokenName) {
			if i > 0 {
				with.parts = append(with.parts, secretPart{name: tokenName})
				found = true
			}
			with.parts = appendText(with.parts, text)
		}
	}
	return with, found
}

// secretByPlace reports whether what the text refers to is secret by its place, which
// it is in headers and logins. The user name of a login is not: results are full of
// those.
func (t secretText) secretByPlace() bool {
	switch t.place {
	case "auth.user", "auth.token.user", "auth.token.fields.user":
		return false
	}
	return strings.HasPrefix(t.place, "auth.") || strings.HasPrefix(t.place, "headers.")
}

// empty reports whether nothing was written.
func (t secretText) empty() bool { return len(t.parts) == 0 }

// sample returns the text with x for each reference.
func (t secretText) sample() string {
	text, _ := t.fill(func(string) (string, error) { return "x", nil })
	return text
}

func (t secretText) fill(value func(name string) (string, error)) (string, error) {
	var text strings.Builder
	for _, part := range t.parts {
		if part.name == "" {
			text.WriteString(part.text)
			continue
		}
		v, err := value(part.name)
		if err != nil {
			return "", err
		}
		text.WriteString(v)
	}
	return text.String(), nil
}

// A keyring holds the secrets of one call. Each is asked for once.
type keyring struct {
	lookup func(ctx context.Context, name string) (string, error)
	values map[string]string
	hidden []string // what answers and errors must not show
}

// text returns a text with its secrets put in. All of it is hidden if it is secret;
// otherwise its secrets are, if their place or their name makes them so.
func (k *keyring) text(ctx context.Context, t secretText, secret bool) (string, error) {
	text, err := t.fill(func(name string) (string, error) {
		value, err := k.value(ctx, t.place, name)
		if err == nil && (secret || t.secretByPlace() || soundsSecret(name)) {
			k.hide(value)
		}
		return value, err
	})
	if err == nil && secret {
		k.hide(text)
		if at := strings.LastIndexByte(text, ' '); at >= 0 {
			k.hide(text[at+1:]) // behind the word Bearer
		}
	}
	return text, err
}

// header is text for the value of a header.
func (k *keyring) header(ctx context.Context, t secretText, secret bool) (string, error) {
	text, err := k.text(ctx, t, secret)
	if err != nil {
		return "", err
	}
	if !httpfield.ValidValue(text) {
		return "", &secretError{place: t.place, err: errors.New("holds a line break or another control character, which no header can: remove it from the secret, often at its end")}
	}
	return strings.Trim(text, " \t"), nil
}

func (k *keyring) value(ctx context.Context, place, name string) (string, error) {
	if value, ok := k.values[name]; ok {
		return value, nil
	}
	value, err := k.lookup(ctx, name)
	switch {
	case err != nil:
	case value == "":
		err = errors.New("is empty: give it a value")
	case len(value) > maxSecret:
		err = fmt.Errorf("is longer than %d bytes", maxSecret)
	}
	if err != nil {
		return "", &secretError{place, name, err}
	}
	k.set(name, value)
	return value, nil
}

func (k *keyring) set(name, value string) {
	if k.values == nil {
		k.values = map[string]string{}
	}
	k.values[name] = value
}

func (k *keyring) hide(text string) {
	if len(text) >= minHidden && !slices.Contains(k.hidden, text) {
		k.hidden = append(k.hidden, text)
	}
}

// soundsSecret reports whether what is called so is probably secret. Something like
// token_type is not.
func soundsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"type", "use", "hint", "url", "uri"} {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	for _, word := range []string{"key", "token", "secret", "passw", "pwd", "auth", "credential", "cookie", "session", "signature", "assertion", "bearer"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
