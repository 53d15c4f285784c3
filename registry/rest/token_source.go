package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
)

const (
	defaultTTL   = 5 * time.Minute
	maxRejection = 16 << 10 // how far a word of Rejected is looked for, in bytes
)

// A source is a TokenRequest that was checked.
type source struct {
	url       target
	method    string
	fields    []sourceText // sorted by name, so that one request is always the same
	fieldsIn  Place
	json      bool
	headers   []sourceText
	user      secretText
	password  secretText
	extract   []string
	expiresIn []string
	expiresAt []string
	ttl       time.Duration
	rejected  [][]byte
}

type sourceText struct {
	name string
	text secretText
}

// newSource checks a TokenRequest and notes what is wrong with it.
func newSource(t *TokenRequest, p *problems) *source {
	s := &source{method: strings.ToUpper(t.Method), fieldsIn: t.FieldsIn, json: t.Encoding == JSONEncoding, ttl: time.Duration(t.TTL)}
	var problem string
	if s.url, problem = parseTarget("auth.token.url", t.URL); problem != "" {
		s.url.host = ""
		p.add("auth.token.url", problem)
	}
	s.url.secret = true
	text := func(at, raw string) secretText {
		text, problem := parseSecretText(at, raw)
		if problem != "" {
			p.add(at, problem)
		} else if isMask(raw) {
			p.add(at, maskProblem)
		}
		return text
	}
	s.user, s.password = text("auth.token.user", t.User), text("auth.token.password", t.Password)
	if s.user.empty() && !s.password.empty() {
		p.add("auth.token.password", "has no user that it belongs to: set auth.token.user, too")
	}
	s.setFields(t, p, text)
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		at := "auth.token.headers." + name
		if !headerMaySet(name) || !s.user.empty() && strings.EqualFold(name, "Authorization") {
			p.add(at, "is not a header that can be set here: it is none, or about the body, or auth.token.user sets it")
			continue
		}
		s.headers = append(s.headers, sourceText{name, text(at, t.Headers[name])})
	}
	s.setPaths(t, p)
	switch {
	case s.ttl < 0:
		p.add("auth.token.ttl", "is negative")
	case s.ttl == 0:
		s.ttl = defaultTTL
	}
	for i, word := range t.Rejected {
		if strings.TrimSpace(word) == "" {
			p.add(place("auth.token.rejected", i), "is empty, and would be in each answer")
		}
		s.rejected = append(s.rejected, []byte(word))
	}
	return s
}

func (s *source) setFields(t *TokenRequest, p *problems, text func(at, raw string) secretText) {
	switch s.method {
	case "":
		s.method = http.MethodPost
	case http.MethodGet, http.MethodPost:
	default:
		p.add("auth.token.method", "is neither GET nor POST")
	}
	switch s.fieldsIn {
	case "":
		s.fieldsIn = InBody
		if s.method == http.MethodGet {
			s.fieldsIn = InQuery
		}
	case InQuery, InHeader:
	case InBody:
		if s.method == http.MethodGet {
			p.add("auth.token.fieldsIn", "is the body, which a GET has not: use POST, or query or header")
		}
	default:
		p.add("auth.token.fieldsIn", "is not known: it is body, query or header")
	}
	switch t.Encoding {
	case "", FormEncoding, JSONEncoding:
	default:
		p.add("auth.token.encoding", "is not known: it is form or json")
	}
	if t.Encoding != "" && s.fieldsIn != InBody {
		p.add("auth.token.encoding", "has no meaning for fields that are not in the body: leave it out")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		at := "auth.token.fields." + name
		if name == "" || !utf8.ValidString(name) || s.fieldsIn == InHeader && !headerMaySet(name) {
			p.add(at, "cannot be the name of a field there")
		}
		s.fields = append(s.fields, sourceText{name, text(at, t.Fields[name])})
	}
}

func (s *source) setPaths(t *TokenRequest, p *problems) {
	path := func(field, raw string) []string {
		steps, problem := parseTokenPath(raw)
		if problem != "" {
			p.add("auth.token."+field, problem)
		}
		return steps
	}
	s.extract, s.expiresIn, s.expiresAt = path("extract", t.Extract), path("expiresIn", t.ExpiresIn), path("expiresAt", t.ExpiresAt)
	switch {
	case t.Extract == "" && t.ExpiresIn != "":
		p.add("auth.token.expiresIn", "has no meaning where the whole text is the token: set extract, or use ttl")
	case t.Extract == "" && t.ExpiresAt != "":
		p.add("auth.token.expiresAt", "has no meaning where the whole text is the token: set extract, or use ttl")
	case t.ExpiresIn != "" && t.ExpiresAt != "":
		p.add("auth.token.expiresIn", "is there beside expiresAt: leave one out")
	case t.Extract != "" && t.ExpiresIn == "" && len(s.extract) > 0:
		s.expiresIn = append(slices.Clone(s.extract[:len(s.extract)-1]), "expires_in")
	}
}

