package session

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// newStepUpEnv returns an env where alice may read, and the tools write and delete need more.
func newStepUpEnv(t *testing.T, as *authtest.Options) (*env, *Manager) {
	t.Helper()
	env := newEnv(t, as, &authtest.ResourceOptions{
		ChallengeScopes: []string{"read"},
		ToolScopes:      map[string][]string{"write": {"write"}, "delete": {"delete"}},
	})
	m := env.manager(nil)
	env.approve(m, env.mustNeedLogin(m, alice).URL)
	return env, m
}

// mustStepUp makes a call that needs more rights, and returns what it needs.
func (env *env) mustStepUp(m *Manager, tool string) *auth.LoginRequiredError {
	env.t.Helper()
	required := assert.As[*auth.LoginRequiredError](env.t, env.callTool(env.ctx, m, alice, tool), "%s", tool)
	assert.True(env.t, required.StepUp(), "%s: it is a step up", tool)
	return required
}

func TestStepUpKeepsWhatWasGranted(t *testing.T) {
	//report: Logins | anthropics/claude-code#28258, anthropics/claude-code#68720, modelcontextprotocol/modelcontextprotocol#2349 | a call lacks a scope, and the challenge names that scope alone | the user is asked for it together with all that was granted before, and the token is not renewed in vain; other calls go on meanwhile
	env, m := newStepUpEnv(t, nil)
	env.mustCall(m, alice)
	for _, tool := range []string{"write", "delete"} {
		required := env.mustStepUp(m, tool)
		env.mustCall(m, alice) // other calls go on meanwhile
		env.approve(m, required.URL)
		assert.OK(t, env.callTool(env.ctx, m, alice, tool), "%s", tool)
	}
	assert.Equal(t, strings.Join(slices.Sorted(slices.Values(env.grantOf(m, alice).Scopes)), " "), "delete read write", "scopes")
}

func TestTwoStepUpsAtOnce(t *testing.T) {
	env, m := newStepUpEnv(t, nil)
	errs := make(chan error)
	for _, tool := range []string{"write", "delete", "write", "delete"} {
		go func() { errs <- env.callTool(env.ctx, m, alice, tool) }()
	}
	for range 4 {
		assert.As[*auth.LoginRequiredError](t, <-errs)
	}
	env.approve(m, assert.Value(m.Status(env.ctx, alice))(t).LoginURL)
	for _, tool := range []string{"write", "delete"} {
		assert.OK(t, env.callTool(env.ctx, m, alice, tool), "%s after one login", tool)
	}
}

func TestStepUpHasAnEnd(t *testing.T) {
	// What is granted never suffices.
	env, m := newStepUpEnv(t, &authtest.Options{GrantScopes: func(string, []string) []string { return []string{"read"} }})
	for range maxStepUps {
		env.approve(m, env.mustStepUp(m, "write").URL)
	}
	for range 3 {
		assert.As[*auth.ScopeError](t, env.callTool(env.ctx, m, alice, "write"))
	}
	env.mustStepUp(m, "delete") // another operation may ask
	env.mustLogIn(m, alice)
	env.mustStepUp(m, "write") // and this one, when the user wants it
}

// TestStepUpForgetsTheToken: a server that repeats the token that it was sent, as a scope,
// has it neither asked for nor shown.
func TestStepUpForgetsTheToken(t *testing.T) {
	env, m := newStepUpEnv(t, nil)
	token := env.tokenOf(m, alice).Reveal()
	req := httptest.NewRequest(http.MethodPost, env.config.URL, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	resp := &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: req, Header: http.Header{
		"Www-Authenticate": {`Bearer error="insufficient_scope", scope="delete ` + token + `"`},
	}}
	err := m.Handler(alice).Authorize(env.ctx, req, resp)
	assert.Fails(t, err)
	assert.Lacks(t, err.Error(), token)
}
