package auth

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestRevoke(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"empty": func(http.ResponseWriter, *http.Request) {},
		"JSON":  sends(200, `{}`),
		"text": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "revoked")
		},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) },
	} {
		t.Run(name, func(t *testing.T) {
			as := newPeer(t, answer)
			c := &Client{Issuer: as.url, ID: "client", Secret: "s", AuthMethod: authPost, Source: Dynamic}
			assert.OK(t, flow(t, Config{}).Revoke(t.Context(), grantOf(as.authority(), c)))
			var got []url.Values
			for _, r := range as.requests() {
				assert.Equal(t, r.path, "/revoke", "to")
				got = append(got, r.form)
			}
			want := []url.Values{
				{"token": {"RT"}, "token_type_hint": {"refresh_token"}, "client_id": {"client"}, "client_secret": {"s"}},
				{"token": {"AT"}, "token_type_hint": {"access_token"}, "client_id": {"client"}, "client_secret": {"s"}},
			}
			assert.Equal(t, reflect.DeepEqual(got, want), true, "sends")
		})
	}
}

func TestRevokeOneOfTwo(t *testing.T) {
	as := newPeer(t, nil)
	refuse := func(hint, code string, status int) {
		as.says(func(w http.ResponseWriter, r *http.Request) {
			if r.PostFormValue("token_type_hint") == hint {
				sends(status, `{"error":"`+code+`","error_description":"CANARY"}`)(w, r)
			}
		})
	}
	f, g := flow(t, Config{}), grantOf(as.authority(), as.public())
	for _, c := range []struct {
		hint, code string
		status     int
		fine       bool
	}{
		{"refresh_token", "unsupported_token_type", 400, false},
		{"refresh_token", "invalid_client", 401, false},
		{"refresh_token", "invalid_token", 400, true}, // Google: revoked before
		{"access_token", "invalid_token", 400, true},
		{"access_token", "unsupported_token_type", 400, true},
		{"access_token", "server_error", 503, false},
	} {
		before := len(as.requests())
		refuse(c.hint, c.code, c.status)
		err := f.Revoke(t.Context(), g)
		var no *OAuthError
		if c.fine != (err == nil) || err != nil && (!errors.As(err, &no) || no.Code != c.code || no.Status != c.status || no.Request != "revocation") {
			t.Errorf("%s, %s: %v", c.hint, c.code, err)
		}
		if err != nil {
			keepsSecrets(t, err, "CANARY")
		}
		assert.Equal(t, len(as.requests())-before, 2, "%s, %s: requests", c.hint, c.code)
	}
}

func TestRevokeBothFail(t *testing.T) {
	as := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	})
	err := flow(t, Config{}).Revoke(t.Context(), grantOf(as.authority(), as.public()))
	joined, ok := err.(interface{ Unwrap() []error })
	assert.Equal(t, [...]any{ok, len(joined.Unwrap()), len(as.requests())}, [...]any{true, 2, 2})
}

func TestRevokeNothing(t *testing.T) {
	as := newPeer(t, sends(200, `{}`))
	f, g := flow(t, Config{}), grantOf(as.authority(), as.public())
	g.Token.Refresh, g.Token.Access = "", ""
	assert.OK(t, f.Revoke(t.Context(), g))
	g = grantOf(as.authority(), as.public())
	g.Authority.RevocationEndpoint = ""
	assert.OK(t, f.Revoke(t.Context(), g))
	assert.Equal(t, len(as.requests()), 0)
}
