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

// A source is a TokenRequest that was checked.
type source struct {
	url      target
	fields   []sourceField // sorted by name, so that one request is always the same
	json     bool
	user     secretText
	password secretText
	extract  []string
	rejected [][]byte
}

type sourceField struct {
	name string
	text secretText
}

// newSource checks a TokenRequest and notes what is wrong with it.
func newSource(t *TokenRequest, p *problems) *source {
	s := &source{url: parseTarget("auth.token.url", t.URL, p), json: t.JSON}
	s.url.secret = true
	s.user, s.password = readSecretText("auth.token.user", t.User, p), readSecretText("auth.token.password", t.Password, p)
	if s.user.empty() && !s.password.empty() {
		p.add("auth.token.password", "has no user that it belongs to: set auth.token.user, too")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		at := "auth.token.fields." + name
		if name == "" || !utf8.ValidString(name) {
			p.add(at, "cannot be the name of a field")
		}
		s.fields = append(s.fields, sourceField{name, readSecretText(at, t.Fields[name], p)})
	}
	if t.Extract != "" {
		s.extract = strings.Split(strings.TrimPrefix(t.Extract, "$."), ".")
		if slices.Contains(s.extract, "") || len(t.Extract) > 1<<10 {
			p.add("auth.token.extract", "is longer than 1 KiB, or has an empty name between its dots: write it as data.token")
		}
	}
	for i, word := range t.Rejected {
		if strings.TrimSpace(word) == "" {
			p.add(place("auth.token.rejected", i), "is empty, and would be in each answer")
		}
		s.rejected = append(s.rejected, []byte(word))
	}
	return s
}
