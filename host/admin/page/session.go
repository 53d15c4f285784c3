package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/lru"
)

const (
	maxSessions  = 1000           // that there are at a time
	maxLinks     = 100            // that wait to be used
	maxAge       = 12 * time.Hour // of a session
	maxIdle      = time.Hour      // is how long a session may go without a request
	maxWait      = 10 * time.Minute
	maxSignIn    = 32 << 10         // bytes of a request to sign in
	signInWithin = 30 * time.Second // is how long its client may take to send them

	tabHeader = "X-Mcpbelt-Tab" // has what only scripts of the page know
)

// A signIn is the session of a browser.
type signIn struct {
	id          string // in the cookie
	credential  string
	tab         string // is required with the cookie, which browsers send to all ports of a host
	begun, used time.Time
	ended       context.Context // done when the session ends
	end         context.CancelFunc
}

// A link is one that signs in once.
type link struct {
	credential string
	made       time.Time
}

// sessions are the sessions and the links that there are.
type sessions struct {
	mu    sync.Mutex
	open  lru.Map[string, *signIn] // by ID
	links map[string]link          // by token
}

// Link returns the path of a page that signs in by itself, with a credential that the API takes as a
// bearer token. It does so once, within 10 minutes. What is secret in it is in the fragment, which
// browsers send to no server; show it to the one who may use the credential.
func (p *Page) Link(credential string) string {
	if p == nil || p.api == nil {
		return root
	}
	token := rand.Text()
	s := &p.sessions
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, l := range s.links {
		if time.Since(l.made) >= maxWait || len(s.links) >= maxLinks {
			delete(s.links, t)
		}
	}
	s.links[token] = link{credential, time.Now()}
	return root + "#once=" + token
}

// redeem returns the credential of a link, which is used up by that.
func (s *sessions) redeem(token string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.links[token]
	delete(s.links, token)
	if !ok || time.Since(l.made) >= maxWait {
		return ""
	}
	return l.credential
}

// begin opens a session, and ends the one that was used least lately if there are too many. A tab of a
// browser that has a session of the same credential shares it.
func (s *sessions) begin(credential, id string) *signIn {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if o, ok := s.open.Get(id); ok && !s.over(o) && subtle.ConstantTimeCompare([]byte(o.credential), []byte(credential)) == 1 {
		o.begun, o.used = now, now
		return o
	}
	ended, end := context.WithCancel(context.Background())
	made := &signIn{rand.Text(), credential, rand.Text(), now, now, ended, end}
	s.open.Put(made.id, made)
	for other, o := range s.open.Oldest() {
		if s.over(o) || s.open.Len() > maxSessions {
			s.drop(other)
		}
	}
	return made
}

// over reports whether the time of a session is over. The lock is held.
func (s *sessions) over(o *signIn) bool {
	return time.Since(o.begun) >= maxAge || time.Since(o.used) >= maxIdle
}

// drop ends a session. The lock is held.
func (s *sessions) drop(id string) {
	if o, ok := s.open.Get(id); ok {
		o.end()
		s.open.Delete(id)
	}
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// find returns the session of a request, and notes that it was used; nil if the request lacks either half.
func (s *sessions) find(r *http.Request) *signIn {
	id := cookieOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.open.Get(id)
	if !ok || subtle.ConstantTimeCompare([]byte(o.tab), []byte(r.Header.Get(tabHeader))) == 0 {
		return nil
	}
	if s.over(o) {
		s.drop(id)
		return nil
	}
	o.used = time.Now()
	return o
}

// cookieOf returns the value of a request's cookie, or "".
func cookieOf(r *http.Request) string {
	if c, err := r.Cookie(cookieName(r)); err == nil {
		return c.Value
	}
	return ""
}

// cookieName has the port: browsers send the cookies of one port to all others.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "mcpbelt_admin" + port
}

// originOf returns the host and the scheme of the page that a request comes from, empty if it has none.
func originOf(r *http.Request) (host, scheme string) {
	u, err := url.Parse(r.Header.Get("Origin"))
	if err != nil {
		return "", ""
	}
	return u.Host, u.Scheme
}

// isOwn reports whether a request comes from the page itself: unlike the API, the page knows no other
// origins, not even other ports of this machine.
func isOwn(r *http.Request) bool {
	host, _ := originOf(r)
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return true
	case "":
		return host != "" && strings.EqualFold(host, r.Host)
	}
	return false
}

// mayUse reports whether a request may be made with the cookie that it has: one of the page or, if
// it only reads, one of the address bar or a browser that does not say.
func mayUse(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return isOwn(r) || isSafe(r) && r.Header.Get("Origin") == "" && (from == "" || from == "none")
}

