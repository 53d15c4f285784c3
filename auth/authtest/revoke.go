package authtest

import (
	"net/http"
	"time"
)

// serveRevocation ends a token, and with a refresh token the whole login (RFC
// 7009). A token that is not known is no error.
func (s *Server) serveRevocation(w http.ResponseWriter, r *http.Request) error {
	form, err := s.form(r)
	if err != nil {
		return err
	}
	c, err := s.authenticate(r, form)
	if err != nil {
		return err
	}
	token := form.Get("token")
	if token == "" {
		return refusef("invalid_request", "token is missing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.family(token)
	switch {
	case f == nil:
	case f.ClientID != c.ID:
		return refusef("invalid_grant", "the token is another client's")
	case s.access[token] != nil:
		s.access[token].expires = time.Time{}
	default:
		f.Ended = true
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
