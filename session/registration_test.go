package session

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A program that logs in by itself keeps its registration, whatever becomes of
// the login, as long as the authorization server knows it.
func TestRegistrationOfAProgram(t *testing.T) {
	idp := authtest.NewServer(t, &authtest.Options{
		Clients: []authtest.Client{{ID: "app-at-idp", Secret: "one", AuthMethod: "client_secret_post"}},
	})
	env := newEnv(t, &authtest.Options{IdP: idp}, nil)
	env.config.Grant = auth.EnterpriseManaged
	env.config.Enterprise = &auth.Enterprise{
		Issuer: idp.Issuer, TokenEndpoint: idp.URL(authtest.TokenEndpoint),
		Client: auth.Client{Issuer: idp.Issuer, ID: "app-at-idp", Secret: "one", AuthMethod: "client_secret_post"},
		SubjectToken: func(context.Context) (auth.Secret, error) {
			return auth.Secret(idp.IDToken("app-at-idp", "alice")), nil
		},
	}
	m := env.manager(nil)
	for round, fault := range []struct {
		code          string
		registrations int
	}{{"invalid_grant", 1}, {"invalid_grant", 1}, {"invalid_client", 1}, {"invalid_grant", 2}} {
		env.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 400, Body: `{"error":"` + fault.code + `"}`})
		refused := assert.As[*auth.OAuthError](t, errOf(m.Login(env.ctx, alice)), "round %d", round)
		assert.Equal(t, [...]any{refused.Code, refused.Request}, [...]any{fault.code, "token"}, "round %d", round)
		env.wantRegistrations(fault.registrations, fmt.Sprint("in round ", round))
	}
}

// The names of users who log in.
func crowd(n int) []Key {
	var keys []Key
	for i := range n {
		keys = append(keys, Key{User: fmt.Sprint("user", i), Server: "s"})
	}
	return keys
}

// logInAll logs users in, one after the other.
func (env *env) logInAll(m *Manager, keys ...Key) {
	env.t.Helper()
	for _, key := range keys {
		env.mustLogIn(m, key)
	}
}

// logInTogether logs many users in at once, at one manager after the other.
func (env *env) logInTogether(keys []Key, managers ...*Manager) {
	env.t.Helper()
	errs := make(chan error)
	for i, key := range keys {
		go func() {
			l, err := managers[i%len(managers)].Login(env.ctx, key)
			var callback string
			if err == nil {
				callback, err = env.as.Approve(env.ctx, l.URL)
			}
			if err == nil {
				err = env.complete(managers[i%len(managers)], callback)
			}
			errs <- err
		}()
	}
	for range keys {
		assert.OK(env.t, <-errs)
	}
}

func TestUsersShareOneRegistration(t *testing.T) {
	for name, test := range map[string]struct {
		driver   storage.Store
		managers int
		most     int // registrations
	}{
		"one manager":  {storage.NewMemory(), 1, 1},
		"two managers": {storage.NewMemory(), 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, nil, nil)
			env.store = sealed(t, test.driver)
			var managers []*Manager
			for range test.managers {
				managers = append(managers, env.manager(nil))
			}
			env.logInTogether(crowd(5), managers...)
			n := env.as.Count(authtest.RegistrationEndpoint)
			assert.True(t, n <= test.most, "%d registrations are at most %d", n, test.most)
			env.logInTogether(crowd(8)[5:], env.manager(nil))
			env.wantRegistrations(n, "in the end")
			env.mustCall(managers[0], crowd(1)[0])
		})
	}
}

// Programs with addresses of their own that share a store keep to their clients.
func TestRegistrationsOfTwoAddresses(t *testing.T) {
	//report: Logins | BerriAI/litellm#32473 | the address that browsers come back to changes, and the client stays registered with the old one | there is a client for each address
	env := newEnv(t, nil, nil)
	here, there := env.manager(nil), env.manager(&Options{RedirectURL: "http://127.0.0.1:1/elsewhere"})
	for _, key := range crowd(3) {
		env.mustLogIn(here, key)
		env.mustLogIn(there, key)
	}
	env.wantRegistrations(2, "for two addresses")
	env.config = &auth.Config{Server: "s", URL: env.rs.URL, Registration: auth.Registration{ClientName: "another name"}}
	env.logInAll(here, crowd(3)...)
	env.wantRegistrations(3, "after the program got another name")
}

