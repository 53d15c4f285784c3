package oidc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/access/oidc"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// wantRefused tells whether a request is refused with a status and for a reason, in which the token is not.
func wantRefused(t *testing.T, name string, a access.Authenticator, r *http.Request, status int, reason string) {
	t.Helper()
	caller, err := a(r)
	var refused *access.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("%s: got %+v, %v, want a refusal", name, caller, err)
		return
	}
	assert.Equal(t, refused.Status, status, "%s: the status", name)
	assert.Contains(t, refused.Error(), reason, "%s", name)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	for part := range strings.SplitSeq(token, ".") {
		assert.True(t, len(part) <= 10 || !strings.Contains(refused.Error(), part), "%s: no part of the token is in %q", name, refused)
	}
}

// Tokens for the view that is asked for let their user in.
func TestTokens(t *testing.T) { synctest.Test(t, testTokens) }

func testTokens(t *testing.T) {
	s := newServer(t)
	a := s.authenticator(t, nil)
	for name, c := range map[string]struct {
		path, kind string
		changes    map[string]any
		want       string // credential, after the issuer
	}{
		"access token":   {"/mcp", "at+jwt", nil, "#desk"},
		"long type":      {"/mcp", "application/at+jwt", nil, "#desk"},
		"plain type":     {"/mcp", "JWT", nil, "#desk"},
		"no type":        {"/mcp", "", map[string]any{"client_id": nil, "azp": "other"}, "#other"},
		"no client":      {"/mcp", "", map[string]any{"client_id": nil}, "#"},
		"slash":          {"/mcp/", "", nil, "#desk"},
		"slash in token": {"/mcp", "", map[string]any{"aud": belt + "/mcp/"}, "#desk"},
		"origin":         {"/p/office/mcp", "", map[string]any{"aud": belt + "/"}, "#desk"},
		"several":        {"/mcp", "", map[string]any{"aud": []string{"https://other.example", belt + "/mcp"}}, "#desk"},
		"profile":        {"/p/office/mcp", "", map[string]any{"aud": belt + "/p/office/mcp"}, "#desk"},
		"ready":          {"/p/office/readyz", "", map[string]any{"aud": belt + "/p/office/mcp"}, "#desk"},
		"server":         {"/s/a%20b/mcp", "", map[string]any{"aud": belt + "/s/a%20b/mcp"}, "#desk"},
		"HandsAI":        {"/mcp/tools/call", "", nil, "#desk"},
		"Keycloak":       {"/mcp", "JWT", map[string]any{"typ": "Bearer"}, "#desk"},
		"nonce":          {"/mcp", "at+jwt", map[string]any{"nonce": "x"}, "#desk"},
	} {
		caller, err := a(with(c.path, s.token(t, c.kind, c.changes)))
		assert.OK(t, err, "%s", name)
		assert.Equal(t, *caller, access.Caller{User: "ada", Credential: s.URL + c.want}, "%s", name)
	}
	assert.Equal(t, s.fetches.Load(), 1, "requests of the keys")
}

// What is no token for the view is refused, with a reason and without the token in it.
func TestRefusedTokens(t *testing.T) { synctest.Test(t, testRefusedTokens) }

