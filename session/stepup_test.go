package session

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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
		if status, err := w.callTool(w.ctx, m, alice, tool); err != nil || status != 200 {
			t.Fatalf("%s: status %d, error %v", tool, status, err)
		}
	}
	scopes := slices.Sorted(slices.Values(w.grantOf(m, alice).Scopes))
	if !slices.Equal(scopes, []string{"delete", "read", "write"}) {
		t.Errorf("scopes %q", scopes)
	}
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
		if <-urls == "" {
			t.Error("a call that lacks rights went through")
		}
	}
	status := assert.Value(m.Status(w.ctx, alice))(t)
	w.approve(m, status.LoginURL)
	for _, tool := range []string{"write", "delete"} {
		if status, err := w.callTool(w.ctx, m, alice, tool); err != nil || status != 200 {
			t.Errorf("%s after one login: status %d, error %v", tool, status, err)
		}
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
	var enough *auth.ScopeError
	for range 3 {
		if _, err := w.callTool(w.ctx, m, alice, "write"); !errors.As(err, &enough) {
			t.Fatal(err)
		}
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
	var beyond *auth.ScopeError
	if _, err := w.callTool(w.ctx, m, alice, "delete"); !errors.As(err, &beyond) {
		t.Errorf("%v", err)
	}
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
	if err := m.Handler(alice).Authorize(w.ctx, req, resp); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("got the error %v, want one without the token", err)
	}
}
