package host_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/session"
)

// TestUserHeadersAreAskedForAgain: a token that the program put into a user's headers
// ends at some time. The program has a new one then, and is asked for it.
func TestUserHeadersAreAskedForAgain(t *testing.T) {
	var valid, has atomic.Int64
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return acceptEchoOf("echo") }, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != fmt.Sprintf("Bearer anna-%d", valid.Load()) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	opts := &host.Options{StateDir: host.NoState, UserHeaders: func(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
		return http.Header{"Authorization": {fmt.Sprintf("Bearer %s-%d", key.User, has.Load())}}, nil
	}}
	h := acceptNew(t, opts, acceptParse(t, "s", fmt.Sprintf(`{"url": %q, "identity": "header"}`, server.URL)))
	ctx := session.WithUser(watchdog(t), "anna")
	assert.OK(t, h.Discover(ctx, session.Key{Server: "s"}))
	call := func() error {
		_, err := h.Registry().Call(ctx, "s__echo", nil)
		return err
	}
	assert.OK(t, call())
	valid.Add(1) // and the program does not know it yet
	for range 3 {
		err := call()
		t.Logf("%v", err)
		assert.Fails(t, err, "a call with an old token succeeded")
	}
	has.Add(1)
	if err := call(); err != nil {
		t.Errorf("with the new token: %v", err)
	}
	valid.Add(1)
	has.Add(1)
	if err := call(); err != nil {
		t.Errorf("with the next token: %v", err)
	}
}
