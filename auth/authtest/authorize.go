package authtest

import (
	"cmp"
	"crypto/rand"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// codeLifetime is how long an authorization code is good.
const codeLifetime = time.Minute

// An authorization is an authorization request that was found to be right, and the code that
// was issued for it.
type authorization struct {
	client      *client
	redirectURI string
	state       string
	challenge   string
	login       *family
	expires     time.Time // of the code
	used        bool
}

// serveAuthorization deals with an authorization request (RFC 6749, section
// 4.1.1, with PKCE).
func (s *Server) serveAuthorization(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	a := &authorization{
		redirectURI: query.Get("redirect_uri"),
		state:       query.Get("state"),
		challenge:   query.Get("code_challenge"),
		// The tokens are bound to the key of dpop_jkt (RFC 9449, section 10).
		login: &family{Family: Family{Resource: query.Get("resource"), Scopes: strings.Fields(query.Get("scope"))}, thumb: query.Get("dpop_jkt")},
	}
	var err error
	if a.client, err = s.client(r.Context(), query.Get("client_id")); err != nil {
		return err
	}
	// Until here, no browser may be redirected.
	if !slices.Contains(a.client.RedirectURIs, a.redirectURI) {
		return refusef("invalid_request", "redirect_uri %q is not registered", a.redirectURI)
	}
	if err := s.checkAuthorization(a, query); err != nil {
		s.redirectError(w, r, a, err)
		return nil
	}
	switch {
	case r.Header.Get(decisionHeader) == denied:
		s.redirectError(w, r, a, refusef("access_denied", "the user said no"))
	case r.Header.Get(decisionHeader) == approved, !s.options.LoginPage:
		s.redirectCode(w, r, a, cmp.Or(r.Header.Get(userHeader), defaultUser))
	default:
		return s.serveLogin(w, r, a)
	}
	return nil
}

func (s *Server) checkAuthorization(a *authorization, query url.Values) error {
	if err := once(query); err != nil {
		return err
	}
	switch {
	case query.Get("response_type") != "code":
		return refusef("unsupported_response_type", "response_type is %q, want code", query.Get("response_type"))
	case len(a.challenge) < 43 || query.Get("code_challenge_method") != "S256":
		return refusef("invalid_request", "want a code_challenge with code_challenge_method S256")
	}
	if err := a.client.mayUse(grantCode); err != nil {
		return err
	}
	if err := s.checkScopes(a.login.Scopes); err != nil {
		return err
	}
	return s.checkResource(query)
}

func (s *Server) checkScopes(scopes []string) error {
	for _, scope := range scopes {
		if s.options.Scopes != nil && !slices.Contains(s.options.Scopes, scope) {
			return refusef("invalid_scope", "scope %q is not known", scope)
		}
	}
	return nil
}

// checkResource checks the resource parameter (RFC 8707, section 2).
func (s *Server) checkResource(form url.Values) error {
	values := form["resource"]
	switch {
	case len(values) == 0 && !s.options.ResourceOptional:
		return refusef("invalid_target", "resource is missing")
	case len(values) > 0 && s.options.ResourceRefused:
		return refusef("invalid_target", "resource is not supported")
	case len(values) > 1:
		return refusef("invalid_target", "more than one resource")
	case len(values) == 1:
		u, err := url.Parse(values[0])
		if err != nil || !u.IsAbs() || u.Host == "" || strings.Contains(values[0], "#") {
			return refusef("invalid_target", "resource %q: want an absolute address without a fragment", values[0])
		}
	}
	return nil
}

func (s *Server) redirectCode(w http.ResponseWriter, r *http.Request, a *authorization, user string) {
	text := "code-" + rand.Text()
	s.keep(text, a.state)
	a.login.ClientID, a.login.User, a.expires = a.client.ID, user, time.Now().Add(codeLifetime)
	s.mu.Lock()
	s.codes[text] = a
	s.mu.Unlock()
	s.redirect(w, r, a, url.Values{"code": {text}})
}

func (s *Server) redirectError(w http.ResponseWriter, r *http.Request, a *authorization, err error) {
	e := err.(*refusal)
	s.redirect(w, r, a, url.Values{"error": {e.code}, "error_description": {e.text}})
}

// redirect sends the user's browser back to the client.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request, a *authorization, response url.Values) {
	if a.state != "" {
		response.Set("state", a.state)
	}
	response.Set("iss", s.Issuer)
	separator := "?"
	if strings.Contains(a.redirectURI, "?") {
		separator = "&"
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, a.redirectURI+separator+response.Encode(), http.StatusFound)
}

const loginPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Log in</title></head><body>
<h1>Log in</h1>
<p>{{.Client}} asks for: {{range .Scopes}}{{.}} {{else}}nothing special {{end}}</p>
<form method="post" action="{{.Action}}">
<p><label>User <input name="user" autocomplete="username" required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
<p><button name="decision" value="approve">Allow</button>
<button name="decision" value="deny" formnovalidate>Deny</button></p>
</form></body></html>
`

// serveLogin shows the page, or takes what was typed there.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request, a *authorization) error {
	if r.Method == http.MethodPost {
		if err := r.ParseForm(); err != nil {
			return refusef("invalid_request", "%v", err)
		}
		if r.PostForm.Get("decision") == denied {
			s.redirectError(w, r, a, refusef("access_denied", "the user said no"))
		} else {
			s.redirectCode(w, r, a, r.PostForm.Get("user"))
		}
		return nil
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	page := template.Must(template.New("login").Parse(loginPage))
	return page.Execute(w, map[string]any{"Client": a.client.ID, "Scopes": a.login.Scopes, "Action": r.URL.RequestURI()})
}
