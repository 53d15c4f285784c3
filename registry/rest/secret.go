package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

const (
	maxSecretName = 256      // bytes
	maxSecret     = 64 << 10 // bytes
)

// ErrNotSet is what [Options].Secrets returns for a name that it does not know.
//
//cure:set the variable that it names
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
func secretsIn(raw string) (names []string) {
	_, _ = expand(raw, func(name string) (string, error) {
		names = append(names, name)
		return "", nil
	})
	return names
}

// sample returns a text with x for each reference. The error says what is wrong with it, and shows
// nothing of it.
func sample(raw string) (string, error) {
	return expand(raw, func(string) (string, error) { return "x", nil })
}

// reference matches ${NAME}, $$ and a dollar that begins neither.
var reference = regexp.MustCompile(`\$\{[^}]*\}?|\$\$?`)

// expand returns a text of an API with the values of the secrets that it refers to.
func expand(raw string, value func(name string) (string, error)) (text string, err error) {
	text = reference.ReplaceAllStringFunc(raw, func(found string) (v string) {
		name, isName := strings.CutPrefix(found, "${")
		name, closed := strings.CutSuffix(name, "}")
		switch {
		case err != nil:
		case !isName:
			return "$"
		case !closed:
			err = errors.New("has a ${ that is not closed: add }, or write $${ for the characters themselves")
		case !secretName.MatchString(name):
			err = errors.New("has a reference that is none: write ${NAME} with letters, digits and _ . - / in it, or $${ for the characters themselves")
		default:
			v, err = value(name)
		}
		return v
	})
	if err != nil {
		return "", err
	}
	return text, nil
}

// secretName matches the name of a secret.
var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]{0,255}$`)

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

// checkText notes what is wrong with a text of an API.
func (p *problems) checkText(place, raw string) {
	if _, err := sample(raw); err != nil {
		p.add(place, err.Error())
	} else if isMask(raw) {
		p.add(place, "is a mask, and not what it stands for: write ${NAME}, the name of a secret")
	}
}

// secretByPlace reports whether what a text refers to is secret by the place of the text, which
// it is in headers and logins. The user name of a login is not: results are full of
// those.
func secretByPlace(place string) bool {
	return !slices.Contains([]string{"auth.user", "auth.token.user", "auth.token.fields.user"}, place) && (strings.HasPrefix(place, "auth.") || strings.HasPrefix(place, "headers."))
}

// A keyring holds the secrets of one call. Each is asked for once.
type keyring struct {
	lookup func(ctx context.Context, name string) (string, error)
	values map[string]string
	token  string   // that was fetched
	hidden []string // what answers and errors must not show
}

// text returns the text at a place with its secrets put in. All of it is hidden if it is secret;
// otherwise its secrets are, if their place or their name makes them so.
func (k *keyring) text(ctx context.Context, place, raw string, secret bool) (string, error) {
	text, err := expand(raw, func(name string) (string, error) { return k.value(ctx, place, name, secret) })
	if err == nil && secret {
		k.hideText(text)
	}
	return text, err
}

// hideText hides a text, and what is behind the word Bearer.
func (k *keyring) hideText(text string) {
	k.hide(text)
	if at := strings.LastIndexByte(text, ' '); at >= 0 {
		k.hide(text[at+1:])
	}
}

// headerText returns the value of a header, which a text at a place became.
func headerText(place, text string) (string, error) {
	if !httpfield.ValidValue(text) {
		return "", &secretError{place: place, err: errors.New("holds a line break or another control character, which no header can: remove it from the secret, often at its end")}
	}
	return strings.Trim(text, " \t"), nil
}

// value returns a secret that is referred to at a place.
func (k *keyring) value(ctx context.Context, place, name string, secret bool) (string, error) {
	value, known := k.values[name]
	if !known {
		var err error
		value, err = k.lookup(ctx, name)
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
		if k.values == nil {
			k.values = map[string]string{}
		}
		k.values[name] = value
	}
	if secret || secretByPlace(place) || mask.IsSecretName(name) {
		k.hide(value)
	}
	return value, nil
}

func (k *keyring) hide(text string) {
	if len(text) >= minHidden && !slices.Contains(k.hidden, text) {
		k.hidden = append(k.hidden, text)
	}
}
