package authtest

import (
	"crypto/rand"
	"math"
	"slices"
	"strings"
	"time"
)

// A family is what was issued for one login, or is to be issued once it is complete.
type family struct {
	Family
	final bool   // no refresh tokens
	thumb string // of the key that the tokens are bound to; empty if to none
}

type accessToken struct {
	family  *family
	scopes  []string
	expires time.Time
}

type refreshToken struct {
	family *family
	used   time.Time // for the first time; zero if it was not
}

// complete issues the first tokens of a login to a client. Granted is what the user
// grants of the scopes that it has asked for.
func (s *Server) complete(f *family) map[string]any {
	if s.options.GrantScopes != nil {
		f.Scopes = s.options.GrantScopes(f.User, f.Scopes)
	}
	s.families = append(s.families, f)
	return s.issue(f, f.Scopes)
}

// issue makes new tokens, and the answer that brings them.
func (s *Server) issue(f *family, scopes []string) map[string]any {
	f.Access = "access-" + rand.Text()
	s.access[f.Access] = &accessToken{
		family:  f,
		scopes:  scopes,
		expires: time.Now().Add(s.options.TokenLifetime),
	}
	answer := map[string]any{
		"access_token": f.Access,
		"token_type":   "Bearer",
		"expires_in":   int(math.Ceil(s.options.TokenLifetime.Seconds())),
	}
	if f.thumb != "" {
		answer["token_type"] = "DPoP"
	}
	if slices.Contains(scopes, "openid") {
		answer["id_token"] = s.IDToken(f.ClientID, f.User)
	}
	if len(scopes) > 0 {
		answer["scope"] = strings.Join(scopes, " ")
	}
	s.keep(f.Access)
	if !f.final && (!s.options.KeepRefresh || f.Refresh == "") {
		f.Refresh = "refresh-" + rand.Text()
		s.refresh[f.Refresh] = &refreshToken{family: f}
		answer["refresh_token"] = f.Refresh
		s.keep(f.Refresh)
	}
	return answer
}

// good returns the access token if it can be used now.
func (s *Server) good(text string) *accessToken {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.access[text]
	if t == nil || t.family.Ended || !time.Now().Before(t.expires) {
		return nil
	}
	return t
}

// A Family is what was issued for one login: all tokens that came of it.
type Family struct {
	// ClientID is whose login it is.
	ClientID string
	// User is the user who logged in; for a login without a human, the client.
	User string
	// Resource is what the tokens are good for; empty for everything.
	Resource string
	// Scopes were granted.
	Scopes []string
	// Access is the newest access token.
	Access string
	// Refresh is the newest refresh token; empty if there is none.
	Refresh string
	// Refreshes is how often tokens were refreshed.
	Refreshes int
	// Ended says that the tokens were revoked: the client asked for it, its code or a refresh
	// token was used twice (see [Server.Revoked]), or [Server.EndAll].
	Ended bool
}

// Families returns all logins, in order.
func (s *Server) Families() []Family {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Family, len(s.families))
	for i, f := range s.families {
		all[i] = f.Family
	}
	return all
}

// Family returns the login that an access or refresh token came of. It reports
// false if it has not issued such a token.
func (s *Server) Family(token string) (Family, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.family(token); f != nil {
		return f.Family, true
	}
	return Family{}, false
}

func (s *Server) family(token string) *family {
	if t := s.access[token]; t != nil {
		return t.family
	}
	if t := s.refresh[token]; t != nil {
		return t.family
	}
	return nil
}

// Revoked returns the number of logins that have lost all their tokens because a
// used refresh token was used again.
func (s *Server) Revoked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revoked
}

// ExpireAll makes all access tokens expire now, before their time. Refresh tokens
// stay as they are.
func (s *Server) ExpireAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.access {
		t.expires = time.Time{}
	}
}

// EndAll revokes all tokens, as an administrator can. Refreshes are then refused
// with invalid_grant.
func (s *Server) EndAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.families {
		f.Ended = true
	}
}
