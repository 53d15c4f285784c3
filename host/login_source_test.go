package host_test

import (
	"errors"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// A transport that a program has made itself asks for tokens without saying where they
// go. It gets none of the server that has come into the place of its own.
func TestTokensForATransportOfTheProgram(t *testing.T) {
	w := newLoginWorld(t, nil)
	one, two := authtest.NewServer(t, nil), authtest.NewServer(t, nil)
	entry := &config.Server{Name: "s", URL: one.NewMCP(nil).URL}
	w.apply(entry)
	w.logIn(one, "", "s")
	handler := w.logins.Handler(session.Key{Server: "s"}, entry)
	source := assert.Value(handler.TokenSource(watchdog(t)))(t)
	before, err := source.Token()
	if err != nil || before == nil || before.AccessToken == "" {
		t.Fatalf("%v, %v", before, err)
	}

	w.apply(&config.Server{Name: "s", URL: two.NewMCP(nil).URL})
	w.logIn(two, "", "s")
	var none *login.Error
	if token, err := source.Token(); !errors.As(err, &none) {
		t.Errorf("a source of before gives %v, %v", token, err)
	}
	if _, err := handler.TokenSource(watchdog(t)); !errors.As(err, &none) {
		t.Errorf("a handler of before gives a source: %v", err)
	}
}