func testRefusedTokens(t *testing.T) {
	s, stranger := newServer(t), newServer(t)
	a := s.authenticator(t, nil)
	hour := time.Now().Add(time.Hour).Unix()
	good := s.token(t, "at+jwt", nil)
	parts := strings.Split(good, ".")
	forged := strings.Split(s.token(t, "at+jwt", map[string]any{"sub": "eve"}), ".")
	for name, c := range map[string]struct{ path, token, reason string }{
		"alg none":           {"/mcp", unsigned(t, s.claims(nil)), "not valid"},
		"no signature":       {"/mcp", parts[0] + "." + parts[1] + ".", "not valid"},
		"other claims":       {"/mcp", parts[0] + "." + forged[1] + "." + parts[2], "not valid"},
		"HS256, public key":  {"/mcp", sign(t, jose.HS256, publicText(t, s.key.Public()), "one", "at+jwt", s.claims(nil)), "not valid"},
		"another's key":      {"/mcp", sign(t, jose.ES256, stranger.key, "one", "at+jwt", s.claims(nil)), "not valid"},
		"unknown key":        {"/mcp", sign(t, jose.ES256, stranger.key, "two", "at+jwt", s.claims(nil)), "not valid"},
		"expired":            {"/mcp", s.token(t, "", map[string]any{"exp": hour - 7200}), "has expired"},
		"no end":             {"/mcp", s.token(t, "", map[string]any{"exp": nil}), "has expired"},
		"not yet valid":      {"/mcp", s.token(t, "", map[string]any{"nbf": hour}), "not valid"},
		"other issuer":       {"/mcp", stranger.token(t, "at+jwt", nil), "the issuer is not one"},
		"no issuer":          {"/mcp", s.token(t, "at+jwt", map[string]any{"iss": nil}), "the issuer is not one"},
		"other audience":     {"/mcp", s.token(t, "", map[string]any{"aud": "https://other.example"}), "another audience"},
		"no audience":        {"/mcp", s.token(t, "", map[string]any{"aud": nil}), "another audience"},
		"other profile":      {"/p/y/mcp", s.token(t, "", map[string]any{"aud": belt + "/p/x/mcp"}), "another audience"},
		"all for a profile":  {"/p/y/mcp", s.token(t, "", nil), "another audience"},
		"profile for all":    {"/mcp", s.token(t, "", map[string]any{"aud": belt + "/p/x/mcp"}), "another audience"},
		"longer path":        {"/p/xy/mcp", s.token(t, "", map[string]any{"aud": belt + "/p/x/mcp"}), "another audience"},
		"origin, no slash":   {"/mcp", s.token(t, "", map[string]any{"aud": belt}), "another audience"},
		"client as audience": {"/mcp", s.token(t, "JWT", map[string]any{"aud": "desk", "nonce": "x"}), "another audience"},
		"ID token, nonce":    {"/mcp", s.token(t, "JWT", map[string]any{"nonce": "x"}), "claim nonce"},
		"ID token, hash":     {"/mcp", s.token(t, "", map[string]any{"at_hash": "x"}), "claim at_hash"},
		"ID token, typ":      {"/mcp", s.token(t, "JWT", map[string]any{"typ": "ID"}), "claim typ"},
		"ID token, use":      {"/mcp", s.token(t, "JWT", map[string]any{"token_use": "id"}), "claim token_use"},
		"logout token":       {"/mcp", s.token(t, "logout+jwt", nil), "another type"},
		"bound token":        {"/mcp", s.token(t, "at+jwt", map[string]any{"cnf": map[string]string{"jkt": "x"}}), "bound to a key"},
		"no user":            {"/mcp", s.token(t, "at+jwt", map[string]any{"sub": nil}), "no user"},
		"long user":          {"/mcp", s.token(t, "at+jwt", map[string]any{"sub": strings.Repeat("a", 201)}), "no user"},
		"no JWT":             {"/mcp", "opaque", "no JWT"},
		"five parts":         {"/mcp", "a.b.c.d.e", "no JWT"},
		"huge":               {"/mcp", good + strings.Repeat("A", 16<<10), "no JWT"},
	} {
		wantRefused(t, name, a, with(c.path, c.token), 0, c.reason)
	}
	kid := map[string]any{"kid": "one", "crit": []string{"x"}}
	for name, c := range map[string]struct {
		header          map[string]any
		members, reason string
	}{
		"twice":              {nil, `,"aud":"` + belt + `/mcp"`, "not valid"},
		"audience, two ways": {nil, `,"Aud":"other"`, "another case"},
		"end, two ways":      {nil, `,"EXP":1`, "another case"},
		"own claim, twice":   {nil, `,"role":"user","Role":"admin"`, "another case"},
		"critical":           {kid, ``, "not valid"},
		"critical, base64":   {map[string]any{"kid": "one", "crit": []string{"b64"}, "b64": true}, ``, "not valid"},
	} {
		wantRefused(t, name, a, with("/mcp", signOdd(t, jose.ES256, s.key, c.header, s.claims(nil), c.members)), 0, c.reason)
	}
	wantRefused(t, "audience, another case", a, with("/mcp", signOdd(t, jose.ES256, s.key, nil, s.claims(map[string]any{"aud": nil}), `,"Aud":"`+belt+`/mcp"`)), 0, "another case")
	n := s.fetches.Load()
	assert.True(t, n <= 3, "%d requests of the keys are few", n)
	r := with("/mcp", good)
	r.Header.Add("Authorization", "Bearer "+good)
	wantRefused(t, "two tokens", a, r, 0, "more than one")
}

// Scopes become a grant, and a missing one is asked for; the user is named by a claim.
func TestGrantsOfTokens(t *testing.T) { synctest.Test(t, testGrantsOfTokens) }

