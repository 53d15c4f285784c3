package session

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

const lostReason = "the answer to an earlier renewal was lost"

func TestManyRefusalsOneRefresh(t *testing.T) {
	//report: Logins | anomalyco/opencode#34074 | many calls at once are refused for a token that has ended, and refresh tokens are good once | one of them renews it, for all
	env, m := loggedIn(t, nil, nil)
	env.mustCall(m, alice)
	for round := range 2 {
		env.as.ExpireAll()
		env.mustCallTogether(m, alice, 30)
		env.wantRefreshes(round+1, "of many calls")
	}
}

func TestRefreshOutlivesItsCaller(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	old := env.tokenOf(m, alice)
	call := env.holdRefresh(m, authtest.Fault{Commit: true})
	call.giveUp()
	assert.Is(t, <-call.err, context.Canceled)
	call.release()
	env.mustCall(m, alice)
	env.wantRefreshes(1, "in the end")
	assert.True(t, env.tokenOf(m, alice) != old, "the session has a new token")
}

func TestOldRefreshTokenIsKept(t *testing.T) {
	//report: Logins | modelcontextprotocol/python-sdk#2270, modelcontextprotocol/rust-sdk#921, openai/codex#26520, activepieces/activepieces#14450, knowsuchagency/mcp2cli#58, NousResearch/hermes-agent#106185 | a renewal brings no new refresh token | the old one is kept, and renews the next token
	env, m := loggedIn(t, &authtest.Options{KeepRefresh: true}, nil)
	for range 3 {
		env.as.ExpireAll()
		env.mustCall(m, alice)
	}
	env.wantRefreshes(3, "with one token")
}

func TestSecondManagerTakesWhatTheFirstGot(t *testing.T) {
	//report: Logins | anthropics/claude-code#84440, anthropics/claude-code#91641, anomalyco/opencode#49439, can1357/oh-my-pi#5072 | several processes share a login, and a refresh token that is used twice ends it | one process renews the token under a lock, and the others take what it got
	env, one := loggedIn(t, nil, nil)
	two := env.manager(nil)
	env.mustCall(two, alice)
	for round := range 3 {
		env.as.ExpireAll()
		env.mustCall(one, alice)
		env.mustCall(two, alice)
		env.wantRefreshes(round+1, "of two managers")
	}
}

func TestFailedRefreshKeepsTheSession(t *testing.T) {
	for name, fault := range map[string]authtest.Fault{
		"503":             {Status: 503},
		"500 with a page": {Status: 500, Body: "<html>"},
		"temporarily":     {Status: 400, Body: `{"error":"temporarily_unavailable"}`},
		"429 with a wait": {Answer: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}},
		"cut before the answer": {Cut: true},
		"no token":              {Status: 200, Body: `{"token_type":"Bearer"}`},
	} {
		t.Run(name, func(t *testing.T) {
			env, m := loggedIn(t, nil, nil)
			env.as.ExpireAll()
			env.as.Fail(authtest.TokenEndpoint, 1, fault)
			failed := env.mustFailToRefresh(m)
			if fault.Answer != nil {
				assert.True(t, time.Until(failed.RetryAt) > time.Hour/2, "the next attempt, at %v, is late enough", failed.RetryAt)
			}
			before := env.as.Count(authtest.TokenEndpoint)
			env.mustFailToRefresh(m)
			assert.Equal(t, env.as.Count(authtest.TokenEndpoint), before, "token requests while it is too early")
			env.wantStatus(m, alice, LoggedIn)
			passRest(m, alice)
			env.mustCall(m, alice)
			env.wantRefreshes(1, "in the end")
		})
	}
}

// A refusal that does not pass by itself ends the login by the third call, and the user is asked.
func TestRefusedRefreshEndsTheLogin(t *testing.T) {
	//report: Logins | obot-platform/obot#7501, openai/codex#39054 | a refresh is refused for ever with another code than invalid_grant, or with none | the login ends by the third call, the user is asked at an address, and the reason is the refusal with its code, its words, its status and its host
	for name, test := range map[string]struct {
		status int
		body   string
		calls  int
		reason string
	}{
		"invalid_request":        {400, `{"error":"invalid_request","error_description":"refresh_token is invalid"}`, 1, `invalid_request: "refresh_token is invalid" (HTTP status 400)`},
		"unauthorized_client":    {401, `{"error":"unauthorized_client"}`, 1, "unauthorized_client"},
		"invalid_scope":          {400, `{"error":"invalid_scope"}`, 1, "invalid_scope"},
		"access_denied":          {403, `{"error":"access_denied"}`, 1, "access_denied"},
		"unsupported_grant_type": {400, `{"error":"unsupported_grant_type"}`, 1, "unsupported_grant_type"},
		"a code of its own":      {422, `{"error":"of_its_own"}`, 1, "of_its_own"},
		"with status 200":        {200, `{"error":"invalid_request"}`, 1, "invalid_request"},
		"no code":                {400, `{}`, 3, "no error code (HTTP status 400)"},
		"a page":                 {403, `<html>`, 3, "no error code (HTTP status 403)"},
		"words alone":            {400, `{"message":"Session not found"}`, 3, `no error code: "Session not found" (HTTP status 400)`},
		"nothing":                {404, ``, 3, "no error code (HTTP status 404)"},
	} {
		t.Run(name, func(t *testing.T) {
			env, m := loggedIn(t, nil, nil)
			env.as.ExpireAll()
			env.as.Fail(authtest.TokenEndpoint, -1, authtest.Fault{Status: test.status, Body: test.body})
			for range test.calls - 1 {
				env.mustFailToRefresh(m)
			}
			required := env.mustNeedLogin(m, alice)
			assert.True(t, required.URL != "", "there is an address")
			assert.Contains(t, required.Error(), "refresh refused by 127.0.0.1:")
			assert.Contains(t, required.Reason, test.reason)
			assert.Contains(t, assert.Value(m.Status(env.ctx, alice))(t).Reason, test.reason)
			env.as.Fail(authtest.TokenEndpoint, 0, authtest.Fault{})
			env.approve(m, required.URL)
			env.mustCall(m, alice)
		})
	}
}

