package access

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/nils"
)

// ErrUnrecognized reports a request that has no credential, or one of another kind than an
// [Authenticator] knows. [Any] asks the next one then.
//
//cure:send an API key, or a token that the gateway takes
var ErrUnrecognized = errors.New("access: the request has no credential that is recognized")

// A RefusedError refuses a request. Its fields but Scope and Answer are for the log: the
// one who asks is not told why. None of them holds a credential.
//
//cure:see the fields in the log; the caller needs another key, or one with the scope that it names
type RefusedError struct {
	// Status is that of the answer: 401, 403 if the caller is known but may not do that, or 503
	// if it cannot be found out now who the caller is. Default: 401.
	Status int
	// Scope is what a token has to have besides, with status 403: the caller is told to get one.
	Scope string
	// Answer is what the caller is told. Default: what the status means.
	Answer string
	// Credential names what was refused, such as the id of a key or the issuer of a token.
	Credential string
	// Reason says why.
	Reason string
	// Err is what went wrong, if something did.
	Err error
}

// Error says why.
func (e *RefusedError) Error() string {
	text := "access: "
	if e.Credential != "" {
		text += e.Credential + ": "
	}
	text += e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Refuse answers a request that an [Authenticator] refused with err, in the way of RFC 6750:
// status 401 says by WWW-Authenticate that a token, or another one, is needed and, if resource is not
// nil, where its metadata is. Nothing of err but Scope and Answer is sent.
func Refuse(w http.ResponseWriter, r *http.Request, resource *Resource, err error) {
	if nils.Is(w) || w.Header() == nil || r == nil {
		return // no server calls it so
	}
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok {
		refused = &RefusedError{}
	}
	status, answer := refused.Status, cmp.Or(refused.Answer, "not allowed")
	h := w.Header()
	h.Set("Connection", "close") // without reading what a stranger sends
	var params []string
	if resource != nil {
		params = append(params, "resource_metadata="+strconv.Quote(resource.metadataURL(r)))
	}
	switch status {
	case http.StatusForbidden:
		if refused.Scope != "" {
			params = append(params, `error="insufficient_scope"`, "scope="+strconv.Quote(refused.Scope))
			h.Set("WWW-Authenticate", "Bearer "+strings.Join(params, ", "))
		}
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "5")
		answer = cmp.Or(refused.Answer, "it cannot be found out now who makes the request")
	default:
		status = http.StatusUnauthorized
		if r.Header.Get("Authorization") != "" || r.Header.Get(keyField) != "" {
			params = append(params, `error="invalid_token"`)
		}
		h.Set("WWW-Authenticate", strings.TrimSpace("Bearer "+strings.Join(params, ", ")))
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(answer + "\n"))
}

// keyField is the field of a request that holds a key, if Authorization does not.
const keyField = "X-Api-Key"

// BearerToken returns the token that a request has in its Authorization field. The error is
// ErrUnrecognized if it has none, and a [*RefusedError] if it has several credentials, of which
// another program might take another one.
func BearerToken(r *http.Request) (string, error) {
	if r == nil {
		return "", ErrUnrecognized
	}
	fields := r.Header.Values("Authorization")
	switch {
	case len(fields) == 0:
		return "", ErrUnrecognized
	case len(fields) > 1 || r.Header.Get(keyField) != "":
		return "", &RefusedError{Reason: "the request has more than one credential"}
	}
	scheme, token, _ := strings.Cut(fields[0], " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", ErrUnrecognized
	}
	return token, nil
}

// Any returns an Authenticator that asks the given ones in turn: the first whose error is not
// [ErrUnrecognized] decides. If there is none, the error is one of those, with a reason if one has it.
func Any(authenticators ...Authenticator) Authenticator {
	return func(r *http.Request) (*Caller, error) {
		none := ErrUnrecognized
		for _, a := range authenticators {
			caller, err := a(r)
			if !errors.Is(err, ErrUnrecognized) {
				return caller, err
			}
			if errors.Is(none, ErrUnrecognized) {
				none = err
			}
		}
		return nil, none
	}
}
