package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
)

// handler returns the pages. Forms of other sites are refused.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("POST /signin", s.signIn)
	mux.HandleFunc("POST /servers", s.act((*office).addServer))
	mux.HandleFunc("POST /servers/{server}/remove", s.act((*office).removeServer))
	mux.HandleFunc("POST /servers/{server}/accept", s.act((*office).acceptTools))
	mux.HandleFunc("POST /servers/{server}/login", s.with(s.login))
	mux.HandleFunc("POST /calls/{call}", s.act((*office).answer))
	mux.HandleFunc("POST /prompt", s.act(s.prompt))
	// The user whose browser comes back completes a login of their own: others are not in their store.
	mux.HandleFunc("GET /callback", s.with(func(w http.ResponseWriter, r *http.Request, o *office) error {
		o.logins.Sessions().CallbackHandler(&session.CallbackOptions{SuccessURL: "/"}).ServeHTTP(w, r)
		return nil
	}))
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		protected.ServeHTTP(w, r)
	})
}

// with has f called with the office of the user who makes a request.
func (s *site) with(f func(http.ResponseWriter, *http.Request, *office) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user := s.user(r)
		if user == "" {
			http.Error(w, "Sign in first.", http.StatusUnauthorized)
			return
		}
		o, err := s.office(user)
		if err != nil {
			log.Print(err)
			http.Error(w, "Your servers are not to be had now. Try again soon.", http.StatusServiceUnavailable)
			return
		}
		if err := f(w, r, o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// act has f called as with does, and the page shown then.
func (s *site) act(f func(*office, *http.Request) error) http.HandlerFunc {
	return s.with(func(w http.ResponseWriter, r *http.Request, o *office) error {
		err := f(o, r)
		if err == nil {
			http.Redirect(w, r, "/", http.StatusSeeOther)
		}
		return err
	})
}

// login begins a login, and shows the user where they have to go.
func (s *site) login(w http.ResponseWriter, r *http.Request, o *office) error {
	name := r.PathValue("server")
	begun, err := o.host.Login(r.Context(), session.Key{Server: name})
	if err != nil {
		return err
	}
	to, err := url.Parse(begun.URL)
	if err != nil {
		return err
	}
	return s.pages.ExecuteTemplate(w, "login", map[string]string{"Server": name, "URL": begun.URL, "Host": to.Host})
}

// prompt starts an agent, which ends when its calls were approved.
func (s *site) prompt(o *office, r *http.Request) error {
	select {
	case o.agents <- struct{}{}:
	default:
		return errors.New("your agents are all at work: answer what they wait for")
	}
	ended := make(chan struct{})
	prompt := r.FormValue("prompt")
	s.agents.Go(func() {
		defer close(ended)
		defer func() { <-o.agents }()
		if err := o.work(s.ctx, s.name, prompt); err != nil && s.ctx.Err() == nil {
			log.Printf("an agent of %s: %v", o.user, err)
		}
	})
	select { // most are done by then, and the page shows it
	case <-ended:
	case <-time.After(time.Second):
	case <-r.Context().Done():
	}
	return nil
}

const (
	cookieName     = "user"
	cookieLifetime = 12 * time.Hour
)

var userName = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// signIn has the browser be that of a user. Put the sign-in of your service in this place: here all are who they say.
func (s *site) signIn(w http.ResponseWriter, r *http.Request) {
	user := r.FormValue("user")
	if !userName.MatchString(user) {
		http.Error(w, "A name has up to 32 small letters and digits.", http.StatusBadRequest)
		return
	}
	// Lax: it is sent when the browser comes back from a login, and not with the forms of other sites. On https set
	// Secure, too.
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.sign(user, time.Now().Add(cookieLifetime)), Path: "/", HttpOnly: true,
		SameSite: http.SameSiteLaxMode, MaxAge: int(cookieLifetime / time.Second)})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// sign returns the value of the cookie. Each replica knows it, as they have the same key.
func (s *site) sign(user string, until time.Time) string {
	text := user + "." + strconv.FormatInt(until.Unix(), 10)
	mac := hmac.New(sha256.New, s.cookieKey)
	_, _ = io.WriteString(mac, text)
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// user returns who makes a request; empty if they have not signed in.
func (s *site) user(r *http.Request) string {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	user, rest, _ := strings.Cut(cookie.Value, ".")
	seconds, _, _ := strings.Cut(rest, ".")
	until, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || time.Now().Unix() > until || !hmac.Equal([]byte(cookie.Value), []byte(s.sign(user, time.Unix(until, 0)))) {
		return ""
	}
	return user
}

// A view is what the page shows.
type view struct {
	User, Replica string
	Servers       []serverView
	Tools         []*registry.Definition
	Waiting       []*registry.ApprovalRequest
	Transcript    []string
}

type serverView struct {
	host.Status
	Changes []ledger.Change // that the user has to accept
}

// home shows the page.
func (s *site) home(w http.ResponseWriter, r *http.Request) {
	if s.user(r) == "" {
		_ = s.pages.ExecuteTemplate(w, "home", view{Replica: s.name}) // fails if the browser is gone
		return
	}
	s.with(func(w http.ResponseWriter, r *http.Request, o *office) (err error) {
		v := view{User: o.user, Replica: s.name}
		for _, status := range o.host.Servers() {
			v.Servers = append(v.Servers, serverView{status, o.tools.Pending(status.Name)})
		}
		for _, t := range o.host.Registry().Snapshot().Tools() {
			v.Tools = append(v.Tools, t.Definition())
		}
		if v.Waiting, err = o.member.Approvals(r.Context()); err != nil {
			return err
		}
		if v.Transcript, _, err = o.transcript(r.Context()); err != nil {
			return err
		}
		return s.pages.ExecuteTemplate(w, "home", v)
	})(w, r)
}