func testGrantsOfTokens(t *testing.T) {
	s := newServer(t)
	a := s.authenticator(t, func(o *oidc.Options) {
		o.UserClaim = "email"
		o.Grant = func(c *oidc.Claims) (*access.Grant, error) {
			switch {
			case slices.Contains(c.Scopes, "odd"):
				return nil, errors.New("odd")
			case !slices.Contains(c.Scopes, "read"):
				return nil, &access.RefusedError{Status: http.StatusForbidden, Scope: "read", Reason: "the scope is missing"}
			}
			return &access.Grant{ReadOnly: !slices.Contains(c.Scopes, "write")}, nil
		}
	})
	email := func(changes map[string]any) string {
		all := map[string]any{"email": "ada@example.com", "email_verified": true}
		for key, value := range changes {
			all[key] = value
		}
		return s.token(t, "at+jwt", all)
	}
	for scope, want := range map[string]bool{"read": true, "read write": false} {
		caller := assert.Value(a(with("/mcp", email(map[string]any{"scope": scope}))))(t)
		assert.Equal(t, caller.User, "ada@example.com", "%s", scope)
		assert.Equal(t, caller.Grant.ReadOnly, want, "%s", scope)
	}
	assert.True(t, assert.Value(a(with("/mcp", email(map[string]any{"scope": nil, "scp": []string{"read"}}))))(t).Grant.ReadOnly, "scp: one who only reads")
	wantRefused(t, "no scope", a, with("/mcp", email(map[string]any{"scope": nil})), 403, "the scope is missing")
	wantRefused(t, "odd", a, with("/mcp", email(map[string]any{"scope": "odd"})), 403, "odd")
	wantRefused(t, "not verified", a, with("/mcp", email(map[string]any{"email_verified": false})), 0, "verified")
}

// Two issuers may give one name to two people.
func TestTwoIssuers(t *testing.T) { synctest.Test(t, testTwoIssuers) }

func testTwoIssuers(t *testing.T) {
	one, two := newServer(t), newServer(t)
	both := one.authenticator(t, func(o *oidc.Options) { o.Issuers = []string{one.URL, two.URL} })
	each := access.Any(one.authenticator(t, nil), two.authenticator(t, nil))
	for _, s := range []*server{one, two} {
		r := with("/mcp", s.token(t, "at+jwt", nil))
		assert.Equal(t, assert.Value(both(r))(t).User, s.URL+"#ada")
		assert.Equal(t, assert.Value(each(r))(t).Credential, s.URL+"#desk")
	}
	wantRefused(t, "key of the other", both, with("/mcp", sign(t, jose.ES256, two.key, "one", "", one.claims(nil))), 0, "not valid")
	wantRefused(t, "stranger", each, with("/mcp", newServer(t).token(t, "", nil)), 0, "the issuer is not one")
}

// Metadata may be where RFC 8414 wants it, and is that of the issuer.
func TestDiscovery(t *testing.T) {
	s := newHTTPServer(t)
	s.metadata = "/.well-known/oauth-authorization-server"
	assert.Value(s.authenticator(t, nil)(with("/mcp", s.token(t, "", nil))))(t)
	for name, document := range map[string]string{
		"other issuer": `{"issuer":"https://other.example","jwks_uri":"` + s.URL + `/keys"}`,
		"open keys":    `{"issuer":"` + s.URL + `","jwks_uri":"http://192.0.2.1/keys"}`,
		"no JSON":      `<html>`,
		"too large":    strings.Repeat(" ", 2<<20),
	} {
		s.answer(func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = w.Write([]byte(document))
			return true
		})
		wantRefused(t, name, s.authenticator(t, nil), with("/mcp", s.token(t, "", nil)), 503, "cannot be asked")
	}
}

// Options that cannot be meant are errors.
func TestOptions(t *testing.T) {
	for name, o := range map[string]*oidc.Options{
		"nil":       nil,
		"no issuer": {Resource: belt},
		"http":      {Issuers: []string{"http://as.example"}, Resource: belt},
		"resource":  {Issuers: []string{"https://as.example"}, Resource: "belt"},
		"query":     {Issuers: []string{"https://as.example"}, Resource: belt + "?a"},
	} {
		assert.Fails(t, assert.Err(oidc.New(context.Background(), o)), "%s", name)
	}
}