// isSafe reports whether a request only reads.
func isSafe(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// serveSession tells whether there is a session (GET), begins one (POST) and ends it (DELETE).
func (p *Page) serveSession(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !isSafe(r) && !isOwn(r) {
		fail(w, http.StatusForbidden, "foreign", "the request comes from a page of another origin")
		return
	}
	_, scheme := originOf(r)
	cookie := &http.Cookie{Name: cookieName(r), Path: "/", HttpOnly: true, Secure: scheme == "https" || r.TLS != nil, SameSite: http.SameSiteStrictMode}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		answer(w, http.StatusOK, "application/json", map[string]bool{"signedIn": p.sessions.find(r) != nil})
	case http.MethodDelete:
		if s := p.sessions.find(r); s != nil {
			p.sessions.end(s.id)
		}
		cookie.MaxAge = -1
		http.SetCookie(w, cookie)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		credential := p.credential(w, r)
		if credential == "" {
			return
		}
		if s := p.sessions.find(r); s != nil && s.credential != credential {
			p.sessions.end(s.id) // it makes way
		}
		s := p.sessions.begin(credential, cookieOf(r))
		cookie.Value, cookie.MaxAge = s.id, int(maxAge/time.Second)
		http.SetCookie(w, cookie)
		answer(w, http.StatusOK, "application/json", map[string]string{"tab": s.tab})
	default:
		w.Header().Set("Allow", "GET, HEAD, POST, DELETE")
		fail(w, http.StatusMethodNotAllowed, "no_route", "there is no such method here")
	}
}

// credential returns the credential of a request to sign in, which the API takes, or answers.
func (p *Page) credential(w http.ResponseWriter, r *http.Request) string {
	var in struct{ Credential, Once string }
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(signInWithin)) // not all writers have one
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSignIn))
	if err != nil || json.Unmarshal(data, &in) != nil {
		fail(w, http.StatusBadRequest, "value_invalid", "the body is not a credential in JSON")
		return ""
	}
	credential := strings.TrimSpace(in.Credential)
	if in.Once != "" {
		if credential = p.sessions.redeem(in.Once); credential == "" {
			fail(w, http.StatusUnauthorized, "link_used", "this link has been used before, or is older than 10 minutes")
			return ""
		}
	}
	switch status := p.try(r, credential); {
	case status == http.StatusOK:
		return credential
	case status == http.StatusForbidden:
		fail(w, status, "forbidden", "this credential is valid, and allows nothing here")
	case status >= http.StatusInternalServerError:
		fail(w, http.StatusServiceUnavailable, "unavailable", "it cannot be found out now whether this credential is valid")
	default:
		fail(w, http.StatusUnauthorized, "refused", "this credential is not valid")
	}
	return ""
}

// try returns the status with which the API answers the holder of a credential.
func (p *Page) try(r *http.Request, credential string) int {
	me, err := http.NewRequestWithContext(r.Context(), http.MethodGet, apiRoot+"me", http.NoBody)
	if err != nil || credential == "" || strings.ContainsAny(credential, "\r\n") {
		return http.StatusUnauthorized
	}
	me.Host, me.RemoteAddr, me.TLS, me.RequestURI = r.Host, r.RemoteAddr, r.TLS, apiRoot+"me"
	me.Header.Set("Authorization", "Bearer "+credential)
	w := &statusWriter{header: http.Header{}}
	p.api.ServeHTTP(w, me)
	return w.status
}

// A statusWriter keeps the status of an answer.
type statusWriter struct {
	header http.Header
	status int
}

func (w *statusWriter) Header() http.Header { return w.header }

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *statusWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return len(data), nil
}

// serveAPI passes a request on to the API; one of the page gets the credential of its session.
func (p *Page) serveAPI(w http.ResponseWriter, r *http.Request) {
	h := r.Header
	if h.Get("Authorization") != "" || h.Get("X-API-Key") != "" {
		p.api.ServeHTTP(w, r)
		return
	}
	s := p.sessions.find(r)
	if s == nil {
		p.api.ServeHTTP(w, r)
		return
	}
	if !mayUse(r) {
		fail(w, http.StatusForbidden, "foreign", "the request comes from a page of another origin")
		return
	}
	ctx := r.Context()
	if isSafe(r) { // a stream ends with the session, and in time to show that it is in use; a change is made to its end
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(maxIdle-time.Minute, maxAge-time.Since(s.begun)))
		defer cancel()
		defer context.AfterFunc(s.ended, cancel)()
	}
	r = r.Clone(ctx)
	r.Header.Del("Cookie")
	r.Header.Del(tabHeader)
	r.Header.Set("Authorization", "Bearer "+s.credential)
	p.api.ServeHTTP(w, r)
}

// fail answers with a problem (RFC 9457), as the API does.
func fail(w http.ResponseWriter, status int, code, detail string) {
	answer(w, status, "application/problem+json", map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail, "code": code,
	})
}

func answer(w http.ResponseWriter, status int, kind string, v any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
