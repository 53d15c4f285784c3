package rest

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	tokenTTL     = 5 * time.Minute // of a token whose answer does not say
	maxRejection = 16 << 10        // how far a word of Rejected is looked for, in bytes
)

// check notes what is wrong with a TokenRequest, and returns its address.
func (t *TokenRequest) check(p *problems) target {
	from := parseTarget("auth.token.url", t.URL, p)
	p.checkText("auth.token.user", t.User)
	p.checkText("auth.token.password", t.Password)
	if t.User == "" && t.Password != "" {
		p.add("auth.token.password", "has no user that it belongs to: set auth.token.user, too")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		at := "auth.token.fields." + name
		if name == "" || !utf8.ValidString(name) {
			p.add(at, "cannot be the name of a field")
		}
		p.checkText(at, t.Fields[name])
	}
	if t.Extract != "" && (slices.Contains(t.path(), "") || len(t.Extract) > 1<<10) {
		p.add("auth.token.extract", "is longer than 1 KiB, or has an empty name between its dots: write it as data.token")
	}
	for i, word := range t.Rejected {
		if strings.TrimSpace(word) == "" {
			p.add(place("auth.token.rejected", i), "is empty, and would be in each answer")
		}
	}
	return from
}

// path returns where in an answer the token is.
func (t *TokenRequest) path() []string {
	return strings.Split(strings.TrimPrefix(t.Extract, "$."), ".")
}
