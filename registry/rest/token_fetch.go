package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	fetchTimeout   = 30 * time.Second
	maxTokenAnswer = 256 << 10 // bytes
	maxToken       = 16 << 10  // bytes
)

// A TokenError reports that no token could be fetched. The request that it was for
// was not sent, or was refused for the token that it had. It shows nothing of the
// answer but an error code of OAuth.
type TokenError struct {
	// API is the name of the API.
	API string
	// Host is where the token was asked for.
	Host string
	// Status is the HTTP status of the answer; 0 if there was none.
	Status int
	// Code is the error code of the answer, if it has one as RFC 6749, section 5.2,
	// writes it, such as invalid_client.
	Code string
	// Err says what is wrong.
	Err error
}

func (e *TokenError) Error() string {
	text := fmt.Sprintf("rest: API %s: no token from %s: %v", quoted(e.API), e.Host, e.Err)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	return text
}

// Unwrap returns Err.
func (e *TokenError) Unwrap() error { return e.Err }

// Outcome returns [mcp.NotSent].
func (e *TokenError) Outcome() mcp.Outcome { return mcp.NotSent }

// fetch asks for a token.
func (l *link) fetch(ctx context.Context, r *guardhttp.Request) (*token, error) {
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
		e := &TokenError{API: l.api, Host: s.url.host, Status: resp.Status, Code: oauthCode(resp.Body)}
		e.Err = fmt.Errorf("the answer has the HTTP status %d: %s", resp.Status, statusCure(resp.Status))
		return nil, e
	case resp.Truncated:
		return nil, fail(resp.Status, fmt.Errorf("the answer is larger than %d KiB", maxTokenAnswer>>10))
	}
	t, err := s.read(resp.Body, began)
	if err != nil {
		e := &TokenError{API: l.api, Host: s.url.host, Status: resp.Status, Code: oauthCode(resp.Body), Err: err}
		return nil, e
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

// oauthCode returns the member "error" of an answer if it is a code.
func oauthCode(body []byte) string {
	if jsonscan.Valid(body) != nil {
		return ""
	}
	for key, value := range jsonscan.Fields(body) {
		if string(key) != "error" {
			continue
		}
		code, _ := jsonscan.String(value)
		if len(code) <= 40 && strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") == "" {
			return code
		}
	}
	return ""
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
