package admin

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/replica"
	"github.com/mcpbelt/mcpbelt/internal/redact"
	"github.com/mcpbelt/mcpbelt/internal/webguard"
	"github.com/mcpbelt/mcpbelt/session"
)

const (
	maxBody    = 1 << 20          // bytes of a request
	readWithin = 30 * time.Second // is how long its client may take to send them
)

// A Role is something that a caller may do.
type Role string

// The roles.
const (
	View       Role = "view"        // see servers, tools and what happened
	Operate    Role = "operate"     // change them; it includes View
	StdioWrite Role = "stdio:write" // do what can start a process, together with Operate
)

// Options configure a [Handler].
type Options struct {
	// Authenticate says who makes a request. It is required.
	Authenticate access.Authenticator
	// Roles returns what a caller may, and is asked for each request. Default: DefaultRoles.
	Roles func(*access.Caller) []Role
	// Hosts are the names that the Host field of a request may have. Default: any or, at a
	// loopback address, the names of this machine.
	Hosts []string
	// Origins are those of web pages whose scripts may use the handler besides its own origin, such as
	// https://admin.example. Default: none.
	Origins []string
	// Sessions are the logins that are shown, such as those of login.Logins. Default: none are.
	Sessions *session.Manager
	// Keys are the API keys that are listed, made and revoked. Default: none are.
	Keys *access.Keys
	// Replicas has the calls that wait on all replicas listed, approved and denied, see
	// [replica.Member]. The replicas have the same servers; to approve a call of a server that is unknown here takes
	// StdioWrite. The handler is served beside [replica.Member.Handler], not by it, which would pass on a request
	// that names a call of another replica. Default: those of this process are.
	Replicas *replica.Member
	// Variables are those of the environment that the entries of callers without StdioWrite may name. References to
	// others, to files, inputs and the keyring, and sockets of this machine, take StdioWrite. Default: none.
	Variables []string
	// Apps has the apps of tools shown to those who try them, and passes on what these say. ShowApps of package page has the
	// page show them. Default: none is shown.
	Apps *apps.Apps
	// Feed has what happened and happens. Default: it is not told.
	Feed *Feed
	// Config has the options with which the entries of servers are read that are tried out
	// before they are added. Default: those of a file of the program.
	Config *config.Options
	// Logger is told of requests that were refused or failed. Default: none is.
	Logger *slog.Logger
}

// Handler returns the handler of the administration of a manager's servers. It serves paths that
// begin with /api/v1/. The error is that of a missing Authenticate.
func Handler(m *manage.Manager, opts *Options) (http.Handler, error) {
	if m == nil || opts == nil || opts.Authenticate == nil {
		return nil, errors.New("admin: a manager and Options.Authenticate are required")
	}
	a := &admin{opts: *opts, manager: m, host: m.Host(), mux: http.NewServeMux(), redactor: redact.Known()}
	if opts.Apps != nil {
		a.bridge = opts.Apps.Bridge()
	}
	if a.opts.Roles == nil {
		a.opts.Roles = DefaultRoles
	}
	a.opts.Logger = cmp.Or(a.opts.Logger, slog.New(slog.DiscardHandler))
	for _, r := range a.routes() {
		a.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { a.serve(w, req, r) })
	}
	return a, nil
}

// DefaultRoles returns View and Operate for a caller whose grant has Manage and leaves nothing out, and
// nothing for others. A program that knows callers of its own uses it for the rest.
func DefaultRoles(c *access.Caller) []Role {
	if c == nil {
		return nil
	}
	g := c.Grant
	if g == nil || !g.Manage || g.ReadOnly || len(g.Profiles)+len(g.Servers)+len(g.Tools) > 0 {
		return nil
	}
	return []Role{View, Operate}
}

