package authtest_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What a refresh costs the server and a plain client together, on as many logins
// as there are processors.
func BenchmarkRefresh(b *testing.B) {
	s := assert.Value(authtest.New(&authtest.Options{
		NoRecord: true,
		Resource: authtest.ResourceOptional,
		Refresh:  authtest.RefreshKept,
		Clients:  []authtest.Client{{ID: "robot", RedirectURIs: []string{redirectURI}}},
	}))(b)
	defer s.Close()
	a := &app{server: s, id: "robot"}
	callback := assert.Value(s.Approve(b.Context(), s.URL(authtest.AuthorizationEndpoint)+"?"+a.query().Encode()))(b)
	u := assert.Value(url.Parse(callback))(b)
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
