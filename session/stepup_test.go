package session

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func stepping(t *testing.T, as *authtest.Options) *world {
	return newWorld(t, as, &authtest.ResourceOptions{
		ChallengeScopes: []string{"read"},
		Require:         authtest.ToolScopes(map[string][]string{"write": {"write"}, "delete": {"delete"}}),
	})
}

// mustStepUp makes a call that needs more rights, and returns what it needs.
func (w *world) mustStepUp(m *Manager, tool string) *auth.LoginRequiredError {
	w.t.Helper()
	_, err := w.callTool(w.ctx, m, alice, tool)
	var required *auth.LoginRequiredError
	if !errors.As(err, &required) || !required.StepUp() || required.URL == "" {
		w.t.Fatalf("%s: %v", tool, err)
	}
	return required
}

func (w *world) approve(m *Manager, url string) {
	w.t.Helper()
	callback, err := w.as.Approve(w.ctx, url)
	if err == nil {
		_, err = m.Complete(w.ctx, callback, nil)
	}
	assert.OK(w.t, err)
}

func TestStepUpKeepsWhatWasGranted(t *testing.T) {
	w := stepping(t, nil)
	m := w.manager(nil)
	w.mustNeedLogin(m, alice)
	w.mustLogIn(m, alice)
	w.mustCall(m, alice)
	for _, tool := range []string{"write", "delete"} {
		required := w.mustStepUp(m, tool)
		w.mustCall(m, alice) // other calls go on meanwhile
		w.approve(m, required.URL)
		status, err := w.callTool(w.ctx, m, alice, tool)
		assert.OK(t, err, "%s: status", tool)
		assert.Equal(t, status, 200, "%s: status", tool)
	}
	assert.Equal(t, fmt.Sprint(slices.Sorted(slices.Values(w.grantOf(m, alice).Scopes))), fmt.Sprint([]string{"delete", "read", "write"}), "scopes")
}

func TestTwoStepUpsAtOnce(t *testing.T) {
	w := stepping(t, nil)
	m := w.manager(nil)
	w.mustNeedLogin(m, alice)
	w.mustLogIn(m, alice)
	urls := make(chan string)
	for _, tool := range []string{"write", "delete", "write", "delete"} {
		go func() {
			_, err := w.callTool(w.ctx, m, alice, tool)
			var required *auth.LoginRequiredError
			_ = errors.As(err, &required)
			if required == nil {
				urls <- ""
				return
			}
			urls <- required.URL
		}()
	}
	for range 4 {
		assert.Equal(t, <-urls != "", true, "a call that lacks rights went through")
	}
	status := assert.Value(m.Status(w.ctx, alice))(t)
	w.approve(m, status.LoginURL)
	for _, tool := range []string{"write", "delete"} {
		status, err := w.callTool(w.ctx, m, alice, tool)
		assert.OK(t, err, "%s after one login: status", tool)
		assert.Equal(t, status, 200, "%s after one login: status", tool)
	}
}

func TestStepUpHasAnEnd(t *testing.T) {
	// What is granted never suffices.
	w := stepping(t, &authtest.Options{GrantScopes: func(string, []string) []string { return []string{"read"} }})
	m := w.manager(nil)
	w.mustNeedLogin(m, alice)
	w.mustLogIn(m, alice)
	for range maxStepUps {
		w.approve(m, w.mustStepUp(m, "write").URL)
	}
	for range 3 {
		assert.As[*auth.ScopeError](t, errOf(w.callTool(w.ctx, m, alice, "write")))
	}
	w.mustStepUp(m, "delete") // another operation may ask
	w.mustLogIn(m, alice)
	w.mustStepUp(m, "write") // and this one, when the user wants it
}

func TestStepUpBeyondTheLimit(t *testing.T) {
	w := stepping(t, nil)
	w.config.MaxScopes = []string{"read", "write"}
	m := w.manager(nil)
	w.mustNeedLogin(m, alice)
	w.mustLogIn(m, alice)
	w.mustStepUp(m, "write")
	assert.As[*auth.ScopeError](t, errOf(w.callTool(w.ctx, m, alice, "delete")))
}

// TestStepUpForgetsTheToken: a server that repeats the token that it was sent, as a scope,
// has it neither asked for nor shown.
func TestStepUpForgetsTheToken(t *testing.T) {
	w := stepping(t, nil)
	w.config.MaxScopes = []string{"read", "write"}
	m := w.manager(nil)
	w.mustNeedLogin(m, alice)
	w.mustLogIn(m, alice)
	token := w.grantOf(m, alice).Token.Access.Reveal()
	req := httptest.NewRequest(http.MethodPost, w.config.URL, nil)
	req.Header.Set("Authorization", "Bearer "+token)
	resp := &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: req, Header: http.Header{
		"Www-Authenticate": {`Bearer error="insufficient_scope", scope="delete ` + token + `"`},
	}}
	err := m.Handler(alice).Authorize(w.ctx, req, resp)
	assert.Fails(t, err, "got the")
	assert.Lacks(t, err.Error(), token, "got the")
}
