package rest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A TokenRequest says how to fetch a token before the first request, and again when
// it is over. One fetch serves all requests of a user that wait for it. A request that is
// answered with 401 is made once more with a new token, and so is one whose answer has
// one of the words of Rejected.
//
// URL, Fields, Headers, User and Password may hold ${NAME}, see [API]. A token is used
// for the user it was fetched for, and as long as these secrets are the same.
type TokenRequest struct {
	// URL is where the token comes from. Secrets may be in its path and its query.
	URL string `json:"url"`
	// Method is GET or POST. Empty: POST.
	Method string `json:"method,omitempty"`
	// Fields are what is sent, such as grant_type and client_secret: in the body with
	// POST, in the query with GET.
	Fields map[string]string `json:"fields,omitempty"`
	// Encoding is how they are written in a body. Empty: [FormEncoding].
	Encoding TokenEncoding `json:"encoding,omitempty"`
	// Headers are sent, too.
	Headers map[string]string `json:"headers,omitempty"`
	// User is the user name of basic authentication at URL (RFC 7617), often the
	// id of a client. Empty: there is none.
	User string `json:"user,omitempty"`
	// Password is the password to it.
	Password string `json:"password,omitempty"`
	// Extract is where the token is in the answer, which is JSON then: members and
	// indexes with dots between them, such as data.access_token. Empty: the token is
	// the whole text.
	Extract string `json:"extract,omitempty"`
	// ExpiresIn is where the answer says for how many seconds the token is good.
	// Empty: expires_in, beside the token. A number of zero or less means that the
	// token is for one request.
	ExpiresIn string `json:"expiresIn,omitempty"`
	// TTL is how long the token is used if the answer does not say. Default: 5
	// minutes. However it is known, the last tenth of the time, 30 seconds at most,
	// is not used, and no token is used for more than a day.
	TTL Duration `json:"ttl,omitempty"`
	// Rejected are texts, any of which says that the token is not valid if an
	// answer has it, whatever its status; only in its first 16 KiB is looked. The
	// request is then made once more, so a good answer must never have them.
	Rejected []string `json:"rejected,omitempty"`
}

// A TokenEncoding is how the fields of a [TokenRequest] are written in a body.
type TokenEncoding string

// The encodings.
const (
	FormEncoding TokenEncoding = "form" // application/x-www-form-urlencoded
	JSONEncoding TokenEncoding = "json" // an object of strings
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
	json      bool
	headers   []sourceText
	user      secretText
	password  secretText
	extract   []string
	expiresIn []string
	ttl       time.Duration
	rejected  [][]byte
}

type sourceText struct {
	name string
	text secretText
}

// newSource checks a TokenRequest and notes what is wrong with it.
func newSource(t *TokenRequest, p *problems) *source {
	s := &source{method: strings.ToUpper(t.Method), json: t.Encoding == JSONEncoding, ttl: time.Duration(t.TTL)}
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
	switch t.Encoding {
	case "", FormEncoding, JSONEncoding:
	default:
		p.add("auth.token.encoding", "is not known: it is form or json")
	}
	if t.Encoding != "" && s.method == http.MethodGet {
		p.add("auth.token.encoding", "has no meaning for GET, whose fields are in the query: leave it out")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		at := "auth.token.fields." + name
		if name == "" || !utf8.ValidString(name) {
			p.add(at, "cannot be the name of a field")
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
	s.extract, s.expiresIn = path("extract", t.Extract), path("expiresIn", t.ExpiresIn)
	switch {
	case t.Extract == "" && t.ExpiresIn != "":
		p.add("auth.token.expiresIn", "has no meaning where the whole text is the token: set extract, or use ttl")
	case t.Extract != "" && t.ExpiresIn == "" && len(s.extract) > 0:
		s.expiresIn = append(slices.Clone(s.extract[:len(s.extract)-1]), "expires_in")
	}
}

// parseTokenPath reads where something is in a JSON document: names with dots between
// them.
func parseTokenPath(raw string) (steps []string, problem string) {
	switch {
	case raw == "":
		return nil, ""
	case len(raw) > 1<<10:
		return nil, "is longer than 1 KiB"
	}
	steps = strings.Split(strings.TrimPrefix(raw, "$."), ".")
	if slices.Contains(steps, "") {
		return nil, "has an empty name between its dots: write it as data.token"
	}
	return steps, ""
}
