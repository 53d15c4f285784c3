package pages

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/internal/loginpage"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

const (
	// CallbackPath is where browsers come back from a login.
	CallbackPath = "/oauth/callback"

	formCookie  = "mcpbelt-form"   // of a browser that got a form
	visitCookie = "mcpbelt-login-" // of a browser that went to log in; the errand's id follows

	// formWithin is how long a browser may take to send a form.
	formWithin = 2 * time.Minute

	maxForm = 16 << 10 // bytes
	maxNote = 500      // bytes of why a call is refused
)

// Has reports whether a path is that of a page.
func Has(path string) bool {
	return path == CallbackPath || strings.HasPrefix(path, "/login/") || strings.HasPrefix(path, "/approve/")
}

// ServeHTTP serves the pages. The caller has checked the Host and Origin fields.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && (r.Method != http.MethodPost || r.URL.Path == CallbackPath) {
		w.Header().Set("Allow", "GET, POST")
		say(w, http.StatusMethodNotAllowed, "Wrong method", "Open this page in a browser.")
		return
	}
	if r.URL.Path == CallbackPath {
		d.callback(w, r)
		return
	}
	id, login := strings.CutPrefix(r.URL.Path, "/login/")
	if !login {
		id = strings.TrimPrefix(r.URL.Path, "/approve/")
	}
	e := d.open(id, login)
	if e == nil {
		say(w, http.StatusNotFound, "No such page", "This page was used, has expired, or was never there. Have the program make its call again.")
		return
	}
	// A page of another site can send a form, but not the cookie, which is of this site alone.
	t := ticket{}
	if r.Method == http.MethodPost {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formWithin))
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if r.ParseForm() != nil {
			say(w, http.StatusBadRequest, "Not read", "The form cannot be read.")
			return
		}
		var ok bool
		if t, ok = d.redeem(e, r.PostForm.Get("token")); !ok || t.cookie != cookieOf(r) {
			say(w, http.StatusForbidden, "Not done", "The form is not from this page, or was sent before. Load the page again.")
			return
		}
	}
	switch right, unknown := d.opens(r, e, t); {
	case unknown:
		d.form(w, r, e, false)
	case !right:
		d.opts.Logger.Warn("gateway: refused to open a page for one who did not cause it", "login", login, "user", e.Caller.User, "remote", r.RemoteAddr)
		say(w, http.StatusForbidden, "Not yours", "This page is for the user whose program made the call. If that is you, log in to this site as that user, or give the key of that program.")
	case login:
		d.login(w, r, e)
	case r.Method == http.MethodPost && r.PostForm.Has("decision"):
		d.answer(w, r, e)
	default:
		d.form(w, r, e, true)
	}
}

// opens reports whether it is the caller who opens the page of an errand, or that this is unknown, as long as they do
// not give their key.
func (d *Desk) opens(r *http.Request, e *Errand, t ticket) (right, unknown bool) {
	if t.proven {
		return true, false
	}
	wantsKey := d.opts.Opener == nil && d.opts.Authenticate != nil
	if key := strings.TrimSpace(r.PostFormValue("key")); key != "" && wantsKey {
		// As the program sent it; it goes nowhere else.
		like := (&http.Request{
			Method: http.MethodPost, URL: &url.URL{Path: e.Endpoint}, Host: r.Host, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
			Header: http.Header{"Authorization": {"Bearer " + key}}, Body: http.NoBody, RemoteAddr: r.RemoteAddr, TLS: r.TLS,
		}).WithContext(r.Context())
		c, err := d.opts.Authenticate(like)
		return err == nil && isCaller(c, e.Caller), false
	}
	c, err := d.caller(r)
	if err != nil {
		return false, wantsKey
	}
	return isCaller(c, e.Caller), false
}

// caller returns who makes a browser's request: of one that Opener tells the user alone is known.
func (d *Desk) caller(r *http.Request) (*access.Caller, error) {
	c := &access.Caller{}
	switch {
	case d.opts.Opener != nil:
		user, err := d.opts.Opener(r)
		return &access.Caller{User: user}, err
	case d.opts.Authenticate != nil:
		known, err := d.opts.Authenticate(r)
		if err == nil && known != nil {
			c = known
		}
		return c, err
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, errors.New("pages: the gateway has no users, so its pages are for this machine only")
	}
	return c, nil
}

// isCaller reports whether a browser's caller is the one who caused an errand.
func isCaller(c, caused *access.Caller) bool {
	return c != nil && c.Owner() == caused.Owner()
}

// login begins a login and sends the browser there.
func (d *Desk) login(w http.ResponseWriter, r *http.Request, e *Errand) {
	if !d.setUsed(e, true) {
		say(w, http.StatusNotFound, "No such page", "This page was used.")
		return
	}
	l, err := d.opts.Login(r.Context(), e.Login)
	if err != nil {
		d.setUsed(e, false)
		d.opts.Logger.Warn("gateway: a login cannot be begun", "server", e.Login.Server, "error", err)
		say(w, http.StatusBadGateway, "Not begun", "The login could not be begun. Load the page again.")
		return
	}
	if l.URL == "" {
		say(w, http.StatusOK, "Logged in", "You are logged in. You can close this page.")
		return
	}
	d.setCookie(w, r, &http.Cookie{Name: visitCookie + e.id, Value: d.visited(e), MaxAge: int(time.Until(e.Expires).Seconds()) + 1, SameSite: http.SameSiteLaxMode})
	if r.Method == http.MethodGet && l.UserCode == "" {
		loginpage.Protect(w.Header())
		http.Redirect(w, r, l.URL, http.StatusSeeOther)
		return
	}
	// Browsers do not let a form be sent on to another site.
	_ = loginpage.WriteForms(w, goPage(e, l))
}

