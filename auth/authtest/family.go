package authtest

import (
	"crypto/rand"
	"math"
	"slices"
	"strings"
	"time"
)

// A grant is what a user has agreed to.
type grant struct {
	client   string
	user     string
	resource string
	scopes   []string
	final    bool   // no refresh tokens
	thumb    string // of the key that the tokens are bound to; empty if to none
}

// A family is what was issued for one login.
type family struct {
	grant
	head      string // the newest refresh token
	newest    string // the newest access token
	refreshes int
	revoked   bool // by reuse
	ended     bool // otherwise
}

type accessToken struct {
	family  *family
	scopes  []string
	expires time.Time
	epoch   int // of the server, when it was issued
	ended   bool
}

type refreshToken struct {
	family *family
	used   time.Time // for the first time; zero if it was not
}

func (s *Server) newFamily(g grant) *family {
	f := &family{grant: g}
	s.families = append(s.families, f)
	return f
}

// issue makes new tokens, and the answer that brings them.
func (s *Server) issue(f *family, scopes []string) map[string]any {
	f.newest = "access-" + rand.Text()
	s.access[f.newest] = &accessToken{
		family:  f,
		scopes:  scopes,
		expires: time.Now().Add(s.options.TokenLifetime),
		epoch:   s.epoch,
	}
	answer := map[string]any{
		"access_token": f.newest,
		"token_type":   "Bearer",
		"expires_in":   int(math.Ceil(s.options.TokenLifetime.Seconds())),
	}
	if f.thumb != "" {
		answer["token_type"] = "DPoP"
	}
	if slices.Contains(scopes, "openid") {
		answer["id_token"] = s.IDToken(f.client, f.user)
	}
	if len(scopes) > 0 {
		answer["scope"] = strings.Join(scopes, " ")
	}
	s.records.keep(f.newest)
	if s.bringsRefresh(f) {
		f.head = "refresh-" + rand.Text()
		s.refresh[f.head] = &refreshToken{family: f}
		answer["refresh_token"] = f.head
		s.records.keep(f.head)
	}
	return answer
}

func (s *Server) bringsRefresh(f *family) bool {
	return !f.final && (!s.options.KeepRefresh || f.head == "")
}

// good returns the access token if it can be used now.
func (s *Server) good(text string) *accessToken {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.access[text]
	if t == nil || t.ended || t.family.ended || t.family.revoked ||
		t.epoch != s.epoch || !time.Now().Before(t.expires) {
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
	// KeyThumbprint is that of the key that the tokens are bound to (RFC 9449);
	// empty if they are bound to none.
	KeyThumbprint string
	// Revoked says that a used refresh token was used again.
	Revoked bool
	// Ended says that the tokens were revoked for another reason: the client
	// asked for it, its code was used twice, or [Server.EndAll].
	Ended bool
}

func (f *family) snapshot() Family {
	return Family{
		ClientID: f.client, User: f.user, Resource: f.resource,
		Scopes: slices.Clone(f.scopes), Access: f.newest, Refresh: f.head, Refreshes: f.refreshes,
		KeyThumbprint: f.thumb, Revoked: f.revoked, Ended: f.ended,
	}
}

// Families returns all logins, in order.
func (s *Server) Families() []Family {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Family, len(s.families))
	for i, f := range s.families {
		all[i] = f.snapshot()
	}
	return all
}

// Family returns the login that an access or refresh token came of. It reports
// false if it has not issued such a token.
func (s *Server) Family(token string) (Family, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.family(token); f != nil {
		return f.snapshot(), true
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
	s.epoch++
}

// EndAll revokes all tokens, as an administrator can. Refreshes are then refused
// with invalid_grant.
func (s *Server) EndAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.families {
		f.ended = true
	}
}