func TestLostAnswer(t *testing.T) {
	for name, grace := range map[string]time.Duration{"without grace": 0, "with grace": time.Hour} {
		t.Run(name, func(t *testing.T) {
			env, m := loggedIn(t, &authtest.Options{Grace: grace}, nil)
			env.as.ExpireAll()
			env.as.Fail(authtest.TokenEndpoint, 1, authtest.Fault{Commit: true, Cut: true})
			env.mustFailToRefresh(m)
			passRest(m, alice)
			if grace == 0 {
				assert.Equal(t, env.mustNeedLogin(m, alice).Reason, lostReason, "reason")
				env.mustLogIn(m, alice)
			}
			env.mustCall(m, alice)
		})
	}
}

func TestEndOfTheLogin(t *testing.T) {
	//report: Logins | can1357/oh-my-pi#1908, zonlabs/mcp-ts#150, CherryHQ/cherry-studio#12598 | a refresh token was revoked, and the renewal is refused with invalid_grant | the login ends at once, and the user is asked at an address, with the words of the refusal
	//report: Logins | anthropics/claude-code#59460, anomalyco/opencode#35625 | each login registers another client, which leaves the refresh tokens of the last one without theirs | the client is kept for the next login
	env, m := loggedIn(t, nil, nil)
	env.as.EndAll()
	required := env.mustNeedLogin(m, alice)
	assert.Contains(t, required.Reason, "the authorization server no longer knows it: refresh refused by 127.0.0.1:", "reason")
	assert.Contains(t, required.Reason, `: invalid_grant: "the refresh token was revoked" (HTTP status 400)`, "reason")
	assert.True(t, required.URL != "", "there is an address")
	env.wantRegistrations(1, "after the end")
	env.approve(m, required.URL)
	env.mustCall(m, alice)
}

