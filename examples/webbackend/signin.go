package main

import (
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
)

// signIns knows who makes a request, by a cookie. Put the sessions of your program in this
// place: here everybody is who they say, and has to say it again after a restart.
type signIns struct {
	mu    sync.Mutex
	users map[string]string // by the value of the cookie
}

const cookieName = "session"

// signIn has the browser be that of a user.
func (s *signIns) signIn(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	s.mu.Lock()
	s.users[id] = r.FormValue("user")
	s.mu.Unlock()
	// Lax: it is sent when the browser comes back from a login at another site, and not
	// with the forms of other sites. Set Secure, too, where the program is on https.
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *signIns) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.mu.Lock()
		delete(s.users, cookie.Value)
		s.mu.Unlock()
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// user returns who makes a request.
func (s *signIns) user(r *http.Request) (string, error) {
	cookie, err := r.Cookie(cookieName)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if user := s.users[cookie.Value]; user != "" {
			return user, nil
		}
	}
	return "", errors.New("no user has signed in")
}
