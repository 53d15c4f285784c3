package auth

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/guardhttp"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

const (
	// maxCode bounds the error code of an answer, in bytes.
	maxCode = 64
	// maxToken bounds tokens, client ids and client secrets, in bytes.
	maxToken = 64 << 10
	// maxLifetime bounds what an authorization server says of how long
	// something lives, so that no sum with it overflows.
	maxLifetime = 10 * 365 * 24 * time.Hour
	// maxDescription bounds what is kept of the words of an answer, in bytes.
	maxDescription = 300
	// maxRetryAfter bounds how long an authorization server can have itself
	// left alone.
	maxRetryAfter = 24 * time.Hour
)

// An answer is a JSON object that a server has sent: its members, unread. Names are compared
// exactly; null is as good as absent.
type answer map[string]json.RawMessage

// readAnswer reads a JSON object. Its errors show nothing of it.
func readAnswer(body []byte) (answer, error) {
	if err := jsonscan.Valid(body); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	if c := jsonscan.Walk(body); c.Kind() != '{' {
		return nil, errors.New("the answer is not a JSON object")
	}
	a := answer{}
	for name, value := range jsonscan.Fields(body) {
		a[string(name)] = value
	}
	return a, nil
}

// answerOf reads the body of an answer: a JSON object, or a form, whose parameters are
// strings. One that stands there twice is an error, as in JSON.
func answerOf(res *guardhttp.Answer) (answer, error) {
	if !res.IsForm() || len(res.Body) == 0 {
		return readAnswer(res.Body)
	}
	form, err := url.ParseQuery(string(res.Body))
	if err != nil {
		return nil, errors.New("the answer is not a form, as its content type says")
	}
	a := make(answer, len(form))
	for name, values := range form {
		if len(values) != 1 {
			return nil, errors.New("the answer has a parameter twice")
		}
		if a[name], err = json.Marshal(values[0]); err != nil {
			return nil, errors.New("the answer is not a form")
		}
	}
	return a, nil
}

// text returns a member that is a string; it is empty if there is none, or null.
func (a answer) text(name string) (string, error) {
	value, ok := a[name]
	if !ok || string(value) == "null" {
		return "", nil
	}
	s, ok := jsonscan.String(value)
	if !ok {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return s, nil
}

// credential returns a member that is a string of visible characters. others are
// the further characters that it may have.
func (a answer) credential(name, others string) (string, error) {
	s, err := a.text(name)
	if err != nil {
		return "", err
	}
	if len(s) > maxToken {
		return "", fmt.Errorf("%s is longer than %d bytes", name, maxToken)
	}
	for i := range len(s) {
		if c := s[i]; (c <= ' ' || c >= 0x7f) && strings.IndexByte(others, c) < 0 {
			return "", fmt.Errorf("%s has characters that it must not have", name)
		}
	}
	return s, nil
}

// seconds returns a member that is a number, or a string that holds one, as so
// many seconds; 0 if there is none.
func (a answer) seconds(name string) (n float64, err error) {
	value, ok := a[name]
	if !ok || string(value) == "null" {
		return 0, nil
	}
	text, quoted := jsonscan.String(value)
	if !quoted {
		text = string(value)
	}
	n, err = strconv.ParseFloat(text, 64)
	if math.IsNaN(n) || err != nil && !math.IsInf(n, 0) {
		return 0, fmt.Errorf("%s is not a number", name)
	}
	return n, nil
}

// lifetime returns a member that says for how many seconds something lives; 0 if
// that is not known.
func (a answer) lifetime(name string) (time.Duration, error) {
	n, err := a.seconds(name)
	if err != nil || n <= 0 {
		return 0, err
	}
	if n >= maxLifetime.Seconds() {
		return maxLifetime, nil
	}
	return time.Duration(n * float64(time.Second)), nil
}

// code returns the error code of an answer; empty if there is none that can be
// shown.
func (a answer) code() string {
	code, _ := a.text("error")
	return cleanCode(code)
}

// cleanCode returns an error code if it looks like one, and nothing otherwise: it
// is text of an untrusted party that ends up in errors and logs. All codes in use
// are lower-case words; tokens and keys are not.
func cleanCode(code string) string {
	if len(code) > maxCode || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return code
}

// describe returns what an authorization server says for people of a refusal, made harmless: one
// short line without what looks like a secret. Text that repeats a secret is left out.
func describe(text string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) > 5 && (strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret))) {
			return ""
		}
	}
	return plain.Cut(plain.Line(redact.Known().Text(text)), maxDescription)
}

// A reader reads the members of an answer, and keeps the error of the first that cannot be
// read.
type reader struct {
	members answer
	err     error
}

func (r *reader) fail(err error) {
	r.err = cmp.Or(r.err, err)
}

func (r *reader) text(name string) string {
	s, err := r.members.text(name)
	r.fail(err)
	return s
}

func (r *reader) credential(name, others string) Secret {
	s, err := r.members.credential(name, others)
	r.fail(err)
	return Secret(s)
}

// needed is credential for one that must be there.
func (r *reader) needed(name, others string) Secret {
	s := r.credential(name, others)
	if s == "" {
		r.fail(errors.New(name + " is missing"))
	}
	return s
}

func (r *reader) seconds(name string) float64 {
	n, err := r.members.seconds(name)
	r.fail(err)
	return n
}

// read has the answer to a request read, or returns an [*OAuthError] if the request was
// refused. Some authorization servers refuse with status 200. What came and is of no use is
// a [*RequestError]. secrets are those that were sent.
func (f *Flow) read(request, endpoint string, res *guardhttp.Answer, read func(*reader), secrets ...string) error {
	a, err := answerOf(res)
	refused := res.Status/100 != 2
	if err == nil && !refused {
		refusal, wrong := a.text("error")
		if refused = wrong != nil || refusal != ""; !refused {
			r := &reader{members: a}
			read(r)
			err = r.err
		}
	}
	switch {
	case refused:
		return f.refusal(request, endpoint, res, a, secrets...)
	case err != nil:
		return &RequestError{server: f.config.Server, request: request, host: hostOf(endpoint), err: err, answered: true}
	}
	return nil
}

func (f *Flow) refusal(request, endpoint string, res *guardhttp.Answer, a answer, secrets ...string) *OAuthError {
	said, _ := a.text("error_description")
	if said == "" {
		said, _ = a.text("message") // of servers with errors of their own
	}
	return f.withCure(&OAuthError{
		Server: f.config.Server, Request: request, host: hostOf(endpoint), Status: res.Status, Code: a.code(),
		said: describe(said, secrets...), RetryAfter: min(httpfield.RetryAfter(res.Header), maxRetryAfter),
	})
}
