package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// An Auth is what an entry says of the login at its server, the key "auth".
type Auth struct {
	ClientID     string   `json:"clientId,omitempty"`     // of a client that is registered already; else one is registered
	ClientSecret Secret   `json:"clientSecret,omitempty"` // of that client; a public client has none
	Scopes       []string `json:"scopes,omitzero"`        // to ask for; nil means those that the server names
	Issuer       string   `json:"issuer,omitempty"`       // the authorization server, if the server must not choose it
	RedirectURL  string   `json:"redirectUrl,omitempty"`  // where the user's browser comes back to

	// The endpoints of the authorization server, of one that publishes no metadata. Nothing
	// is looked up then, and Issuer is by default the origin of TokenURL.
	AuthorizationURL string `json:"authorizationUrl,omitempty"` // where users log in, with TokenURL
	TokenURL         string `json:"tokenUrl,omitempty"`         // where tokens come from
	DeviceURL        string `json:"deviceUrl,omitempty"`        // of "device_code", with TokenURL

	Grant       string            `json:"grant,omitempty"`       // "authorization_code" (with a browser that comes back; the default) or "device_code" (with a short code, on any device)
	LoginParams map[string]string `json:"loginParams,omitempty"` // added to the address where users log in; not secret
	AskConsent  bool              `json:"askConsent,omitempty"`  // users are asked for their consent at each login
}

// auth reads how to log in. Unknown keys are warnings: what is not understood is not
// asked for, which the server then refuses.
func (e *entry) auth(s *Server) {
	e.authSection(s)
	e.oauth(s)
	if f := e.field(dialect.Scopes); f != nil {
		if s.Auth == nil {
			s.Auth = &Auth{}
		}
		s.Auth.Scopes = append(s.Auth.Scopes, e.scopes(f.Value, f.At)...)
	}
}

func (e *entry) authSection(s *Server) {
	f := e.field("auth")
	if f == nil || f.Value.Kind == jsonc.String && f.Value.Text == "oauth" { // which is what happens anyway
		return
	}
	if !e.check(f.Value, f.At, jsonc.Object) {
		return
	}
	a, wrong := &Auth{}, len(e.faults)
	e.object(f.Value, f.At, false,
		key{"clientId CLIENT_ID", set(&a.ClientID, e.visible)},
		key{"clientSecret CLIENT_SECRET", set(&a.ClientSecret, e.clientSecret)},
		key{"scopes", set(&a.Scopes, e.scopes)},
		key{"issuer", set(&a.Issuer, e.url)},
		key{"redirectUrl redirect_uri", set(&a.RedirectURL, e.redirect)},
		key{"authorizationUrl authorization_url", set(&a.AuthorizationURL, e.url)},
		key{"tokenUrl token_url", set(&a.TokenURL, e.url)},
		key{"deviceUrl", set(&a.DeviceURL, e.url)},
		key{"grant", set(&a.Grant, e.choice("grant type", "authorization_code", "device_code"))},
		key{"loginParams extra_params", set(&a.LoginParams, e.loginParams)},
		key{"askConsent", set(&a.AskConsent, e.boolOf)},
		key{"type", func(n *jsonc.Node, at jsonc.Path) { // "oauth", which is what all of this is
			if e.check(n, at, jsonc.String) && !strings.HasPrefix(strings.ToLower(n.Text), "oauth") {
				e.warn(n.Offset, at, "unknown kind of login, which is ignored: write \"oauth\", or put a fixed token in \"headers\"")
			}
		}},
		key{"use_pkce", func(n *jsonc.Node, at jsonc.Path) {
			if n.Text == "false" {
				e.warn(n.Offset, at, "is ignored: PKCE is always used")
			}
		}})
	if a.ClientSecret != "" && a.ClientID == "" {
		e.fail(f.Offset, f.At, "has a client secret without \"clientId\": add it")
	}
	if len(e.faults) == wrong {
		e.checkLogin(f, a)
	}
	s.Auth = a
}

// oauth reads what other programs say of a client that is registered already: Claude
// Code, VS Code, Gemini CLI, Zed, OpenCode and Crush. It stays in Extra, as all that is theirs, and the
// rest of it is left to the server. Our own keys count instead.
func (e *entry) oauth(s *Server) {
	if s.Auth != nil || s.Transport == TransportStdio || e.opts.AsWritten {
		return
	}
	var fields []dialect.Field
	for i := range e.fields {
		f := e.fields[i]
		if key, ok := strings.CutPrefix(f.Key, "oauth_"); ok { // of Crush
			f.Key = key
			fields = append(fields, f)
		} else if f.Key == "oauth" {
			fields = append(fields, f.Inside(nil)...)
		}
	}
	a := &Auth{}
	for _, f := range fields {
		text := f.Value.Kind == jsonc.String
		switch key := strings.ReplaceAll(strings.ToLower(f.Key), "_", ""); {
		case text && key == "clientid":
			a.ClientID = e.visible(f.Value, f.At)
		case text && key == "clientsecret":
			a.ClientSecret = e.clientSecret(f.Value, f.At)
		case (key == "scopes" || key == "scope") && (text || f.Value.Kind == jsonc.Array):
			a.Scopes = e.scopes(f.Value, f.At)
		case text && key == "redirecturi":
			a.RedirectURL = e.redirect(f.Value, f.At)
		case key == "callbackport" && f.Value.Kind == jsonc.Number:
			a.RedirectURL = fmt.Sprintf("http://localhost:%d/callback", e.count(f.Value, f.At, 1, 65535))
		}
	}
	if a.ClientID != "" {
		s.Auth = a
	}
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
