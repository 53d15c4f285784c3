package admin

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// An envelope is the form of all answers about servers.
type envelope struct {
	Code  int    `json:"code"` // the status of HTTP, too
	Data  any    `json:"data,omitempty"`
	Msg   string `json:"msg,omitempty"`   // what went wrong, for people
	Error string `json:"error,omitempty"` // what went wrong, stable
}

// A problem is the form of failures elsewhere (RFC 9457).
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"` // stable
}

// A failure is why a request failed. Its texts are shown to the caller.
type failure struct {
	status       int
	code, detail string
}

func (f *failure) Error() string { return "admin: " + f.detail }

const codeForbidden = "forbidden"

// forbidden is the failure of a caller who lacks a role.
func forbidden(r Role) *failure {
	return &failure{status: http.StatusForbidden, code: codeForbidden, detail: "this takes the role " + string(r)}
}

// failureOf returns what a caller is told of an error: of errors that may have any text, what
// kind they are.
func failureOf(err error) *failure {
	if f := (*failure)(nil); errors.As(err, &f) {
		return f
	}
	if e := (*record.Error)(nil); errors.As(err, &e) {
		status := http.StatusBadRequest
		switch e.Code {
		case record.CodeNotFound:
			status = http.StatusNotFound
		case record.CodeNameTaken, record.CodeConflict:
			status = http.StatusConflict
		case record.CodeBuiltinReadOnly:
			status = http.StatusForbidden
		}
		return &failure{status: status, code: string(e.Code), detail: err.Error()}
	}
	is := func(status int, code string) *failure {
		return &failure{status: status, code: code, detail: err.Error()}
	}
	switch {
	case isA[*host.UnknownServerError](err), isA[*approval.UnknownError](err), errors.Is(err, access.ErrNoKey):
		return is(http.StatusNotFound, string(record.CodeNotFound))
	case isA[*host.StaleLaunchError](err), isA[*ledger.StaleChangeError](err), isA[*approval.StaleError](err):
		return is(http.StatusConflict, "stale")
	case isA[*approval.DeniedError](err):
		return is(http.StatusConflict, "denied")
	case isA[*host.LaunchNotAllowedError](err):
		return is(http.StatusConflict, "launch_not_allowed")
	case isA[*login.Error](err), isA[*host.NoUserError](err):
		return is(http.StatusConflict, "no_login")
	case errors.Is(err, host.ErrQuarantined):
		return is(http.StatusConflict, "quarantined")
	case errors.Is(err, host.ErrOvertaken):
		return is(http.StatusConflict, string(record.CodeConflict))
	case errors.Is(err, host.ErrClosed):
		return &failure{status: http.StatusServiceUnavailable, code: "closed", detail: "the host is closed"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &failure{status: http.StatusGatewayTimeout, code: "timeout", detail: "it was not done in time; it may be done later"}
	}
	return &failure{status: http.StatusInternalServerError, code: "internal", detail: "it could not be done; the log of the program says why"}
}

// isA reports whether there is an error of a type in the chain of err.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// write answers a request that succeeded.
func write(w http.ResponseWriter, r *http.Request, route *route, data any) {
	if isEnveloped(route.path) {
		data = envelope{Code: http.StatusOK, Data: data}
	}
	packed := r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	writeJSON(w, http.StatusOK, "application/json", data, packed)
}

// writeFailure answers a request that failed.
func writeFailure(w http.ResponseWriter, enveloped bool, f *failure) {
	if enveloped {
		writeJSON(w, f.status, "application/json", envelope{Code: f.status, Msg: f.detail, Error: "err.mcp." + f.code}, false)
		return
	}
	writeJSON(w, f.status, "application/problem+json", problem{
		Type: "about:blank", Title: http.StatusText(f.status), Status: f.status, Detail: f.detail, Code: f.code,
	}, false)
}

// A refusal writes what [access.Refuse] says in the form of failures.
type refusal struct {
	http.ResponseWriter
	enveloped bool
	status    int
}

func (r *refusal) WriteHeader(status int) { r.status = status }

func (r *refusal) Write(text []byte) (int, error) {
	code := map[int]string{http.StatusForbidden: codeForbidden, http.StatusServiceUnavailable: "unavailable"}[r.status]
	writeFailure(r.ResponseWriter, r.enveloped, &failure{r.status, cmp.Or(code, "unauthorized"), strings.TrimSpace(string(text))})
	return len(text), nil
}

func writeJSON(w http.ResponseWriter, status int, kind string, v any, packed bool) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"code":500,"msg":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", kind)
	var out io.Writer = w
	if packed {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // which there is
		defer z.Close()
		out = z
	}
	w.WriteHeader(status)
	_, _ = out.Write(append(data, '\n'))
}
