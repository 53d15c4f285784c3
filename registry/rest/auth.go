package rest

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

// tokenName stands for the token in the value of a login that fetches one.
const tokenName = "{{token}}"

// A login is an Auth that was checked, with its defaults.
type login struct {
	Auth
	source target // of the token
}

// newLogin checks an Auth and notes what is wrong with it.
func newLogin(a *Auth, p *problems) login {
	l := login{Auth: *a}
	p.checkText("auth.value", a.Value)
	p.checkText("auth.user", a.User)
	p.checkText("auth.password", a.Password)
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
	switch {
	case a.Type == "":
		return l
	case a.Type == FetchToken && a.Token == nil:
		p.add("auth.token", "is missing: say where the token comes from")
	case a.Type == FetchToken:
		l.source = a.Token.check(p)
	case a.Type == Basic:
		if a.User == "" {
			p.add("auth.user", "is empty: basic authentication needs a user name; one that is a key may have an empty password")
		}
	case a.Type != APIKey && a.Type != Bearer:
		p.add("auth.type", "is not known: it is api_key, bearer, basic or token, or is left out")
		return l
	case a.Value == "":
		p.add("auth.value", "is empty: write ${NAME}, the name of a secret")
	}
	l.place(p)
	return l
}

// place settles where the login goes, and what is sent of a token that was fetched.
func (l *login) place(p *problems) {
	usual := "Authorization"
	switch l.In = cmp.Or(l.In, InHeader); {
	case l.In != InHeader && l.In != InQuery:
		p.add("auth.in", "is not known: it is header or query; a cookie is one of headers")
	case l.Type == APIKey && l.In == InHeader:
		usual = "X-API-Key"
	case l.Type == APIKey:
		usual = "api_key"
	case l.In == InQuery:
		usual = "access_token"
	}
	l.Name = cmp.Or(l.Name, usual)
	if l.In == InHeader {
		l.Name = http.CanonicalHeaderKey(l.Name)
	}
	switch {
	case l.In == InHeader && !headerMaySet(l.Name):
		p.add("auth.name", "is not the name of a header that can be set")
	case !utf8.ValidString(l.Name):
		p.add("auth.name", "is not UTF-8")
	}
	if l.Type != FetchToken {
		return
	}
	if usual = tokenName; l.In == InHeader && l.Name == "Authorization" {
		usual = "Bearer " + tokenName
	}
	if l.Value = cmp.Or(l.Value, usual); !strings.Contains(l.Value, tokenName) {
		p.add("auth.value", "has no {{token}}: say where the token goes that was fetched")
	}
}

// sets reports whether the login sends something in a place under a name.
func (l *login) sets(in Place, name string) bool {
	if in == InHeader {
		name = http.CanonicalHeaderKey(name)
	}
	return l.Type != "" && l.In == in && l.Name == name
}

// headerMaySet reports whether an API may set a header. The others are about the
// connection and the body.
func headerMaySet(name string) bool {
	own := []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect",
		"Accept-Encoding", "Content-Type", "Content-Encoding", "Http2-Settings"}
	return httpfield.ValidName(name) && !slices.Contains(own, http.CanonicalHeaderKey(name)) && !strings.HasPrefix(strings.ToLower(name), "proxy-")
}

// apply adds the login to a request, whose header is its own.
func (l *login) apply(ctx context.Context, k *keyring, r *request) error {
	if l.Type == "" {
		return nil
	}
	value, err := l.value(ctx, k)
	if err == nil && l.In == InQuery {
		r.query = append(r.query[:len(r.query):len(r.query)], pair{escape(l.Name), escape(value)})
		return nil
	}
	if err == nil {
		value, err = headerText("auth.value", value)
	}
	if err != nil {
		return err
	}
	if l.Type == Bearer {
		value = "Bearer " + value
	}
	r.header.Set(l.Name, value)
	return nil
}

// value returns what the login sends. Answers do not show it.
func (l *login) value(ctx context.Context, k *keyring) (string, error) {
	if l.Type == Basic {
		return basic(ctx, k, "auth.", l.User, l.Password)
	}
	if l.Type != FetchToken {
		return k.text(ctx, "auth.value", l.Value, true)
	}
	k.hide(k.token)
	pieces := strings.Split(l.Value, tokenName)
	for i := range pieces {
		var err error
		if pieces[i], err = k.text(ctx, "auth.value", pieces[i], false); err != nil {
			return "", err
		}
	}
	value := strings.Join(pieces, k.token)
	k.hideText(value)
	return value, nil
}

// basic returns the value of the header for a user and their password (RFC 7617), which the API
// has at a place.
func basic(ctx context.Context, k *keyring, at, user, password string) (string, error) {
	u, err := k.text(ctx, at+"user", user, false)
	if err != nil {
		return "", err
	}
	p, err := k.text(ctx, at+"password", password, true)
	if err != nil {
		return "", err
	}
	if strings.Contains(u, ":") {
		return "", &secretError{place: at + "user", err: errors.New("has a colon, which a user name cannot have: what follows it is perhaps the password")}
	}
	for place, text := range map[string]string{at + "user": u, at + "password": p} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return "", &secretError{place: place, err: errors.New("has a line break or another control character, or is not UTF-8: remove it from the secret, often at its end")}
		}
	}
	value := base64.StdEncoding.EncodeToString([]byte(u + ":" + p))
	k.hide(value)
	return "Basic " + value, nil
}
