package session

import (
	"context"
	"net/http"
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
	want := "panicked: out of order"
	assert.Fails(t, err)
	assert.Contains(t, err.Error(), want)
}

func newRequest(t *testing.T) *http.Request {
	t.Helper()
	return assert.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://s.example/mcp", nil))(t)
}

func newResponse() *http.Response {
	return &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody}
}

func TestPromptPanics(t *testing.T) {
	w := newWorld(t, nil, nil)
	m := w.manager(&Options{Prompt: &user{server: w.as, answer: func(context.Context, string) (string, error) { panic("out of order") }}})
	login := assert.Value(m.Login(t.Context(), alice))(t)
	err := login.Wait(t.Context())
	assert.Fails(t, err)
	assert.Contains(t, err.Error(), "panicked: out of order")
	assert.Equal(t, assert.Value(m.Status(t.Context(), alice))(t).Phase != LoggedIn, true)
}
