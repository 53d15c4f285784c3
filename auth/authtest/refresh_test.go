package authtest_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestRotation(t *testing.T) {
	s, a := newServer(t, nil)
	other, _ := a.login()
	access, first := a.login()
	answer := a.granted(a.refresh(first))
	second, newest := answer["refresh_token"].(string), answer["access_token"].(string)
	assert.True(t, second != first, "the refresh token is another one")
	a.wantCall(access, 200)
	a.wantCall(newest, 200)
	f, _ := s.Family(first)
	assert.Equal(t, [...]any{f.Refresh, f.Access, f.Refreshes, f.Ended}, [...]any{second, newest, 1, false}, "family")

	a.want("invalid_grant")(a.refresh(first)) // the second use
	assert.Equal(t, s.Revoked(), 1, "logins revoked")
	a.want("invalid_grant")(a.refresh(second))
	a.want("invalid_grant")(a.refresh(first))
	assert.Equal(t, s.Revoked(), 1, "logins revoked")
	a.wantCall(newest, 401)
	a.wantCall(other, 200)
}

func TestRefreshWrong(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.Protect(echo(), nil)
	a, b := newApp(t, s, r), newApp(t, s, r)
	_, refresh := a.login("scope", "read")
	a.want("invalid_grant")(a.refresh("refresh-unknown"))
	a.want("invalid_grant")(b.refresh(refresh))
	a.want("invalid_target")(a.refresh(refresh, "resource", ""))
	a.want("invalid_target")(a.refresh(refresh, "resource", "https://other.example"))
	a.want("invalid_scope")(a.refresh(refresh, "scope", "read write"))
	a.granted(a.refresh(refresh))
}

func TestGrace(t *testing.T) {
	s, a := newServer(t, &authtest.Options{Grace: time.Hour})
	_, refresh := a.login()
	for range 3 {
		a.granted(a.refresh(refresh))
	}
	assert.Equal(t, s.Revoked(), 0, "revoked")
}

func TestExpiry(t *testing.T) {
	s, a := newServer(t, nil)
	access, refresh := a.login()
	s.ExpireAll()
	a.wantCall(access, 401)
	_, answer := a.refresh(refresh)
	a.wantCall(answer["access_token"].(string), 200)
	s.EndAll()
	a.wantCall(answer["access_token"].(string), 401)
	a.want("invalid_grant")(a.refresh(answer["refresh_token"].(string)))
	assert.Equal(t, s.Revoked(), 0, "that counts as theft")
}

func TestTokenLifetime(t *testing.T) {
	_, a := newServer(t, &authtest.Options{TokenLifetime: time.Nanosecond})
	access, _ := a.login()
	a.wantCall(access, 401)
}

func TestRevocation(t *testing.T) {
	s := authtest.NewServer(t, nil)
	r := s.Protect(echo(), nil)
	a, b := newApp(t, s, r), newApp(t, s, r)
	access, refresh := a.login()
	revoke := func(a *app, token string) (int, map[string]any) {
		return a.post(authtest.RevocationEndpoint, map[string][]string{"client_id": {a.id}, "token": {token}})
	}
	a.want("invalid_grant")(revoke(b, refresh))
	a.wantCall(access, 200)
	revoke(a, access)
	a.wantCall(access, 401)
	_, answer := a.refresh(refresh)
	a.granted(revoke(a, answer["refresh_token"].(string)))
	a.wantCall(answer["access_token"].(string), 401)
	a.granted(revoke(a, "unknown"))
	assert.Equal(t, s.Families()[0].Ended, true, "family")
}

func TestPurge(t *testing.T) {
	s, a := newServer(t, nil)
	_, refresh := a.login()
	s.Purge()
	a.want("invalid_client")(a.refresh(refresh))
}

// What a refresh costs the server and a plain client together, on as many logins
// as there are processors.
func BenchmarkRefresh(b *testing.B) {
	s := assert.Value(authtest.New(&authtest.Options{
		ResourceOptional: true,
		KeepRefresh:      true,
		Clients:          []authtest.Client{{ID: "robot", RedirectURIs: []string{redirectURI}}},
	}))(b)
	defer s.Close()
	a := &app{server: s, id: "robot"}
	u := assert.Value(url.Parse(assert.Value(s.Approve(b.Context(), s.URL(authtest.AuthorizationEndpoint)+"?"+a.query().Encode()))(b)))(b)
	post := func(form url.Values) {
		response := assert.Value(s.Client().PostForm(s.URL(authtest.TokenEndpoint), form))(b)
		response.Body.Close()
		assert.Equal(b, response.StatusCode, http.StatusOK, "status")
	}
	post(url.Values{
		"grant_type": {"authorization_code"}, "code": {u.Query().Get("code")}, "redirect_uri": {redirectURI},
		"code_verifier": {verifier}, "client_id": {"robot"},
	})
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.Families()[0].Refresh}, "client_id": {"robot"}}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			post(form)
		}
	})
}