// answer takes the decision about a call.
func (d *Desk) answer(w http.ResponseWriter, r *http.Request, e *Errand) {
	v := approval.Deny
	switch decision := r.PostForm.Get("decision"); {
	case decision == "approve":
		v = approval.Allow
	case decision == "conversation" && e.Session:
		v = approval.AllowForConversation
	case decision != "refuse":
		say(w, http.StatusBadRequest, "Not done", "There is no such decision.")
		return
	}
	if !d.setUsed(e, true) {
		say(w, http.StatusConflict, "Decided already", "The call was decided before.")
		return
	}
	// A browser that goes away must not end a call halfway.
	if err := e.decide(context.WithoutCancel(r.Context()), v, plain.Line(plain.Cut(r.PostForm.Get("note"), maxNote))); err != nil {
		d.opts.Logger.Info("gateway: a decision about a call failed", "tool", e.Call.Tool.Name, "error", err)
		if errors.As(err, new(*approval.UnknownError)) {
			say(w, http.StatusConflict, "Decided already", "The call was decided before, or has expired.")
			return
		}
		d.setUsed(e, false) // the server may be away
		say(w, http.StatusOK, "Not made", "The call was not made, or failed. The program is told why.")
		return
	}
	if v == approval.Deny {
		say(w, http.StatusOK, "Refused", "The call is not made. You can close this page.")
		return
	}
	say(w, http.StatusOK, "Approved", "The call is made once. You can close this page.")
}

// callback completes the login that a browser comes back from, of the user whose page has sent it away: one who was
// given the address of another user's login would give that user their account.
func (d *Desk) callback(w http.ResponseWriter, r *http.Request) {
	var users []string
	for _, c := range r.Cookies() {
		if e := d.visitor(c); e != nil && !slices.Contains(users, e.Login.User) {
			users = append(users, e.Login.User)
		}
	}
	if users == nil {
		c, err := d.caller(r)
		if err != nil {
			d.opts.Logger.Warn("gateway: refused to complete a login in a browser that did not begin it", "error", err)
			say(w, http.StatusForbidden, "Not logged in", "This browser has not begun the login. Open the page of the login in it.")
			return
		}
		users = []string{c.User}
	}
	var err error
	wrong := false // the user has not begun the login
	for _, user := range users {
		_, err = d.opts.Complete(r.Context(), r.URL.RequestURI(), &session.CompleteOptions{User: user})
		if wrong = errors.As(err, new(*session.UserError)); !wrong {
			break
		}
	}
	if err == nil {
		say(w, http.StatusOK, "Logged in", "You can close this page.")
		return
	}
	d.opts.Logger.Warn("gateway: a login was not completed", "error", err)
	switch {
	case wrong:
		say(w, http.StatusForbidden, "Not logged in", "Another user has begun this login.")
	case errors.As(err, new(*auth.StateError)):
		say(w, http.StatusBadRequest, "Not logged in", "This login is not known, or it is over. Begin it again.")
	default:
		say(w, http.StatusBadGateway, "Not logged in", "The login was refused, or could not be completed. Begin it again.")
	}
}

// form answers with a page that has a form: the one that decides, if it is proven that the person may, or else
// the one by which they prove it.
func (d *Desk) form(w http.ResponseWriter, r *http.Request, e *Errand, proven bool) {
	cookie := cookieOf(r)
	if len(cookie) != len(rand.Text()) { // it has none of ours
		cookie = rand.Text()
	}
	d.setCookie(w, r, &http.Cookie{Name: formCookie, Value: cookie, SameSite: http.SameSiteStrictMode})
	page, token := keyPage, d.give(e, ticket{cookie, proven})
	if proven {
		page = callPage
	}
	_ = loginpage.WriteForms(w, page(e, token))
}

// setCookie gives a browser a cookie for the paths of the gateway alone.
func (d *Desk) setCookie(w http.ResponseWriter, r *http.Request, c *http.Cookie) {
	path, public := Prefix(r), d.opts.URL
	if public.Host == r.Host { // a proxy may have taken the path away
		path = strings.TrimRight(public.EscapedPath(), "/")
	}
	c.Path, c.HttpOnly, c.Secure = path+"/", true, r.TLS != nil || public.Scheme == "https"
	http.SetCookie(w, c)
}

// Prefix returns the path that handlers before the gateway have taken away from a request, such as /belt; "" if none did.
func Prefix(r *http.Request) string {
	u, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	prefix, ok := strings.CutSuffix(u.EscapedPath(), r.URL.EscapedPath())
	if !ok || len(prefix) > 200 { // it is kept as long as a session
		return ""
	}
	return prefix
}

// cookieOf returns the cookie of a browser that got a form, or "".
func cookieOf(r *http.Request) string {
	if c, err := r.Cookie(formCookie); err == nil {
		return c.Value
	}
	return ""
}

// say answers with a page of a few words of this program's own.
func say(w http.ResponseWriter, status int, title, text string) {
	_ = loginpage.Write(w, status, title, text)
}