// ServeHTTP refuses what must not reach any route: it says nothing of the paths that there are
// to those who may not see them.
func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if why := webguard.Foreign(r, a.opts.Hosts, a.opts.Origins); why != "" {
		a.refused(r, why, "")
		h.Set("Connection", "close")
		writeFailure(w, isEnveloped(r.URL.Path), &failure{status: http.StatusForbidden, code: "foreign", detail: why})
		return
	}
	webguard.Allow(w, r, "Authorization, Content-Type, Last-Event-ID, X-API-Key", "WWW-Authenticate")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	caller, err := a.opts.Authenticate(r)
	if err == nil && caller == nil {
		err = &access.RefusedError{Reason: "the Authenticator named no caller"}
	}
	if err != nil {
		var refused *access.RefusedError
		credential := ""
		if errors.As(err, &refused) {
			credential = refused.Credential
		}
		a.refused(r, err.Error(), credential)
		access.Refuse(&refusal{ResponseWriter: w, enveloped: isEnveloped(r.URL.Path)}, r, nil, err)
		return
	}
	roles := a.opts.Roles(caller)
	if slices.Contains(roles, Operate) && !slices.Contains(roles, View) {
		roles = append(slices.Clone(roles), View)
	}
	if !slices.Contains(roles, View) {
		a.refused(r, "the caller has no role", caller.Credential)
		writeFailure(w, isEnveloped(r.URL.Path), forbidden(View))
		return
	}
	r = r.WithContext(withCaller(r.Context(), &person{caller, roles}))
	if _, pattern := a.mux.Handler(r); pattern == "" {
		writeFailure(w, isEnveloped(r.URL.Path), &failure{status: http.StatusNotFound, code: "no_route", detail: "there is no such path, or not with this method"})
		return
	}
	a.mux.ServeHTTP(w, r)
}

// serve serves a request of a caller who may view.
func (a *admin) serve(w http.ResponseWriter, r *http.Request, route *route) {
	q := &request{admin: a, Request: r, person: callerOf(r.Context()), route: route}
	var data any
	err := q.need(route.role)
	if err == nil && route.role == StdioWrite {
		err = q.need(Operate)
	}
	if err == nil {
		err = q.read(w)
	}
	parts := map[string]bool{"": true, "activity": a.opts.Feed != nil, "apps": a.bridge != nil, "keys": a.opts.Keys != nil, "sessions": a.opts.Sessions != nil}
	if err == nil && !parts[route.needs] {
		err = &failure{status: http.StatusNotFound, code: "not_configured", detail: "the program shows no " + route.needs + " here"}
	}
	if err == nil && route.stream != nil {
		if err = route.stream(q, w); err == nil {
			return
		}
	}
	if err == nil {
		data, err = route.serve(q)
	}
	if err == nil {
		write(w, r, route, data)
		return
	}
	f := failureOf(err)
	switch {
	case f.status == http.StatusForbidden && f.code == codeForbidden:
		a.refused(r, f.detail, q.caller.Credential)
	case f.status >= http.StatusInternalServerError:
		a.opts.Logger.Warn("admin: a request failed", "error", a.redactor.Text(err.Error()), "method", r.Method, "path", r.URL.Path)
	}
	writeFailure(w, isEnveloped(route.path), f)
}

// isEnveloped reports whether the answers of a path have the form of an envelope.
func isEnveloped(path string) bool {
	rest, ok := strings.CutPrefix(path, serversPath)
	return ok && (rest == "" || rest[0] == '/')
}

// read reads the body of a request.
func (q *request) read(w http.ResponseWriter) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readWithin)) // not all writers have one
	data, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return &failure{status: http.StatusRequestEntityTooLarge, code: "too_large", detail: "the body has more than 1 MiB"}
	}
	if err != nil {
		return &failure{status: http.StatusBadRequest, code: "body_unreadable", detail: "the body cannot be read"}
	}
	_ = control.SetReadDeadline(time.Time{})
	if len(data) > 0 || q.route.in != nil && !q.route.optional {
		kind, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
		byBrowser := q.Header.Get("Origin") != "" || q.Header.Get("Sec-Fetch-Site") != "" // whose pages send a body without a type anywhere
		if kind != "application/json" && (q.Header.Get("Content-Type") != "" || byBrowser) {
			return &failure{status: http.StatusUnsupportedMediaType, code: "type_unsupported", detail: "the body has to be application/json"}
		}
	}
	if len(data) > 0 && q.route.in == nil {
		return &failure{status: http.StatusBadRequest, code: "body_unexpected", detail: "the request is one without a body"}
	}
	q.data = data
	return nil
}

func (a *admin) refused(r *http.Request, why, credential string) {
	a.opts.Logger.Warn("admin: refused a request", "error", why, "credential", credential, "path", r.URL.Path)
}

// by names the caller in what is kept of decisions.
func (q *request) by() string { return cmp.Or(q.caller.User, q.caller.Credential, "admin") }
