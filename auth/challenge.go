package auth

import (
	"net/http"
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
		r := challengeReader{rest: field}
		r.read()
		all = append(all, r.found...)
	}
	return all
}

// A challengeReader reads one field.
type challengeReader struct {
	rest  string
	found []Challenge
}

func (r *challengeReader) read() {
	for {
		r.rest = strings.TrimLeft(r.rest, " \t,")
		if r.rest == "" {
			return
		}
		word := r.take(isTokenChar)
		if word == "" {
			r.skip()
			continue
		}
		if after := strings.TrimLeft(r.rest, " \t"); strings.HasPrefix(after, "=") {
			r.rest = strings.TrimLeft(after[1:], " \t")
			r.param(word)
			continue
		}
		if r.rest != "" && strings.IndexByte(" \t,", r.rest[0]) < 0 {
			r.skip()
			continue
		}
		r.found = append(r.found, Challenge{Scheme: strings.ToLower(word)})
		r.token68()
	}
}

// param reads the value of a parameter and adds it to the last challenge.
func (r *challengeReader) param(name string) {
	var value string
	ok := true
	if strings.HasPrefix(r.rest, `"`) {
		value, ok = r.quoted()
	} else {
		value = strings.Trim(r.take(func(c byte) bool { return c != ' ' && c != '\t' && c != ',' }), "'") // qwen-code#5343
	}
	if !ok || len(r.found) == 0 {
		return
	}
	c := &r.found[len(r.found)-1]
	if c.Params == nil {
		c.Params = make(map[string]string)
	}
	name = strings.ToLower(name)
	if _, twice := c.Params[name]; !twice {
		c.Params[name] = value
	}
}

// quoted reads a quoted string, or all that is left if it does not end.
func (r *challengeReader) quoted() (value string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; c {
		case '"':
			r.rest = r.rest[i+1:]
			return b.String(), true
		case '\\':
			if i++; i == len(r.rest) {
				break
			}
			fallthrough
		default:
			b.WriteByte(r.rest[i])
		}
	}
	r.rest = ""
	return "", false
}

// token68 leaves out what some schemes have in place of parameters.
func (r *challengeReader) token68() {
	mark := r.rest
	r.rest = strings.TrimLeft(r.rest, " \t")
	if r.take(isToken68Char) != "" {
		r.take(func(c byte) bool { return c == '=' })
		if after := strings.TrimLeft(r.rest, " \t"); after == "" || after[0] == ',' {
			return
		}
	}
	r.rest = mark
}

// skip leaves out what cannot be read, up to the next comma outside of quotes.
func (r *challengeReader) skip() {
	for r.rest != "" && r.rest[0] != ',' {
		if r.rest[0] == '"' {
			r.quoted()
		} else {
			r.rest = r.rest[1:]
		}
	}
}

// take reads as far as the characters are wanted.
func (r *challengeReader) take(wanted func(byte) bool) string {
	i := 0
	for i < len(r.rest) && wanted(r.rest[i]) {
		i++
	}
	taken := r.rest[:i]
	r.rest = r.rest[i:]
	return taken
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isTokenChar(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func isToken68Char(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("-._~+/", c) >= 0
}

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
