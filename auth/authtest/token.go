package authtest

import (
	"cmp"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
	formType     = "application/x-www-form-urlencoded"
)

// serveToken deals with a token request (RFC 6749, section 3.2).
func (s *Server) serveToken(w http.ResponseWriter, r *http.Request) error {
	form, err := s.form(r)
	if err != nil {
		return err
	}
	for _, name := range []string{"code_verifier", "refresh_token", "assertion", "client_assertion", "subject_token"} {
		s.keep(form.Get(name))
	}
	s.offerNonce(w)
	grantType := form.Get("grant_type")
	c, err := s.requester(r, form, grantType)
	if err == nil && grantType != grantExchange {
		err = s.checkResource(form)
	}
	thumb := ""
	if err == nil {
		thumb, err = s.bind(r)
	}
	if err != nil {
		return err
	}
	var answer map[string]any
	switch grantType {
	case grantCode:
		answer, err = s.exchangeCode(c, form, thumb)
	case grantRefresh:
		answer, err = s.exchangeRefresh(c, form, thumb)
	case grantClient:
		answer, err = s.exchangeClient(c, form, thumb)
	case grantAssertion:
		answer, err = s.exchangeAssertion(c, form, thumb)
	case grantExchange:
		answer, err = s.exchangeToken(c, form)
	case grantDevice:
		answer, err = s.exchangeDevice(c, form, thumb)
	}
	if err != nil {
		return err
	}
	if s.options.Answer != nil {
		s.options.Answer(r, answer)
	}
	s.mu.Lock()
	s.granted[grantType]++
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// requester returns the client of a token request. It may be nil for an assertion.
func (s *Server) requester(r *http.Request, form url.Values, grantType string) (*client, error) {
	if !slices.Contains(s.grantTypes(), grantType) {
		return nil, refusef("unsupported_grant_type", "grant_type %q is not supported", grantType)
	}
	_, _, basic := r.BasicAuth()
	if grantType == grantAssertion && !basic && !form.Has("client_id") && !form.Has("client_assertion") {
		return nil, nil
	}
	c, err := s.authenticate(r, form)
	if err != nil {
		return nil, err
	}
	return c, c.mayUse(grantType)
}

// form returns the form of a POST whose parameters stand there once.
func (s *Server) form(r *http.Request) (url.Values, error) {
	if r.Method != http.MethodPost {
		return nil, &refusal{code: "invalid_request", status: http.StatusMethodNotAllowed, text: "want POST"}
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != formType {
		return nil, refusef("invalid_request", "Content-Type is %q, want %s", kind, formType)
	}
	if err := r.ParseForm(); err != nil {
		return nil, refusef("invalid_request", "the form cannot be read")
	}
	return r.PostForm, once(r.PostForm)
}

// once refuses parameters that stand there twice.
func once(parameters url.Values) error {
	for name, values := range parameters {
		if len(values) > 1 && name != "resource" {
			return refusef("invalid_request", "parameter %s stands there twice", name)
		}
	}
	return nil
}

func (s *Server) exchangeCode(c *client, form url.Values, thumb string) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.codes[form.Get("code")]
	switch {
	case held == nil:
		return nil, refusef("invalid_grant", "the code is not known")
	case held.used:
		held.login.Ended = true // RFC 6749, section 4.1.2
		return nil, refusef("invalid_grant", "the code was used before")
	case held.client.ID != c.ID:
		return nil, refusef("invalid_grant", "the code is another client's")
	case time.Now().After(held.expires):
		return nil, refusef("invalid_grant", "the code has expired")
	case held.redirectURI != form.Get("redirect_uri"):
		return nil, refusef("invalid_grant", "redirect_uri differs from that of the authorization request")
	case !s.fits(held.login.Resource, form):
		return nil, refusef("invalid_target", "resource differs from that of the authorization request")
	case held.challenge != hash(form.Get("code_verifier")):
		return nil, refusef("invalid_grant", "code_verifier does not fit the code_challenge")
	case held.login.thumb != "" && held.login.thumb != thumb:
		return nil, refusef(codeProof, "the code is bound to another key")
	}
	held.login.Resource = cmp.Or(held.login.Resource, form.Get("resource"))
	held.used, held.login.thumb, held.login.final = true, thumb, c.mayUse(grantRefresh) != nil
	return s.complete(held.login), nil
}

// fits reports whether the resource of a token request is that which was granted.
// If it is optional either may be missing.
func (s *Server) fits(granted string, form url.Values) bool {
	asked := form.Get("resource")
	return asked == granted || s.options.ResourceOptional && (asked == "" || granted == "")
}

func (s *Server) exchangeRefresh(c *client, form url.Values, thumb string) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.refresh[form.Get("refresh_token")]
	switch {
	case held == nil:
		return nil, refusef("invalid_grant", "the refresh token is not known")
	case held.family.ClientID != c.ID:
		return nil, refusef("invalid_grant", "the refresh token is another client's")
	case held.family.Ended:
		return nil, refusef("invalid_grant", "the refresh token was revoked")
	}
	f := held.family
	if !s.fits(f.Resource, form) {
		return nil, refusef("invalid_target", "resource differs from that of the login")
	}
	if f.thumb != thumb {
		return nil, refusef(codeProof, "the tokens are bound to another key, or to none")
	}
	scopes := f.Scopes
	if form.Get("scope") != "" {
		scopes = strings.Fields(form.Get("scope"))
		for _, scope := range scopes {
			if !slices.Contains(f.Scopes, scope) {
				return nil, refusef("invalid_scope", "scope %q was not granted", scope)
			}
		}
	}
	if !s.options.KeepRefresh {
		if !held.used.IsZero() && time.Since(held.used) >= s.options.Grace {
			f.Ended = true
			s.revoked++
			return nil, refusef("invalid_grant", "the refresh token was used before: all tokens of its login are revoked")
		}
		if held.used.IsZero() {
			held.used = time.Now()
		}
	}
	f.Refreshes++
	return s.issue(f, scopes), nil
}
