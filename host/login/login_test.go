package login_test

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// An entry that sends credentials of its own gets no handler that would send others.
func TestNoHandlerWhereNobodyLogsIn(t *testing.T) {
	logins := assert.Value(login.New(session.Memory(), &login.Options{Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"}}))(t)
	defer func() { _ = logins.Close() }()
	for _, entry := range []*config.Server{
		nil,
		{Name: "s", Transport: config.TransportStdio, Command: "x"},
		{Name: "s", Transport: config.TransportHTTP, URL: "https://s.example", Headers: map[string]config.Secret{"authorization": "Bearer x"}},
	} {
		assert.True(t, logins.Handler(session.Key{Server: "s"}, entry) == nil, "no handler")
	}
}
