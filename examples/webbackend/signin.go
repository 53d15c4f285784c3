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
	users sync.Map // names, by the value of the cookie
}

const cookieName = "session"

// signIn has the browser be that of a user.
func (s *signIns) signIn(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	s.users.Store(id, r.FormValue("user"))
	// Lax: it is sent when the browser comes back from a login at another site, and not
	// with the forms of other sites. Set Secure, too, where the program is on https.
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *signIns) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.users.Delete(cookie.Value)
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// user returns who makes a request.
func (s *signIns) user(r *http.Request) (string, error) {
	cookie, err := r.Cookie(cookieName)
	if err == nil {
		if user, ok := s.users.Load(cookie.Value); ok && user != "" {
			return user.(string), nil
		}
	}
	return "", errors.New("no user has signed in")
}
