package auth

import (
	"slices"
	"strings"
)

// offlineAccess asks for a refresh token where the authorization server knows it
// (OpenID Connect Core 1.0, section 11).
const offlineAccess = "offline_access"

// ChooseScopes returns the scopes to ask for: those of Config.Scopes; else those
// of the challenge; else those that the resource names, as far as
// Config.MaxScopes allows. If the challenge is about insufficient scope, its
// scopes are added to those and to the ones asked for before. Where a user takes
// part and the authorization server lists offline_access, that is added.
//
// No scopes means that the request is to name none. The error is a [*ScopeError]:
// the challenge wants more than Config.MaxScopes has.
func (f *Flow) ChooseScopes(a *Authority, challenges []Challenge, before []string) ([]string, error) {
	limit := f.config.MaxScopes
	named, _ := param(challenges, "scope")
	demanded := scopesOf(named)
	var chosen []string
	if insufficient(challenges) {
		chosen = union(within(before, limit), f.config.Scopes)
		if len(demanded) == 0 && len(f.config.Scopes) == 0 {
			chosen = union(chosen, within(a.ResourceScopes, limit))
		}
		chosen = union(chosen, demanded)
	} else if len(f.config.Scopes) > 0 {
		chosen, demanded = union(f.config.Scopes), nil
	} else if len(demanded) > 0 {
		chosen = demanded
	} else if chosen = within(a.ResourceScopes, limit); len(chosen) == 0 {
		demanded = a.ResourceScopes
	}
	if extra := beyond(demanded, limit); len(extra) > 0 {
		return nil, &ScopeError{Server: f.config.Server, Scopes: extra, Problem: "the server wants them and MaxScopes does not have them"}
	}
	if f.config.Grant.Interactive() && slices.Contains(a.Scopes, offlineAccess) {
		chosen = union(chosen, []string{offlineAccess})
	}
	return chosen, nil
}

func insufficient(challenges []Challenge) bool {
	return slices.ContainsFunc(challenges, func(c Challenge) bool { return c.Params["error"] == "insufficient_scope" })
}

// maxScopes bounds lists of scopes, in bytes.
const maxScopes = 64 << 10

// scopesOf returns the scopes of a list that has blanks between them. A list that
// is too long says nothing.
func scopesOf(list string) []string {
	if len(list) > maxScopes {
		return nil
	}
	return validScopes(strings.Fields(list))
}

// validScopes returns what of a list can be asked for, once each.
func validScopes(list []string) []string {
	return union(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !validScope(s) }))
}

// validScope reports whether s is one scope (RFC 6749, section 3.3).
func validScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// union returns the scopes of all lists once, in order, in a list of its own.
func union(lists ...[]string) []string {
	var all []string
	seen := make(map[string]bool)
	for _, list := range lists {
		for _, s := range list {
			if !seen[s] {
				seen[s] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// within returns the scopes that limit has, of which nil is none.
func within(scopes, limit []string) []string {
	return slices.DeleteFunc(union(scopes), func(s string) bool { return !allowed(s, limit) })
}

// beyond returns the scopes that limit, of which nil is none, does not have.
func beyond(scopes, limit []string) []string {
	return slices.DeleteFunc(union(scopes), func(s string) bool { return allowed(s, limit) })
}

// allowed reports whether limit has a scope. offline_access gives no rights at
// the server, so it needs no leave.
func allowed(s string, limit []string) bool {
	return limit == nil || s == offlineAccess || slices.Contains(limit, s)
}
