package config

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// An Auth is what an entry says of the login at its server, the key "auth".
type Auth struct {
	ClientID     string   `json:"clientId,omitempty"`     // of a client that is registered already; else one is registered
	ClientSecret Secret   `json:"clientSecret,omitempty"` // of that client; a public client has none
	AuthMethod   string   `json:"authMethod,omitempty"`   // how that client authenticates itself at TokenURL, if not as the authorization server says
	Scopes       []string `json:"scopes,omitzero"`        // to ask for; nil means those that the server names
	Issuer       string   `json:"issuer,omitempty"`       // the authorization server, if the server must not choose it
	RedirectURL  string   `json:"redirectUrl,omitempty"`  // where the user's browser comes back to; without a port to any

	// The endpoints of the authorization server, of one that publishes no metadata. Nothing
	// is looked up then, and Issuer is by default the origin of TokenURL.
	AuthorizationURL string `json:"authorizationUrl,omitempty"` // where users log in, with TokenURL
	TokenURL         string `json:"tokenUrl,omitempty"`         // where tokens come from
	DeviceURL        string `json:"deviceUrl,omitempty"`        // of "device_code", with TokenURL
	RegistrationURL  string `json:"registrationUrl,omitempty"`  // where a client is registered, with TokenURL
	RevocationURL    string `json:"revocationUrl,omitempty"`    // where tokens are revoked, with TokenURL

	Grant       string            `json:"grant,omitempty"`       // "authorization_code" (with a browser that comes back; the default) or "device_code" (with a short code, on any device)
	LoginParams map[string]string `json:"loginParams,omitempty"` // added to the address where users log in; not secret
	AskConsent  bool              `json:"askConsent,omitempty"`  // users are asked for their consent at each login
	NoResource  bool              `json:"noResource,omitempty"`  // the resource parameter is left out, which some authorization servers refuse
	Off         bool              `json:"off,omitempty"`         // no user logs in
}

// auth reads how users log in: from "auth", which is ours, and from what other programs have
// in its place. Both count; where they differ, "auth" does, and a warning tells of it. What
// other programs have stays in Extra, too.
func (e *entry) auth(s *Server) {
	own, theirs := &login{}, &login{}
	var at *dialect.Field // of what there is, rather of ours
	wrong := len(e.faults)
	for i := range e.fields {
		f := &e.fields[i]
		switch {
		case f.Foreign || f.Value.Kind == jsonc.Null:
		case f.Key == "auth":
			if e.login(f, own) {
				s.Auth, at = &own.Auth, f
			}
		case f.Key == dialect.Scopes:
			theirs.Scopes, at = append(theirs.Scopes, e.scopes(f.Value, f.At)...), cmp.Or(at, f)
		case f.Key == "oauth" && !e.opts.AsWritten:
			if e.login(f, theirs) {
				at = cmp.Or(at, f)
			}
		}
	}
	if at == nil || len(e.faults) > wrong {
		return
	}
	own.take(theirs, func(key string) {
		e.warn(at.Offset, at.At, "%q in it counts, and not that of \"oauth\": remove one of them", key)
	})
	if own.program && own.ClientID != "" && own.Grant != "device_code" {
		own.RedirectURL = cmp.Or(own.RedirectURL, e.client.callback)
	}
	e.checkLogin(at, &own.Auth, s.noLogin())
	if s.Auth != nil || !reflect.ValueOf(own.Auth).IsZero() {
		s.Auth = &own.Auth
	}
}

// A login is what one section of an entry says of logins.
type login struct {
	Auth
	program bool // its client is that of the file's program
	port    int64
}

// take adds what other says and l does not, and calls differs with each key of which both
// say something else.
func (l *login) take(other *login, differs func(key string)) {
	l.program = l.program || l.ClientID == "" && other.ClientID != ""
	ours, theirs := reflect.ValueOf(&l.Auth).Elem(), reflect.ValueOf(other.Auth)
	for i := range ours.NumField() {
		switch x, y := ours.Field(i), theirs.Field(i); {
		case x.IsZero():
			x.Set(y)
		case !y.IsZero() && !reflect.DeepEqual(x.Interface(), y.Interface()):
			name, _, _ := strings.Cut(ours.Type().Field(i).Tag.Get("json"), ",")
			differs(name)
		}
	}
}

