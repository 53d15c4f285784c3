package session

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What panics in the program's own functions, on goroutines of the manager, is an error.
func TestConfigPanics(t *testing.T) {
	m, err := NewManager(Memory(), &Options{Config: func(Key) (*auth.Config, error) { panic("out of order") }})
	assert.OK(t, err)
	defer func() { _ = m.Close() }()
	err = m.Handler(alice).Authorize(t.Context(), newRequest(t), newResponse())
	if want := "panicked: out of order"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

func newRequest(t *testing.T) *http.Request {
	t.Helper()
	req := assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://s.example/mcp", nil))(t)
	return req
}

func newResponse() *http.Response {
	return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody}
}

func TestPromptPanics(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(&Options{Prompt: &user{server: w.as, answer: func(context.Context, string) (string, error) { panic("out of order") }}})
	login := assert.Value(m.Login(t.Context(), alice))(t)
	if err := login.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "panicked: out of order") {
		t.Errorf("got %v, want that the prompt panicked", err)
	}
	if status, err := m.Status(t.Context(), alice); err != nil || status.Phase == LoggedIn {
		t.Errorf("got %+v, %v, want nobody logged in", status, err)
	}
}
