package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

func TestLogout(t *testing.T) {
	env := newEnv(t, nil, nil)
	u := &testPrompt{server: env.as}
	m := env.manager(&Options{Prompt: u})
	assert.OK(t, assert.Value(m.Login(env.ctx, alice))(t).Wait(env.ctx))
	assert.OK(t, m.Logout(env.ctx, alice))
	env.wantAllEnded()
	assert.Equal(t, env.mustNeedLogin(m, alice).URL, "", "login URL after the logout")
	assert.Equal(t, u.shown.Load(), 1, "logins shown")
	env.wantStatus(m, alice, LoggedOut)
	assert.OK(t, assert.Value(m.Login(env.ctx, alice))(t).Wait(env.ctx))
	env.mustCall(m, alice)
	env.wantRegistrations(1, "of two logins")
	assert.OK(t, m.Forget(env.ctx, alice))
	for key, err := range m.Keys(env.ctx) {
		t.Errorf("after Forget: got %v, %v, want nothing", key, err)
	}
}

// A login that comes to its end while the user logs out is none.
func TestLogoutDuringTheLogin(t *testing.T) {
	env, m := withManager(t, nil, nil)
	_, callback := env.begin(m, alice)
	release := make(chan struct{})
	env.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Wait: release})
	completed := make(chan error, 1)
	go func() { completed <- env.complete(m, callback) }()
	assert.OK(t, env.as.Await(env.ctx, authtest.TokenEndpoint, 1))
	assert.OK(t, m.Logout(env.ctx, alice))
	close(release)
	assert.As[*auth.StateError](t, <-completed)
	assert.True(t, env.grantOf(m, alice) == nil, "the user is logged out")
	env.wantAllEnded()
}

// A grant that could not be saved yet goes with the rest.
func TestLogoutTakesWhatWasNotSaved(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	m.entry(alice).unsaved = &answer{grant: env.grantOf(m, alice), url: env.config.URL, login: true}
	assert.OK(t, m.Logout(env.ctx, alice))
	env.mustNeedLogin(m, alice)
	assert.True(t, env.grantOf(m, alice) == nil, "the user is logged out")
}

// A program that logs in by itself does not either after Logout.
func TestLogoutOfAProgram(t *testing.T) {
	env, m := newProgram(t, nil)
	env.mustCall(m, alice)
	assert.OK(t, m.Logout(env.ctx, alice))
	required := env.mustNeedLogin(m, alice)
	assert.Equal(t, required.Reason, loggedOut, "reason")
	assert.Equal(t, required.URL, "", "login URL")
	assert.OK(t, assert.Value(m.Login(env.ctx, alice))(t).Wait(env.ctx))
	env.mustCall(m, alice)
	assert.Equal(t, env.wantStatus(m, alice, LoggedIn).Reason, "", "reason")
}

func TestForgetTakesWhatCannotBeRead(t *testing.T) {
	for name, at := range map[string]int{"altered": atSealed, "another format": atVersion, "another key": atKey} {
		t.Run(name, func(t *testing.T) {
			env, disk, m := loggedInAt(t)
			env.spoil(disk, recordName(alice), at)
			assert.OK(t, m.Forget(env.ctx, alice))
			assert.Is(t, errOf(disk.Load(env.ctx, recordName(alice), "")), storage.ErrNotFound)
			env.mustLogIn(m, alice)
		})
	}
}

// What is not of one user stays.
func TestForgetLeavesNothingOfTheSession(t *testing.T) {
	env := newEnv(t, nil, nil)
	disk := env.keepIn()
	m := env.manager(nil)
	_, callback := env.begin(m, alice)
	assert.OK(t, m.Forget(env.ctx, alice))
	var names []string
	for name, err := range disk.Names(env.ctx, "") {
		assert.OK(t, err)
		names = append(names, name)
	}
	slices.Sort(names)
	assert.Equal(t, strings.Join(names, " "), registrationName(env.config, env.as.Issuer, callbackURL)+" "+keysRecord, "records that are left")
	assert.As[*auth.StateError](t, env.complete(m, callback))
}