// login reads a section, and reports whether it says anything. Unknown keys are warnings: what
// is not understood is not asked for, which the server then refuses.
func (e *entry) login(f *dialect.Field, l *login) bool {
	switch n := f.Value; {
	case f.Key == "oauth" && n.Kind == jsonc.Bool && f.Name == "":
		l.Off = n.Text == "false"
		return l.Off
	case n.Kind == jsonc.String && n.Text == "oauth" && f.Name == "": // which is what happens anyway
		return false
	case n.Kind == jsonc.Object && len(n.Members) == 0:
		return f.Key == "auth"
	}
	audience, issuer := "", ""
	l.program = l.program || f.Key == "oauth"
	keys := []key{
		{"clientId CLIENT_ID client_id", func(n *jsonc.Node, at jsonc.Path) {
			l.ClientID = e.visible(n, at)
			l.program = l.program || strings.HasSuffix(string(at), "CLIENT_ID") // of Cursor
		}},
		{"clientSecret CLIENT_SECRET client_secret", set(&l.ClientSecret, e.clientSecret)},
		{"authMethod token_endpoint_auth_method", set(&l.AuthMethod, e.choice("way to authenticate", "none", "client_secret_basic", "client_secret_post"))},
		{"scopes scope", set(&l.Scopes, e.scopes)},
		{"issuer", set(&l.Issuer, e.url)},
		{"redirectUrl redirect_uri redirectUri callback_url", set(&l.RedirectURL, e.redirect)},
		{"callbackPort callback_port", set(&l.port, func(n *jsonc.Node, at jsonc.Path) int64 { return e.count(n, at, 1, 65535) })},
		{"authorizationUrl authorization_url", set(&l.AuthorizationURL, e.url)},
		{"tokenUrl token_url", set(&l.TokenURL, e.url)},
		{"deviceUrl", set(&l.DeviceURL, e.url)},
		{"registrationUrl", set(&l.RegistrationURL, e.url)},
		{"revocationUrl", set(&l.RevocationURL, e.url)},
		{"grant", set(&l.Grant, e.choice("grant type", "authorization_code", "device_code"))},
		{"loginParams extra_params", set(&l.LoginParams, e.loginParams)},
		{"askConsent", set(&l.AskConsent, e.boolOf)},
		{"noResource", set(&l.NoResource, e.boolOf)},
		{"off", set(&l.Off, e.boolOf)},
		{"type", func(n *jsonc.Node, at jsonc.Path) {
			if e.check(n, at, jsonc.String) && !strings.HasPrefix(strings.ToLower(n.Text), "oauth") {
				e.warn(n.Offset, at, "unknown kind of login, which is ignored: write \"oauth\", or put a fixed token in \"headers\"")
			}
		}},
		// What follows is of other programs alone.
		{"enabled", func(n *jsonc.Node, at jsonc.Path) { l.Off = l.Off || !e.boolOf(n, at) }},
		{"audiences", func(n *jsonc.Node, at jsonc.Path) { audience = strings.Join(e.texts(n, at), " ") }},
		{"authServerMetadataUrl", func(n *jsonc.Node, at jsonc.Path) { // which has the issuer in it (RFC 8414, section 3.1)
			metadata := e.url(n, at)
			issuer = strings.NewReplacer("/.well-known/oauth-authorization-server", "", "/.well-known/openid-configuration", "").Replace(metadata)
			if issuer == metadata {
				e.warn(n.Offset, at, "is ignored, as it does not say whose metadata it is: write the \"issuer\" that stands in it")
				issuer = ""
			}
		}},
		{"use_pkce", func(n *jsonc.Node, at jsonc.Path) {
			if n.Text == "false" {
				e.warn(n.Offset, at, "is ignored: PKCE is always used")
			}
		}},
	}
	if f.Name == "" {
		e.object(f.Value, f.At, false, keys...)
	} else if i := slices.IndexFunc(keys, func(k key) bool { return strings.HasPrefix(k.names, f.Name+" ") }); i >= 0 {
		keys[i].read(f.Value, f.At)
	}
	if l.Issuer = cmp.Or(l.Issuer, issuer); issuer != "" && l.Issuer != issuer {
		e.warn(f.Offset, f.At, "\"authServerMetadataUrl\" has no effect beside \"issuer\"")
	}
	if audience != "" {
		params := map[string]string{"audience": audience}
		maps.Copy(params, l.LoginParams)
		l.LoginParams = params
	}
	port := strconv.FormatInt(l.port, 10)
	switch u, err := url.Parse(cmp.Or(l.RedirectURL, e.client.callback, "http://localhost/callback")); {
	case l.port == 0 || err != nil:
	case l.RedirectURL == "" || u.Scheme == "http" && u.Port() == "":
		u.Host = net.JoinHostPort(u.Hostname(), port)
		l.RedirectURL = u.String()
	case u.Port() != port:
		e.warn(f.Offset, f.At, "\"callbackPort\" has no effect beside the URL that the browser comes back to")
	}
	return true
}

// clientSecret returns n expanded, and keeps it as it is written.
func (e *entry) clientSecret(n *jsonc.Node, at jsonc.Path) Secret {
	text := e.visible(n, at)
	e.templates["auth clientSecret"] = n.Text
	return Secret(text)
}

// scopes reads the scopes to ask for (RFC 6749, section 3.3), as a list or as one
// string with spaces.
func (e *entry) scopes(n *jsonc.Node, at jsonc.Path) []string {
	list := strings.Fields(n.Text)
	if n.Kind != jsonc.String {
		list = e.texts(n, at)
	}
	for _, scope := range list {
		bad := strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
		if scope == "" || bad {
			e.fail(n.Offset, at, "holds what cannot be a scope: use visible ASCII characters without space, \" and \\")
			return nil
		}
	}
	return list
}

// redirect returns n expanded if a browser can be sent back to it: an https URL, an
// http one of this machine, or a scheme of the program's own (RFC 8252, section 7).
func (e *entry) redirect(n *jsonc.Node, at jsonc.Path) string {
	return e.text(n, at, noControls, func(text string) string {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme == "" || u.Opaque != "" || u.Fragment != "" || u.User != nil:
			return "is not a URL to come back to: write it as https://host/path or http://127.0.0.1:port/path"
		case (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() == "":
			return "has no host: write it as https://host/path or http://127.0.0.1:port/path"
		case u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
			return "must start with https://, unless it is on this machine: http://127.0.0.1:port/path"
		case !strings.Contains(u.Scheme, ".") && u.Scheme != "https" && u.Scheme != "http":
			return "must start with https:// or with a scheme of the program's own that has a dot in it, such as com.example.app:/back"
		}
		return ""
	})
}