// The metadata of an issuer, and its keys, are read by the exact names of their members.
func TestExactMetadata(t *testing.T) {
	for name, c := range map[string]struct{ path, answer string }{
		"address in another case": {"/.well-known/openid-configuration", `{"issuer":"%[1]s","Jwks_Uri":"%[1]s/keys"}`},
		"two addresses":           {"/.well-known/openid-configuration", `{"issuer":"%[1]s","jwks_uri":"%[1]s/none","jwks_uri":"%[1]s/keys"}`},
		"keys in another case":    {"/keys", `{"Keys":[%[2]s]}`},
		"keys twice":              {"/keys", `{"keys":[],"keys":[%[2]s]}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			key := assert.Value(json.Marshal(s.keys[0]))(t)
			s.answer(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == c.path {
					_, _ = fmt.Fprintf(w, c.answer+"%.0[1]s%.0[2]s", s.URL, key)
				}
				return r.URL.Path == c.path
			})
			assert.Fails(t, assert.Err(s.authenticator(t, nil)(with("/mcp", s.token(t, "at+jwt", nil)))), "%s", name)
		})
	}
}

// Keys rotate, and the issuer may be away: keys that are known go on.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		a := s.authenticator(t, nil)
		good := func(name string, tokens ...string) {
			t.Helper()
			for _, token := range tokens {
				assert.Equal(t, assert.Err(a(with("/mcp", token))), nil, "%s", name)
			}
		}
		week := map[string]any{"exp": time.Now().Add(7 * 24 * time.Hour).Unix()}
		first := s.token(t, "", week)
		good("first key", first)
		s.rotate(t, "two", true)
		second := s.token(t, "", week)
		wantRefused(t, "new key at once", a, with("/mcp", second), 0, "not valid")
		time.Sleep(2 * time.Second)
		good("new key", second, first)
		s.answer(func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		})
		s.rotate(t, "three", false)
		third := s.token(t, "", week)
		time.Sleep(2 * time.Second)
		wantRefused(t, "key of an issuer that is away", a, with("/mcp", third), 503, "cannot be asked")
		good("known keys", second, first)
		time.Sleep(3 * time.Hour)
		good("known keys after 3 hours", second, first)
		s.answer(nil)
		time.Sleep(2 * time.Second)
		good("key of an issuer that is back", third)
		time.Sleep(2 * time.Hour)
		good("first use after an hour", third)
		for name, token := range map[string]string{"first": first, "second": second} {
			wantRefused(t, name+" key, withdrawn", a, with("/mcp", token), 0, "not valid")
		}
	})
}

// A key that the issuer withdraws is good for an hour at most.
func TestWithdrawnKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		a := s.authenticator(t, nil)
		r := with("/mcp", s.token(t, "", map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()}))
		assert.Value(a(r))(t)
		s.rotate(t, "two", false)
		time.Sleep(time.Hour)
		wantRefused(t, "withdrawn", a, r, 0, "not valid")
	})
}

// Tokens that no one signed have the issuer asked no more than every 2 seconds.
func TestFloodOfForgedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		a := s.authenticator(t, nil)
		forged := sign(t, jose.ES256, newServer(t).key, "none", "", s.claims(nil))
		for range 1000 {
			wantRefused(t, "forged", a, with("/mcp", forged), 0, "not valid")
			time.Sleep(10 * time.Millisecond)
		}
		n := s.fetches.Load()
		assert.True(t, n <= 6, "%d requests of the keys in 10 s are at most 6", n)
	})
}

// An issuer that does not answer costs each request 5 s at most.
func TestIssuerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		a := s.authenticator(t, nil)
		known := s.token(t, "", map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()})
		hang := func(w http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		}
		s.answer(hang)
		ask := func(name, token string) {
			t.Helper()
			begun := time.Now()
			wantRefused(t, name, a, with("/mcp", token), 503, "cannot be asked")
			took := time.Since(begun)
			assert.True(t, took <= 5*time.Second, "%s: the answer after %v is within 5 s", name, took)
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { ask("metadata", known) })
		}
		all.Wait()
		s.answer(nil)
		time.Sleep(10 * time.Second)
		assert.Value(a(with("/mcp", known)))(t)
		s.answer(hang)
		s.rotate(t, "two", true)
		time.Sleep(2 * time.Second)
		ask("keys", s.token(t, "", nil))
		begun := time.Now()
		assert.Value(a(with("/mcp", known)))(t)
		assert.Equal(t, time.Since(begun), 0, "a known key: the answer after")
		time.Sleep(10 * time.Second)
	})
}

// FuzzToken looks for a token that is let in, or panics.
func FuzzToken(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	a := assert.Value(oidc.New(context.Background(), &oidc.Options{Issuers: []string{"https://as.invalid"}, Resource: belt}))(f)
	f.Fuzz(func(t *testing.T, token string) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		assert.Fails(t, assert.Err(a(with("/mcp", token).WithContext(ctx))))

	})
}
