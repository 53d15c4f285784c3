package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// fetchTimeout is how long a token is waited for at most. Tests wait longer.
var fetchTimeout = 30 * time.Second

const (
	maxTokenAnswer = 256 << 10 // bytes
	maxToken       = 16 << 10  // bytes
)

// fetch asks for a token. Its error says why the request that the token is for was not sent,
// and shows nothing of the answer.
func (s *Service) fetch(ctx context.Context, r *guardhttp.Request) (*token, error) {
	began := time.Now()
	resp, err := s.do(ctx, r)
	var failed *guardhttp.Failure
	switch {
	case errors.As(err, &failed): // whose text begins with the host
		err = failed.Err
	case err != nil:
	case resp.Status/100 == 3:
		err = fmt.Errorf("the answer has the HTTP status %d: it is a redirect, which is not followed with credentials to another origin or with POST; set auth.token.url to where it leads", resp.Status)
	case resp.Status/100 != 2:
		err = fmt.Errorf("the answer has the HTTP status %d: check auth.token and its secrets, or try again later", resp.Status)
	case resp.Truncated:
		err = fmt.Errorf("the answer is larger than %d KiB", maxTokenAnswer>>10)
	default:
		var t *token
		if t, err = s.login.Token.read(resp.Body, began); err == nil {
			return t, nil
		}
	}
	return nil, &callError{api: s.api.Name, err: fmt.Errorf("no token from %s: %w", s.login.source.host, err), outcome: mcp.NotSent}
}

// rejects reports whether an answer says that the token is not valid.
func (t *TokenRequest) rejects(a *guardhttp.Answer) bool {
	if a.Status == http.StatusUnauthorized {
		return true
	}
	head := a.Body[:min(len(a.Body), maxRejection)]
	return slices.ContainsFunc(t.Rejected, func(word string) bool { return bytes.Contains(head, []byte(word)) })
}

// request makes the request for a token, at an address.
func (t *TokenRequest) request(ctx context.Context, k *keyring, at *target) (*guardhttp.Request, error) {
	r := &guardhttp.Request{Method: http.MethodPost, Header: make(http.Header), Timeout: fetchTimeout, MaxBytes: maxTokenAnswer, Follow: true}
	r.Header.Set("Accept", "application/json, */*;q=0.5")
	var err error
	if t.User != "" {
		value, err := basic(ctx, k, "auth.token.", t.User, t.Password)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", value)
	}
	if r.URL, err = at.url(ctx, k); err != nil {
		return nil, err
	}
	object := map[string]string{}
	var form []pair
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) { // one request is always the same
		place := "auth.token.fields." + name
		value, err := k.text(ctx, place, t.Fields[name], mask.IsSecretName(name))
		if err == nil && !utf8.ValidString(value) {
			err = &secretError{place: place, err: errors.New("is not UTF-8, which a field has to be")}
		}
		if err != nil {
			return nil, err
		}
		object[name] = value
		form = append(form, pair{escape(name), escape(value)})
	}
	switch {
	case t.JSON:
		data, _ := json.Marshal(object) // of strings there is always JSON
		r.Body = string(data)
		r.Header.Set("Content-Type", "application/json")
	case form != nil:
		r.Body = join(form)
		r.Header.Set("Content-Type", formType)
	}
	return r, nil
}

// valueAt returns what is at a path of a document that is valid JSON; nil if nothing
// is there.
func valueAt(document []byte, path []string) []byte {
	value := document
	for _, step := range path {
		next, i := jsonscan.Member(value, step), 0
		for element := range jsonscan.Elements(value) {
			if strconv.Itoa(i) == step {
				next = element
			}
			i++
		}
		if next == nil {
			return nil
		}
		value = next
	}
	return value
}

// read finds the token in an answer that came to what was sent at began. Its errors
// show nothing of it.
func (t *TokenRequest) read(body []byte, began time.Time) (*token, error) {
	valid := jsonscan.Valid(bytes.TrimSpace(body)) == nil
	if t.Extract == "" {
		text := strings.TrimSpace(string(body))
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return nil, errors.New("the answer is JSON, and not a token itself: say in auth.token.extract where in it the token is")
		}
		if unquoted, ok := jsonscan.String([]byte(text)); ok && valid {
			text = unquoted
		}
		return newToken(text, tokenTTL, began)
	}
	if !valid {
		return nil, errors.New("the answer is not JSON, in which auth.token.extract could find anything")
	}
	path := t.path()
	value := valueAt(body, path)
	if value == nil {
		return nil, errors.New("the answer has nothing at auth.token.extract")
	}
	text, ok := jsonscan.String(value)
	if !ok {
		if _, ok = number(value); !ok {
			return nil, errors.New("what is at auth.token.extract is no string")
		}
		text = string(value)
	}
	lifetime := tokenTTL
	last := len(path) - 1
	if seconds, ok := number(valueAt(body, append(path[:last:last], "expires_in"))); ok {
		lifetime = time.Duration(min(max(seconds, 0), maxLifetime.Seconds()) * float64(time.Second))
	}
	return newToken(text, lifetime, began)
}

// newToken returns a token that is good for a time from began on.
func newToken(text string, lifetime time.Duration, began time.Time) (*token, error) {
	switch {
	case text == "":
		return nil, errors.New("the token is empty")
	case len(text) > maxToken:
		return nil, fmt.Errorf("the token is longer than %d KiB", maxToken>>10)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > unicode.MaxASCII-1 }):
		return nil, errors.New("the token has characters that none has: it is perhaps a page for people")
	}
	return &token{text: text, until: began.Add(lifetime - min(lifetime/10, maxMargin))}, nil
}

// number returns a number, perhaps written as a string.
func number(value []byte) (float64, bool) {
	text, ok := jsonscan.String(value)
	if !ok {
		text = string(value)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(n)
}