// rejects reports whether an answer says that the token is not valid.
func (s *source) rejects(a *answer) bool {
	if a.status == http.StatusUnauthorized {
		return true
	}
	head := a.body[:min(len(a.body), maxRejection)]
	return slices.ContainsFunc(s.rejected, func(word []byte) bool { return bytes.Contains(head, word) })
}

// request makes the request for a token.
func (s *source) request(ctx context.Context, k *keyring) (*guardhttp.Request, error) {
	r := &guardhttp.Request{Method: s.method, Header: make(http.Header), Timeout: fetchTimeout, MaxBytes: maxTokenAnswer, Follow: true}
	r.Header.Set("Accept", "application/json, */*;q=0.5")
	for _, h := range s.headers {
		value, err := k.header(ctx, h.text, true)
		if err != nil {
			return nil, err
		}
		r.Header.Set(h.name, value)
	}
	if !s.user.empty() {
		value, err := basic(ctx, k, s.user, s.password)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", value)
	}
	path, err := s.url.pathText(ctx, k)
	if err != nil {
		return nil, err
	}
	query, err := s.url.queryText(ctx, k)
	if err != nil {
		return nil, err
	}
	body := payload{kind: formPayload, contentType: "application/x-www-form-urlencoded"}
	if s.json {
		body = payload{kind: jsonPayload, contentType: "application/json", raw: []byte("{}")}
	}
	for _, f := range s.fields {
		if s.fieldsIn == InHeader {
			value, err := k.header(ctx, f.text, soundsSecret(f.name))
			if err != nil {
				return nil, err
			}
			r.Header.Set(f.name, value)
			continue
		}
		value, err := k.text(ctx, f.text, soundsSecret(f.name))
		if err != nil {
			return nil, err
		}
		switch {
		case !utf8.ValidString(value):
			return nil, &SecretError{API: k.api, Place: f.text.place, Err: errors.New("is not UTF-8, which a field has to be")}
		case s.fieldsIn == InQuery:
			if query != "" {
				query += "&"
			}
			query += escape(f.name) + "=" + escape(value)
		default:
			if err := body.add(f.name, value); err != nil {
				return nil, err
			}
		}
	}
	r.URL = s.url.origin + path
	if query != "" {
		r.URL += "?" + query
	}
	if s.method == http.MethodPost && s.fieldsIn == InBody && (len(s.fields) > 0 || s.json) {
		data, contentType, err := body.encode()
		if err != nil {
			return nil, err
		}
		r.Body = string(data)
		r.Header.Set("Content-Type", contentType)
	}
	return r, nil
}

// A tokenKey tells apart for whom, and by what credentials, a token was fetched.
type tokenKey [sha256.Size]byte

func tokenKeyOf(ctx context.Context, r *guardhttp.Request) tokenKey {
	h := sha256.New()
	add := func(text string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		_, _ = h.Write(size[:])
		_, _ = h.Write([]byte(text))
	}
	user, known := onbehalf.User(ctx)
	if known {
		add("user")
	}
	for _, text := range []string{user, r.Method, r.URL, r.Body} {
		add(text)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		add(name)
		for _, value := range r.Header[name] {
			add(value)
		}
	}
	return tokenKey(h.Sum(nil))
}

// token makes the keyring hold the token of the user, and returns it: one that is
// kept, or a new one. It returns nil if the API wants none.
func (l *link) token(ctx context.Context, k *keyring) (*token, error) {
	s := l.login.source
	if s == nil {
		return nil, nil
	}
	r, err := s.request(ctx, k)
	if err != nil {
		return nil, err
	}
	hidden := k.hidden // of all who wait: their credentials are the same
	t, err := l.tokens.get(ctx, tokenKeyOf(ctx, r), func(ctx context.Context) (*token, error) {
		got, err := l.fetch(ctx, r)
		var failed *TokenError
		if errors.As(err, &failed) && slices.ContainsFunc(hidden, func(secret string) bool { return strings.Contains(failed.Code, secret) }) {
			failed.Code = ""
		}
		return got, err
	})
	if err != nil {
		return nil, err
	}
	k.set(tokenName, t.text)
	return t, nil
}
