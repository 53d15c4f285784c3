package session

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestShownSecretsAreFound(t *testing.T) {
	for _, form := range forms("canary in a mine") {
		s := &shownText{}
		s.add(errors.New("before " + form + " after"))
		found := &testing.T{}
		s.check(found, []string{"canary in a mine"})
		assert.True(t, found.Failed(), "%q is not found", form)
	}
}

func TestValuesShowNoSecrets(t *testing.T) {
	env, m := withManager(t, nil, nil)
	required := env.mustNeedLogin(m, alice)
	env.approve(m, required.URL)
	r, _, err := m.load(env.ctx, alice, recordName(alice))
	assert.OK(t, err)
	status := assert.Value(m.Status(env.ctx, alice))(t)
	e := m.entry(alice)
	e.mu.Lock()
	known := *e.known
	e.mu.Unlock()
	for _, value := range []any{r, *r, r.Grant, *r.Grant, r.Client, status, required, known, env.config} {
		env.shown.add(value)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("all", "record", r, "grant", r.Grant, "token", r.Grant.Token, "status", status)
	_, _ = env.shown.Write(log.Bytes())
	assert.OK(t, m.SetToken(env.ctx, bob, "0123456789 of bob"))
	withHeader, _, err := m.load(env.ctx, bob, recordName(bob))
	assert.OK(t, err)
	env.shown.add(withHeader)
	env.shown.check(t, []string{"0123456789 of bob"})
	env.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Status: 400, Body: `{"error":"` + r.Grant.Token.Refresh.Reveal() + `"}`})
	env.as.ExpireAll()
	assert.Fails(t, env.call(env.ctx, m, alice), "a refusal that repeats the refresh token")
	handler := m.Handler(alice)
	assert.OK(t, m.Close()) // whose goroutines write to what a handler has
	env.shown.add(handler)
}
