package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// fetchTimeout is how long a token is waited for at most. Tests wait longer.
var fetchTimeout = 30 * time.Second

const (
	maxTokenAnswer = 256 << 10 // bytes
	maxToken       = 16 << 10  // bytes
)

// A TokenError reports that no token could be fetched. The request that it was for
// was not sent, or was refused for the token that it had. It shows nothing of the
// answer.
type TokenError struct {
	// API is the name of the API.
	API string
	// Host is where the token was asked for.
	Host string
	// Status is the HTTP status of the answer; 0 if there was none.
	Status int
	// Err says what is wrong.
	Err error
}

func (e *TokenError) Error() string {
	return fmt.Sprintf("rest: API %s: no token from %s: %v", plain.Quote(e.API), e.Host, e.Err)
}

// Unwrap returns Err.
func (e *TokenError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent].
func (e *TokenError) Outcome() mcp.Outcome { return mcp.NotSent }

// fetch asks for a token.
func (l *sender) fetch(ctx context.Context, r *guardhttp.Request) (*token, error) {
	s := l.login.source
	began := time.Now()
	fail := func(status int, err error) error {
		return &TokenError{API: l.api, Host: s.url.host, Status: status, Err: err}
	}
	resp, err := l.do(ctx, r)
	if err != nil {
		var failed *guardhttp.Failure
		status := 0
		if errors.As(err, &failed) { // whose text begins with the host
			status, err = failed.Status, failed.Err
		}
		return nil, fail(status, err)
	}
	switch {
	case resp.Status/100 != 2:
		return nil, fail(resp.Status, fmt.Errorf("the answer has the HTTP status %d: %s", resp.Status, statusCure(resp.Status)))
	case resp.Truncated:
		return nil, fail(resp.Status, fmt.Errorf("the answer is larger than %d KiB", maxTokenAnswer>>10))
	}
	t, err := s.read(resp.Body, began)
	if err != nil {
		return nil, fail(resp.Status, err)
	}
	return t, nil
}

// statusCure says what to look at.
func statusCure(status int) string {
	switch {
	case status/100 == 3:
		return "it is a redirect, which is not followed with credentials to another origin or with POST; set auth.token.url to where it leads"
	case status == http.StatusTooManyRequests:
		return "too many requests; try again later"
	case status/100 == 5:
		return "the service is in trouble; try again later"
	}
	return "check auth.token and its secrets"
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
		value, err := k.text(ctx, f.text, soundsSecret(f.name))
		if err != nil {
			return nil, err
		}
		switch {
		case !utf8.ValidString(value):
			return nil, &SecretError{API: k.api, Place: f.text.place, Err: errors.New("is not UTF-8, which a field has to be")}
		case s.method == http.MethodGet:
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
	if s.method == http.MethodPost && (len(s.fields) > 0 || s.json) {
		data, contentType, err := body.encode()
		if err != nil {
			return nil, err
		}
		r.Body = string(data)
		r.Header.Set("Content-Type", contentType)
	}
	return r, nil
}

// valueAt returns what is at a path of a document that is valid JSON; nil if nothing
// is there.
func valueAt(document []byte, path []string) []byte {
	value := document
	for _, step := range path {
		var next []byte
		for key, member := range jsonscan.Fields(value) {
			if string(key) == step {
				next = member
			}
		}
		if at, err := strconv.Atoi(step); err == nil && at >= 0 && next == nil {
			for element := range jsonscan.Elements(value) {
				if at == 0 {
					next = element
					break
				}
				at--
			}
		}
		if next == nil {
			return nil
		}
		value = next
	}
	return value
}

// tokenScalar returns the text of a string or a number.
func tokenScalar(value []byte) (text string, ok bool) {
	if text, ok := jsonscan.String(value); ok {
		return text, true
	}
	if len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
		return string(value), true
	}
	return "", false
}

// read finds the token in an answer that came to what was sent at began. Its errors
// show nothing of it.
func (s *source) read(body []byte, began time.Time) (*token, error) {
	if s.extract == nil {
		text := strings.TrimSpace(string(body))
		switch {
		case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
			return nil, errors.New("the answer is JSON, and not a token itself: say in auth.token.extract where in it the token is")
		case strings.HasPrefix(text, `"`) && jsonscan.Valid([]byte(text)) == nil:
			text, _ = jsonscan.String([]byte(text))
		}
		return s.token(text, s.ttl, began)
	}
	if err := jsonscan.Valid(body); err != nil {
		return nil, errors.New("the answer is not JSON, in which auth.token.extract could find anything")
	}
	value := valueAt(body, s.extract)
	if value == nil {
		return nil, errors.New("the answer has nothing at auth.token.extract")
	}
	text, ok := tokenScalar(value)
	if !ok {
		return nil, errors.New("what is at auth.token.extract is no string")
	}
	life := s.ttl
	if seconds, ok := number(valueAt(body, s.expiresIn)); ok && s.expiresIn != nil {
		life = time.Duration(min(max(seconds, 0), maxLife.Seconds()) * float64(time.Second))
	}
	return s.token(text, life, began)
}

// token returns a token that is good for a time from began on.
func (s *source) token(text string, life time.Duration, began time.Time) (*token, error) {
	switch {
	case text == "":
		return nil, errors.New("the token is empty")
	case len(text) > maxToken:
		return nil, fmt.Errorf("the token is longer than %d KiB", maxToken>>10)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return nil, errors.New("the token has characters that none has: it is perhaps a page for people")
		}
	}
	life = min(max(life, 0), maxLife)
	return &token{text: text, until: began.Add(life - min(life/10, maxMargin))}, nil
}

// number returns a number, perhaps written as a string.
func number(value []byte) (float64, bool) {
	text, ok := tokenScalar(value)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(n)
}
