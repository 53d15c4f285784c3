package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// refusal sends one request and returns it and its answer.
func (w *world) refusal(m *Manager, key Key) (*http.Response, *http.Request) {
	w.t.Helper()
	req := assert.Value(http.NewRequestWithContext(w.ctx, http.MethodPost, w.rs.URL, http.NoBody))(w.t)
	assert.OK(w.t, m.Handler(key).Authenticate(w.ctx, req.Header, req.Method, w.rs.URL, nil))
	resp := assert.Value(w.as.Client().Do(req))(w.t)
	return resp, req
}

// The authorization server may forget the program while the user logs in.
func TestClientIsForgottenDuringTheLogin(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(nil)
	l := assert.Value(m.Login(w.ctx, alice))(t)
	callback := assert.Value(w.as.Approve(w.ctx, l.URL))(t)
	w.as.Purge()
	assert.Equal(t, assert.As[*auth.OAuthError](t, errOf(m.Complete(w.ctx, callback, nil))).Code, "invalid_client")
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	assert.Equal(t, w.as.Count(authtest.RegistrationEndpoint), 2, "registrations")
}

// A program that logs in by itself keeps its registration, whatever becomes of
// the login, as long as the authorization server knows it.
func TestRegistrationOfAProgram(t *testing.T) {
	idp := authtest.NewServer(t, &authtest.Options{
		TokenExchange: true,
		Clients:       []authtest.Client{{ID: "app-at-idp", Secret: "one", AuthMethod: "client_secret_post"}},
	})
	w := newWorld(t, &authtest.Options{IdP: idp}, nil)
	w.config.Grant = auth.EnterpriseManaged
	w.config.Enterprise = &auth.Enterprise{
		Issuer: idp.Issuer, TokenEndpoint: idp.URL(authtest.TokenEndpoint),
		Client: auth.Client{Issuer: idp.Issuer, ID: "app-at-idp", Secret: "one", AuthMethod: "client_secret_post"},
		SubjectToken: func(context.Context) (auth.Secret, error) {
			return auth.Secret(idp.IDToken("app-at-idp", "alice")), nil
		},
	}
	m := w.manager(nil)
	for round, fault := range []struct {
		code          string
		registrations int
	}{{"invalid_grant", 1}, {"invalid_grant", 1}, {"invalid_client", 1}, {"invalid_grant", 2}} {
		w.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 400, Code: fault.code})
		refused := assert.As[*auth.OAuthError](t, errOf(m.Login(w.ctx, alice)), "round %d", round)
		assert.Equal(t, [...]any{refused.Code, refused.Request}, [...]any{fault.code, "token"}, "round %d", round)
		assert.Equal(t, w.as.Count(authtest.RegistrationEndpoint), fault.registrations, "round %d: registrations", round)
	}
}

// A login that does not fit the configuration is not used. If that was a mistake,
// it is good again when it is mended.
func TestConfigurationChanges(t *testing.T) {
	changes := map[string]func(*auth.Config){
		"issuer": func(c *auth.Config) { c.Issuer = "https://other.example" },
		"client": func(c *auth.Config) { c.Client = nil },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &authtest.Options{Clients: []authtest.Client{{ID: "app", RedirectURIs: []string{callbackURL}}}}, nil)
			w.config.Client = &auth.Client{Issuer: w.as.Issuer, ID: "app"}
			w.mustLogIn(w.manager(nil), alice)
			w.as.ExpireAll()
			before := w.as.Count(authtest.TokenEndpoint)
			right := w.config
			wrong := *right
			change(&wrong)
			w.config = &wrong
			assert.Fails(t, errOf(w.call(w.ctx, w.manager(nil), alice)), "a request went through")
			assert.Equal(t, w.as.Count(authtest.TokenEndpoint)-before, 0, "requests for tokens")
			w.config = right
			w.mustCall(w.manager(nil), alice)
		})
	}
}

// A server that refuses new tokens is given another one once a minute, in case
// that it has changed its mind.
func TestServerThatRefusesTheTokensOfAProgram(t *testing.T) {
	var open atomic.Bool
	refuse := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/mcp" || open.Load() {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	app := authtest.Client{ID: "app", Secret: "app-secret"}
	w := newWorld(t, &authtest.Options{Clients: []authtest.Client{app}}, &authtest.ResourceOptions{Tamper: refuse})
	w.config.Grant = auth.ClientCredentials
	w.config.Client = &auth.Client{Issuer: w.as.Issuer, ID: app.ID, Secret: auth.Secret(app.Secret)}
	m := w.manager(nil)
	var failed *RefreshError
	for range 10 {
		_, err := w.call(w.ctx, m, alice)
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
	}
	if n := w.as.Granted("client_credentials"); n != maxRefusals+1 || failed == nil {
		t.Fatalf("%d tokens, error %v", n, failed)
	}
	open.Store(true)
	w.as.ExpireAll()
	assert.Value(m.entry(alice).change(w.ctx, func(r *record) *record {
		return r.with(func(r *record) {
			old := *r.Grant
			old.Token.Obtained = old.Token.Obtained.Add(-2 * renewCeiling)
			r.Grant = &old
		})
	}))(t)
	e := m.entry(alice)
	e.mu.Lock()
	e.forgiveLocked() // as if time had passed
	e.mu.Unlock()
	w.mustCall(m, alice)
}

// Callbacks of a Config know on whose behalf they are asked.
func TestCallbacksKnowTheUser(t *testing.T) {
	w := newWorld(t, nil, nil)
	var asked []string
	w.config.Grant = auth.WorkloadIdentity
	w.config.Assertion = func(ctx context.Context, _, _ string) (auth.Secret, error) {
		user, _ := UserOf(ctx)
		asked = append(asked, user)
		return "", errors.New("no identity today")
	}
	assert.Fails(t, errOf(w.call(w.ctx, w.manager(nil), alice)), "a request went through")
	assert.Equal(t, fmt.Sprint(asked), fmt.Sprint([]string{"alice"}), "asked for")
}
