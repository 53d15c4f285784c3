package auth

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A Challenge is one challenge of a WWW-Authenticate field (RFC 9110, section
// 11.6.1).
type Challenge struct {
	// Scheme is in lower case, such as "bearer" or "dpop".
	Scheme string
	// Params are the parameters, their names in lower case. Of two with one
	// name the first counts. It is nil if there are none.
	Params map[string]string
}

// Challenges returns the challenges of a response. Parts of a field that cannot be read
// are left out: a parameter without a scheme, a quote that does not end. Commas may be
// missing, and values that should be quoted may be bare.
func Challenges(h http.Header) []Challenge {
	var all []Challenge
	for _, field := range h.Values("WWW-Authenticate") {
		first := len(all) // no parameter crosses fields
		for _, m := range challengePiece.FindAllStringSubmatch(field, -1) {
			name, quoted, endless, bare, scheme := strings.ToLower(m[1]), m[2], m[3], m[4], m[5]+m[6]
			switch {
			case scheme != "":
				all = append(all, Challenge{Scheme: strings.ToLower(scheme)})
			case name != "" && endless == "" && len(all) > first:
				c := &all[len(all)-1]
				if c.Params == nil {
					c.Params = make(map[string]string)
				}
				if _, twice := c.Params[name]; !twice {
					c.Params[name] = escaped.ReplaceAllString(quoted, "$1") + strings.Trim(bare, "'") // qwen-code#5343
				}
			}
		}
	}
	return all
}

const (
	tokenForm  = "([0-9A-Za-z!#$%&'*+.^_`|~-]+)"
	quotedForm = `"(?:[^"\\]|\\.)*\\?(?:"|$)`
)

// challengePiece matches the next piece of a field: a parameter, whose quote may have no end; a scheme with what
// some have in place of parameters; a scheme; or what cannot be read, up to a comma outside of quotes.
var challengePiece = regexp.MustCompile(`(?s)` + tokenForm + `[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|(".*)|([^ \t,]*))` +
	`|` + tokenForm + `[ \t]+[0-9A-Za-z._~+/-]+=*[ \t]*(?:,|$)` +
	`|` + tokenForm + `(?:[ \t,]|$)` +
	`|(?:` + quotedForm + `|[^", \t])(?:` + quotedForm + `|[^",])*`)

var escaped = regexp.MustCompile(`(?s)\\(.)`)

// param returns the first value that challenges have for a parameter.
func param(challenges []Challenge, name string) (value string, ok bool) {
	for _, c := range challenges {
		if value, ok := c.Params[name]; ok {
			return value, true
		}
	}
	return "", false
}

// offlineAccess asks for a refresh token where the authorization server knows it
// (OpenID Connect Core 1.0, section 11).
const offlineAccess = "offline_access"

// ChooseScopes returns the scopes to ask for: those of Config.Scopes; else those
// of the challenge; else those that the resource names. If the challenge is about
// insufficient scope, its scopes are added to those and to the ones asked for before. Where a
// user takes part and the authorization server lists offline_access, that is added.
//
// No scopes means that the request is to name none.
func (f *Flow) ChooseScopes(a *Authority, challenges []Challenge, before []string) []string {
	named, _ := param(challenges, "scope")
	demanded := scopesOf(named)
	var chosen []string
	switch {
	case slices.ContainsFunc(challenges, func(c Challenge) bool { return c.Params["error"] == "insufficient_scope" }):
		chosen = union(before, f.config.Scopes)
		if len(demanded) == 0 && len(f.config.Scopes) == 0 {
			chosen = union(chosen, a.ResourceScopes)
		}
		chosen = union(chosen, demanded)
	case len(f.config.Scopes) > 0:
		chosen = union(f.config.Scopes)
	case len(demanded) > 0:
		chosen = demanded
	default:
		chosen = union(a.ResourceScopes)
	}
	if f.config.Grant.Interactive() && slices.Contains(a.Scopes, offlineAccess) {
		chosen = union(chosen, []string{offlineAccess})
	}
	return chosen
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
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' })
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