// An authorization server that has forgotten the client is registered at once more, by the
// first who learns of it, for all.
func TestForgottenRegistrationIsMadeOnceMore(t *testing.T) {
	//report: Logins | NousResearch/hermes-agent#52936, speakeasy-api/gram#6341 | a renewal or a login is refused with invalid_client, as the registration was wiped | the client is registered once more, once for all users, and the user is asked to log in
	keys := crowd(3)
	for name, learn := range map[string]func(env *env, m *Manager){
		"by a renewal": func(env *env, m *Manager) {
			env.as.Purge()
			env.as.ExpireAll()
			for _, key := range keys {
				env.mustNeedLogin(m, key)
			}
		},
		"by a callback": func(env *env, m *Manager) { // whose code was given out before
			_, callback := env.begin(m, Key{User: "late", Server: "s"})
			env.as.Purge()
			assert.Fails(env.t, env.complete(m, callback))
		},
		"by nobody's return": func(env *env, m *Manager) {
			env.as.Purge()
			assert.Value(m.Login(env.ctx, keys[0]))(env.t)
			env.expireLogin(keys[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			env, m := withManager(t, nil, nil)
			env.logInAll(m, keys...)
			learn(env, m)
			for range 2 {
				env.logInAll(m, keys...)
				env.mustCall(m, keys[0])
			}
			env.wantRegistrations(2, "altogether")
		})
	}
}

// A device asks for its code as a client that may have been forgotten.
func TestForgottenRegistrationOfDevices(t *testing.T) {
	env := newEnv(t, &authtest.Options{Device: time.Second}, nil)
	env.config.Grant = auth.DeviceCode
	m := env.manager(nil)
	assert.Value(m.Login(env.ctx, crowd(1)[0]))(t)
	env.as.Purge()
	assert.Fails(t, errOf(m.Login(env.ctx, crowd(2)[1])), "a client that was forgotten")
	for _, key := range crowd(5)[1:] {
		assert.Value(m.Login(env.ctx, key))(t)
	}
	env.wantRegistrations(2, "altogether")
}

func TestRegistrationWhoseSecretExpires(t *testing.T) {
	env, m := withManager(t, &authtest.Options{ClientAuth: "client_secret_basic", SecretLifetime: time.Hour}, nil)
	keys := crowd(4)
	env.mustLogIn(m, keys[0])
	name := registrationName(env.config, env.as.Issuer, callbackURL)
	r, at, err := m.loadRegistration(env.ctx, name)
	assert.OK(t, err)
	r.Client.SecretExpires = time.Now().Add(-time.Second)
	assert.OK(t, m.saveRegistration(env.ctx, name, r.Client, at))
	env.logInAll(m, keys[1:]...)
	env.wantRegistrations(2, "altogether")
}

// One user who is forgotten takes nothing from the others.
func TestForgetKeepsTheRegistration(t *testing.T) {
	env, m := withManager(t, nil, nil)
	keys := crowd(3)
	env.logInAll(m, keys[:2]...)
	assert.OK(t, m.Forget(env.ctx, keys[0]))
	env.as.ExpireAll()
	env.mustCall(m, keys[1])
	env.mustLogIn(m, keys[2])
	env.mustLogIn(m, keys[0])
	env.wantRegistrations(1, "altogether")
}

// A record that nobody can read is replaced; that it cannot be written is told.
func TestRegistrationThatCannotBeRead(t *testing.T) {
	env, disk, m := loggedInAt(t)
	name := registrationName(env.config, env.as.Issuer, callbackURL)
	assert.LacksAll(t, string(assert.Value(disk.Load(env.ctx, name, ""))(t).Data), "client_id", env.grantOf(m, alice).Client.ID)
	env.spoil(disk, name, atSealed)
	env.logInAll(m, crowd(2)...)
	env.wantRegistrations(2, "altogether")
}

// Logins that wait for a registration end with the manager.
func TestRegistrationThatHangs(t *testing.T) {
	env, m := withManager(t, nil, nil)
	env.as.Fail(authtest.RegistrationEndpoint, -1, authtest.Fault{Wait: make(chan struct{})})
	errs := make(chan error)
	for _, key := range crowd(2) {
		go func() { errs <- errOf(m.Login(env.ctx, key)) }()
	}
	assert.OK(t, env.as.Await(env.ctx, authtest.RegistrationEndpoint, 1))
	assert.OK(t, m.Close())
	for range 2 {
		assert.Is(t, <-errs, ErrClosed, "Login")
	}
	env.wantRegistrations(1, "altogether")
}