// refuseTokens makes the server take no token while refuses returns true.
func (env *env) refuseTokens(refuses func() bool) {
	env.rs.Fail(authtest.ResourceEndpoint, -1, authtest.Fault{Answer: func(w http.ResponseWriter, _ *http.Request) bool {
		if !refuses() {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}})
}

func TestServerThatRefusesNewTokens(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	env.refuseTokens(func() bool { return true })
	err := errRefused
	for errors.Is(err, errRefused) {
		err = env.call(env.ctx, m, alice)
	}
	assert.As[*auth.LoginRequiredError](t, err)
	env.mustNeedLogin(m, alice)
	assert.Equal(t, env.as.Granted("refresh_token"), maxRefusals, "refreshes")
}

// A server that refuses new tokens is given another one once a minute, in case
// that it has changed its mind.
func TestServerThatRefusesTheTokensOfAProgram(t *testing.T) {
	var open atomic.Bool
	env, m := newProgram(t, nil)
	env.refuseTokens(func() bool { return !open.Load() })
	err := errRefused
	for errors.Is(err, errRefused) {
		err = env.call(env.ctx, m, alice)
	}
	assert.As[*RefreshError](t, err)
	assert.Equal(t, env.as.Granted("client_credentials"), maxRefusals+1, "tokens")
	open.Store(true)
	env.as.ExpireAll()
	env.alter(alice, func(r *record) { r.Grant.Token.Obtained = r.Grant.Token.Obtained.Add(-2 * renewCeiling) })
	passRest(m, alice)
	env.mustCall(m, alice)
}

// newProgram returns a manager whose program logs in by itself.
func newProgram(t *testing.T, rs *authtest.ResourceOptions) (*env, *Manager) {
	t.Helper()
	app := authtest.Client{ID: "app", Secret: "app-secret"}
	env := newEnv(t, &authtest.Options{Clients: []authtest.Client{app}}, rs)
	env.config.Grant = auth.ClientCredentials
	env.config.Client = &auth.Client{Issuer: env.as.Issuer, ID: app.ID, Secret: auth.Secret(app.Secret)}
	return env, env.manager(nil)
}

func TestTokenIsRenewedAheadOfItsEnd(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	assert.OK(t, m.Close())
	env.setTimes(alice, -50*time.Minute, 10*time.Minute)
	old := env.tokenOf(m, alice)
	m = env.manager(nil)
	env.mustCall(m, alice) // with the old token, which is still good
	for range m.Watch(env.ctx, alice) {
		if env.tokenOf(m, alice) != old {
			break
		}
	}
	env.wantRefreshes(1, "ahead of the end")
}

func TestTokenIsRenewedByTheClock(t *testing.T) {
	//report: Logins | NousResearch/hermes-agent#107059 | a token has ended overnight, and a login is shown while it is renewed | it is renewed before it is sent, and no login begins
	env, m := loggedIn(t, nil, nil)
	env.setTimes(alice, -2*clockPause, -2*clockPause+shortLifetime-time.Second) // too short a lifetime for the keeper
	ended := "Bearer " + env.tokenOf(m, alice).Reveal()
	m = env.restart(m)
	env.mustCallTogether(m, alice, 20)
	env.wantRefreshes(1, "by the clock")
	for _, r := range env.rs.Requests() {
		assert.True(t, r.Header.Get("Authorization") != ended, "a token is sent that has not ended")
	}
}

// A token of a very short lifetime is used until the server refuses it.
func TestShortLifetime(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	env.setTimes(alice, -time.Second, -time.Millisecond)
	m = env.restart(m)
	for range 3 {
		env.mustCall(m, alice)
	}
	env.wantRefreshes(0, "of a token that the server takes")
}

// Whatever the authorization server says of their lifetime, tokens are not renewed
// for each request.
func TestNoStampede(t *testing.T) {
	//report: Logins | QwenLM/qwen-code#5355 | a token lives for 0 seconds by its answer | it is used until the server refuses it, and is not renewed for each request
	for _, lifetime := range []any{1, 0, "1", -5, nil} {
		env, m := loggedIn(t, &authtest.Options{Answer: func(_ *http.Request, a map[string]any) {
			delete(a, "expires_in")
			if lifetime != nil {
				a["expires_in"] = lifetime
			}
		}}, nil)
		env.as.ExpireAll()
		for range 2 {
			env.mustCallTogether(m, alice, 10)
		}
		assert.Equal(t, env.as.Granted("refresh_token"), 1, "expires_in %v: refreshes", lifetime)
	}
}

func TestTokenEndpointMoves(t *testing.T) {
	env, m := loggedIn(t, nil, nil)
	env.alter(alice, func(r *record) { r.Grant.Authority.TokenEndpoint = env.as.Issuer + "/gone" })
	m = env.restart(m)
	env.as.ExpireAll()
	for range 2 {
		env.mustFailToRefresh(m)
		passRest(m, alice)
	}
	env.mustCall(m, alice)
	env.wantRefreshes(1, "at the new endpoint")
}

func TestStoreWithLeases(t *testing.T) {
	env := newEnv(t, nil, nil)
	driver := storage.NewMemory()
	env.store = sealed(t, leasing{driver, driver.(storage.Leaser)})
	managers := []*Manager{env.manager(nil), env.manager(nil), env.manager(nil)}
	env.mustLogIn(managers[0], alice)
	for round := range 3 {
		env.as.ExpireAll()
		errs := make(chan error)
		for _, m := range managers {
			go func() { errs <- errors.Join(env.together(m, alice, 4)...) }()
		}
		for range managers {
			assert.OK(t, <-errs)
		}
		env.wantRefreshes(round+1, "of three managers")
	}
}

// Callbacks of a Config know on whose behalf they are asked.
func TestCallbacksKnowTheUser(t *testing.T) {
	env := newEnv(t, nil, nil)
	var asked []string
	env.config.Grant = auth.WorkloadIdentity
	env.config.Assertion = func(ctx context.Context, _, _ string) (auth.Secret, error) {
		user, _ := UserOf(ctx)
		asked = append(asked, user)
		return "", errors.New("no identity today")
	}
	assert.Fails(t, env.call(env.ctx, env.manager(nil), alice))
	assert.Equal(t, strings.Join(asked, " "), "alice", "users")
}

// A login that does not fit the configuration is not used. If that was a mistake,
// it is good again when it is mended.
func TestConfigurationChanges(t *testing.T) {
	for name, change := range map[string]func(*auth.Config){
		"issuer": func(c *auth.Config) { c.Issuer = "https://other.example" },
		"client": func(c *auth.Config) { c.Client = nil },
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, &authtest.Options{Clients: []authtest.Client{{ID: "app", RedirectURIs: []string{callbackURL}}}}, nil)
			env.config.Client = &auth.Client{Issuer: env.as.Issuer, ID: "app"}
			env.mustLogIn(env.manager(nil), alice)
			env.as.ExpireAll()
			before := env.as.Count(authtest.TokenEndpoint)
			right := env.config
			env.config = new(*right)
			change(env.config)
			assert.Fails(t, env.call(env.ctx, env.manager(nil), alice))
			assert.Equal(t, env.as.Count(authtest.TokenEndpoint), before, "token requests")
			env.config = right
			env.mustCall(env.manager(nil), alice)
		})
	}
}
