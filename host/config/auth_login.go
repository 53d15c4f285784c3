package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func (e *entry) loginParams(n *jsonc.Node, at jsonc.Path) map[string]string {
	if !e.check(n, at, jsonc.Object) || len(n.Members) == 0 {
		return nil
	}
	own := []string{"", "response_type", "response_mode", "client_id", "redirect_uri", "state", "code_challenge",
		"code_challenge_method", "scope", "resource", "dpop_jkt", "request", "request_uri"} // that this library sets itself
	params := make(map[string]string, len(n.Members))
	for _, m := range n.Members {
		at := at.Key(m.Key)
		if slices.Contains(own, m.Key) {
			e.fail(m.Offset, at, "is a parameter that is set otherwise: remove it")
			continue
		}
		params[m.Key] = e.visible(&m.Value, at)
	}
	return params
}

// checkLogin notes what is missing of a login, and what has no effect: all of it, if none says why.
func (e *entry) checkLogin(f *dialect.Field, a *Auth, none string) {
	device, rest := a.Grant == "device_code", *a
	if rest.Off = false; a.Off && !reflect.ValueOf(rest).IsZero() {
		none = "logins are switched off beside it"
	}
	if none != "" {
		e.warn(f.Offset, f.At, "has no effect: %s", none)
		return
	}
	for _, c := range []struct {
		is   bool
		note func(offset int, at jsonc.Path, format string, args ...any)
		text string
	}{
		{a.ClientSecret != "" && a.ClientID == "", e.fail, "has a client secret without \"clientId\": add it"},
		{a.ClientSecret == "" && strings.HasPrefix(a.AuthMethod, "client_secret"), e.fail, "has an \"authMethod\" that needs a \"clientSecret\": add it"},
		{a.TokenURL == "" && (a.AuthorizationURL != "" || a.DeviceURL != ""), e.fail,
			"says where a login begins without \"tokenUrl\": add it, or remove both to have them looked up"},
		{a.TokenURL != "" && device && a.DeviceURL == "", e.fail,
			"has a \"tokenUrl\" without \"deviceUrl\": add it, or remove the former to have both looked up"},
		{a.TokenURL != "" && !device && a.AuthorizationURL == "", e.fail,
			"has a \"tokenUrl\" without \"authorizationUrl\": add it, or remove the former to have both looked up"},
		{device && len(a.LoginParams) > 0, e.fail, "has \"loginParams\", which a login by device_code has no place for: remove them"},
		{device && a.AskConsent, e.warn, "\"askConsent\" has no effect where users log in by device_code"},
		{device && a.RedirectURL != "", e.warn, "\"redirectUrl\" has no effect where users log in by device_code"},
		{!device && !strings.HasPrefix(cmp.Or(a.RedirectURL, "http:"), "http:"), e.warn,
			"\"redirectUrl\" has no effect if it is not on this machine: write http://127.0.0.1:port/path"},
		{a.AuthMethod != "" && a.ClientID == "", e.warn,
			"\"authMethod\" has no effect without \"clientId\": a client that is registered anew does as the authorization server says"},
		{a.ClientSecret != "" && a.AuthMethod == "none", e.warn, "\"clientSecret\" has no effect beside the \"authMethod\" none"},
		{a.RegistrationURL != "" && a.ClientID != "", e.warn, "\"registrationUrl\" has no effect beside \"clientId\""},
		{a.RegistrationURL != "" && a.TokenURL == "", e.warn, "\"registrationUrl\" has no effect without \"tokenUrl\""},
		{a.RevocationURL != "" && a.TokenURL == "", e.warn, "\"revocationUrl\" has no effect without \"tokenUrl\""},
		{a.AskConsent && a.LoginParams["prompt"] != "", e.warn, "\"askConsent\" has no effect beside a \"prompt\" in \"loginParams\""},
	} {
		if c.is {
			c.note(f.Offset, f.At, "%s", c.text)
		}
	}
}

// NoLogin says why no user logs in at the server, or "" if that can be done.
func (s *Server) NoLogin() string {
	if s != nil && s.Auth != nil && s.Auth.Off {
		return "its entry switches logins off"
	}
	return s.noLogin()
}

func (s *Server) noLogin() string {
	switch {
	case s == nil:
		return "there is no entry"
	case s.Transport == TransportUnix:
		return "it is behind a socket of this machine"
	case s.Transport != TransportHTTP && s.Transport != TransportSSE && s.Transport != TransportAuto:
		return "it is a local process"
	case s.Identity == IdentityHeader && strings.EqualFold(s.UserHeader, "Authorization"):
		return "its Authorization header names the user"
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return "its entry has an Authorization header of its own, which is sent instead: remove that to log in"
		}
	}
	return ""
}
