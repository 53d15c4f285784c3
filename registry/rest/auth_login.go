package rest

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
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
	source   *source
}

// newLogin checks an Auth and notes what is wrong with it.
func newLogin(a *Auth, p *problems) login {
	l := login{kind: a.Type, in: a.In, name: a.Name}
	text := func(field, raw string) (t secretText) {
		t, problem := parseSecretText("auth."+field, raw)
		if problem != "" {
			p.add("auth."+field, problem)
		} else if isMask(raw) {
			p.add("auth."+field, maskProblem)
		}
		return t
	}
	l.value, l.user, l.password = text("value", a.Value), text("user", a.User), text("password", a.Password)

	placed := a.Type == APIKey || a.Type == FetchToken
	switch a.Type {
	case NoAuth, APIKey, Bearer, Basic, FetchToken:
	default:
		p.add("auth.type", "is not known: it is api_key, bearer, basic or token, or is left out")
		return l
	}
	unused := func(field string, given, used bool) {
		if given && !used {
			p.add("auth."+field, "has no meaning for "+a.Type.said()+": leave it out")
		}
	}
	unused("in", a.In != "", placed)
	unused("name", a.Name != "", placed)
	unused("value", a.Value != "", placed || a.Type == Bearer)
	unused("user", a.User != "", a.Type == Basic)
	unused("password", a.Password != "", a.Type == Basic)
	unused("token", a.Token != nil, a.Type == FetchToken)

	switch a.Type {
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
	}
	if placed {
		l.place(p)
	}
	if a.Type == FetchToken {
		if l.value.empty() {
			text := tokenName
			if l.in == InHeader && strings.EqualFold(l.name, "Authorization") {
				text = "Bearer " + text
			}
			l.value = secretText{"auth.value", []secretPart{{text: text}}}
		}
		var found bool
		if l.value, found = l.value.withToken(); !found {
			p.add("auth.value", "has no {{token}}: say where the token goes that was fetched")
		}
	}
	return l
}

// said returns what a kind of login is called in an error.
func (t AuthType) said() string {
	if t == NoAuth {
		return "an API without a login"
	}
	return "the type " + string(t)
}

// place settles where the key or token goes.
func (l *login) place(p *problems) {
	switch l.in {
	case "":
		l.in = InHeader
	case InHeader, InQuery, InCookie, InBody:
	default:
		p.add("auth.in", "is not known: it is header, query, cookie or body")
		return
	}
	switch {
	case l.name != "":
	case l.kind == APIKey && l.in == InHeader:
		l.name = "X-API-Key"
	case l.kind == APIKey:
		l.name = "api_key"
	case l.in == InHeader:
		l.name = "Authorization"
	default:
		l.name = "access_token"
	}
	switch {
	case l.in == InHeader && !headerMaySet(l.name):
		p.add("auth.name", "is not the name of a header that can be set")
	case l.in == InCookie && !httpfield.ValidName(l.name):
		p.add("auth.name", "is not the name of a cookie: use letters, digits and -")
	case !utf8.ValidString(l.name):
		p.add("auth.name", "is not UTF-8")
	}
}

// header returns the name of the header that the login sets; empty if it sets none.
func (l *login) header() string {
	switch {
	case l.kind == Bearer, l.kind == Basic:
		return "Authorization"
	case l.kind != NoAuth && l.in == InHeader:
		return http.CanonicalHeaderKey(l.name)
	}
	return ""
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

// apply adds the login to a request, whose header and body are its own. The token is
// in the keyring.
func (l *login) apply(ctx context.Context, k *keyring, r *request) error {
	switch l.kind {
	case NoAuth:
		return nil
	case Basic:
		value, err := basic(ctx, k, l.user, l.password)
		if err != nil {
			return err
		}
		r.header.Set("Authorization", value)
		return nil
	case Bearer:
		value, err := k.header(ctx, l.value, true)
		if err != nil {
			return err
		}
		r.header.Set("Authorization", "Bearer "+value)
		return nil
	}
	if l.in == InHeader {
		value, err := k.header(ctx, l.value, true)
		if err != nil {
			return err
		}
		r.header.Set(l.name, value)
		return nil
	}
	value, err := k.text(ctx, l.value, true)
	if err != nil {
		return err
	}
	wrong := func(text string) error {
		return &SecretError{API: k.api, Place: l.value.place, Err: errors.New(text)}
	}
	switch l.in {
	case InQuery:
		r.query = append(r.query[:len(r.query):len(r.query)], pair{escape(l.name), escape(value)})
	case InCookie:
		if !cookieValue(value) {
			return wrong("has a character that no cookie can have (RFC 6265, section 4.1.1): put it elsewhere, or escape it")
		}
		r.cookies = append(r.cookies[:len(r.cookies):len(r.cookies)], pair{l.name, value})
	case InBody:
		if !utf8.ValidString(value) {
			return wrong("is not UTF-8, which a body has to be")
		}
		if r.body.kind == noPayload {
			if !methodHasBody(r.method) { // only Health asks so
				return nil
			}
			r.body = payload{kind: jsonPayload, contentType: "application/json", raw: []byte("{}")}
		}
		return r.body.add(l.name, value)
	}
	return nil
}

// cookieValue reports whether a cookie can have a value without quotes.
func cookieValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\",;\\", c) >= 0 {
			return false
		}
	}
	return true
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
	wrong := func(t secretText, text string) error {
		return &SecretError{API: k.api, Place: t.place, Err: errors.New(text)}
	}
	switch {
	case strings.Contains(u, ":"):
		return "", wrong(user, "has a colon, which a user name cannot have: what follows it is perhaps the password")
	case !basicText(u):
		return "", wrong(user, "has a line break or another control character, or is not UTF-8: remove it from the secret, often at its end")
	case !basicText(p):
		return "", wrong(password, "has a line break or another control character, or is not UTF-8: remove it from the secret, often at its end")
	}
	value := base64.StdEncoding.EncodeToString([]byte(u + ":" + p))
	k.hide(value)
	return "Basic " + value, nil
}

