package rest

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

// A login is an Auth that was checked.
type login struct {
	kind     AuthType
	in       Place
	name     string
	value    secretText
	user     secretText
	password secretText
	source   *source // nil: no token is fetched
}

// newLogin checks an Auth and notes what is wrong with it.
func newLogin(a *Auth, p *problems) login {
	l := login{kind: a.Type}
	l.value = readSecretText("auth.value", a.Value, p)
	l.user, l.password = readSecretText("auth.user", a.User, p), readSecretText("auth.password", a.Password, p)
	placed := a.Type == APIKey || a.Type == FetchToken
	for _, f := range []struct {
		field       string
		given, used bool
	}{
		{"in", a.In != "", placed}, {"name", a.Name != "", placed}, {"value", a.Value != "", placed || a.Type == Bearer},
		{"user", a.User != "", a.Type == Basic}, {"password", a.Password != "", a.Type == Basic}, {"token", a.Token != nil, a.Type == FetchToken},
	} {
		if f.given && !f.used {
			p.add("auth."+f.field, "has no meaning for this type of login: leave it out")
		}
	}
	switch a.Type {
	case "":
		return l
	case APIKey, Bearer:
		if a.Value == "" {
			p.add("auth.value", "is empty: write ${NAME}, the name of a secret")
		}
	case Basic:
		if a.User == "" {
			p.add("auth.user", "is empty: basic authentication needs a user name; one that is a key may have an empty password")
		}
	case FetchToken:
		if a.Token == nil {
			p.add("auth.token", "is missing: say where the token comes from")
		} else {
			l.source = newSource(a.Token, p)
		}
	default:
		p.add("auth.type", "is not known: it is api_key, bearer, basic or token, or is left out")
		return l
	}
	l.place(a, p)
	if a.Type == FetchToken {
		l.setToken(a, p)
	}
	return l
}

// place settles where the login goes.
func (l *login) place(a *Auth, p *problems) {
	l.in, l.name = cmp.Or(a.In, InHeader), a.Name
	usual := "Authorization"
	switch {
	case l.in != InHeader && l.in != InQuery:
		p.add("auth.in", "is not known: it is header or query; a cookie is one of headers")
	case l.kind == APIKey && l.in == InHeader:
		usual = "X-API-Key"
	case l.kind == APIKey:
		usual = "api_key"
	case l.in == InQuery:
		usual = "access_token"
	}
	l.name = cmp.Or(a.Name, usual)
	if l.in == InHeader {
		l.name = http.CanonicalHeaderKey(l.name)
	}
	switch {
	case l.in == InHeader && !headerMaySet(l.name):
		p.add("auth.name", "is not the name of a header that can be set")
	case !utf8.ValidString(l.name):
		p.add("auth.name", "is not UTF-8")
	}
}

// setToken settles what is sent of a token that was fetched.
func (l *login) setToken(a *Auth, p *problems) {
	usual := tokenName
	if l.in == InHeader && l.name == "Authorization" {
		usual = "Bearer " + tokenName
	}
	if l.value.empty() {
		l.value = secretText{"auth.value", []secretPart{{text: usual}}}
	}
	var found bool
	if l.value, found = l.value.withToken(); !found {
		p.add("auth.value", "has no {{token}}: say where the token goes that was fetched")
	}
}

// sets reports whether the login sends something in a place under a name.
func (l *login) sets(in Place, name string) bool {
	if in == InHeader {
		name = http.CanonicalHeaderKey(name)
	}
	return l.in != "" && l.in == in && l.name == name
}

// headerMaySet reports whether an API may set a header. The others are about the
// connection and the body.
func headerMaySet(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect",
		"Accept-Encoding", "Content-Type", "Content-Encoding", "Http2-Settings":
		return false
	}
	return httpfield.ValidName(name) && !strings.HasPrefix(strings.ToLower(name), "proxy-")
}

// apply adds the login to a request, whose header is its own. The token is in the keyring.
func (l *login) apply(ctx context.Context, k *keyring, r *request) error {
	var value string
	var err error
	switch {
	case l.in == "":
		return nil
	case l.kind == Basic:
		value, err = basic(ctx, k, l.user, l.password)
	case l.in == InHeader:
		if value, err = k.header(ctx, l.value, true); l.kind == Bearer {
			value = "Bearer " + value
		}
	default:
		if value, err = k.text(ctx, l.value, true); err == nil {
			r.query = append(r.query[:len(r.query):len(r.query)], pair{escape(l.name), escape(value)})
		}
		return err
	}
	if err == nil {
		r.header.Set(l.name, value)
	}
	return err
}

// basic returns the value of the header for a user and their password (RFC 7617).
func basic(ctx context.Context, k *keyring, user, password secretText) (string, error) {
	u, err := k.text(ctx, user, false)
	if err != nil {
		return "", err
	}
	p, err := k.text(ctx, password, true)
	if err != nil {
		return "", err
	}
	if strings.Contains(u, ":") {
		return "", &secretError{place: user.place, err: errors.New("has a colon, which a user name cannot have: what follows it is perhaps the password")}
	}
	for place, text := range map[string]string{user.place: u, password.place: p} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return "", &secretError{place: place, err: errors.New("has a line break or another control character, or is not UTF-8: remove it from the secret, often at its end")}
		}
	}
	value := base64.StdEncoding.EncodeToString([]byte(u + ":" + p))
	k.hide(value)
	return "Basic " + value, nil
}