func basicText(text string) bool {
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			return false
		}
	}
	return utf8.ValidString(text)
}

// checkEndpoints notes where endpoints leave no place for the login, or set what
// the login sets.
func (l *login) checkEndpoints(api *API, p *problems) {
	if l.kind == NoAuth {
		return
	}
	sets := l.header()
	for i := range api.Endpoints {
		e := &api.Endpoints[i]
		if p.endpoint = e.Name; e.Name == "" {
			p.endpoint = place("endpoints", i)
		}
		for j := range e.Params {
			param := &e.Params[j]
			same := param.Name == l.name && param.In == l.in && (l.kind == APIKey || l.kind == FetchToken)
			if param.In == InHeader {
				same = sets != "" && strings.EqualFold(param.Name, sets)
			}
			if same {
				p.add(place("params", j)+".name", "is what the login sets: leave the parameter out")
			}
		}
		if l.in == InBody && e.Body == nil && !methodHasBody(e.Method) {
			p.add("method", "has no body, and the login goes into the body: use another method, or put the login elsewhere")
		}
		if l.in == InBody && e.Body != nil && !bodyTakesFields(e.Body.ContentType) {
			p.add("body.contentType", "has no fields, and the login goes into the body as one: use JSON or a form, or put the login elsewhere")
		}
	}
	p.endpoint = ""
}

// methodHasBody reports whether a request of a method may get a body that is not described.
func methodHasBody(method string) bool {
	switch method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}

func bodyTakesFields(contentType string) bool {
	kind, _, _ := kindOfBody(contentType)
	return kind == jsonPayload || kind == formPayload || kind == multipartPayload
}

// An Auth is how requests log in. Which fields count depends on Type; the others are
// empty. Values may hold ${NAME}, see [API].
type Auth struct {
	// Type is the kind of login. Empty: none.
	Type AuthType `json:"type,omitempty"`
	// In is where an API key or a token that was fetched goes: InHeader (the
	// default), InQuery, InCookie or InBody. In a body it becomes a member of the
	// JSON object or a field of the form; a request without a body gets one, unless
	// its method has none.
	In Place `json:"in,omitempty"`
	// Name is what it is called there. Default: X-API-Key in a header, api_key
	// elsewhere; Authorization and access_token for a token that was fetched.
	Name string `json:"name,omitempty"`
	// Value is the API key or the bearer token. For a token that was fetched it is
	// what is sent, and {{token}} in it stands for the token; default: "Bearer
	// {{token}}" in the header Authorization, {{token}} elsewhere.
	Value string `json:"value,omitempty"`
	// User is the user name of basic authentication (RFC 7617). It has no colon.
	User string `json:"user,omitempty"`
	// Password is the password of basic authentication. It may be empty.
	Password string `json:"password,omitempty"`
	// Token says where a token comes from that is fetched first.
	Token *TokenRequest `json:"token,omitempty"`
}

// An AuthType is a kind of login.
type AuthType string

// The kinds. Other headers that a service wants are among [API].Headers.
const (
	NoAuth     AuthType = ""        // no login
	APIKey     AuthType = "api_key" // Value, where In and Name say
	Bearer     AuthType = "bearer"  // Value, in the header Authorization (RFC 6750)
	Basic      AuthType = "basic"   // User and Password (RFC 7617)
	FetchToken AuthType = "token"   // as [Auth].Token says
)
