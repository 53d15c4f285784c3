package host_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// However many users wait for the answer of one server, a user can call another one.
func TestAcceptHungServerLeavesPlaces(t *testing.T) {
	const places = 8
	hung := &acceptSeats{entered: make(chan string, 100), leave: make(chan struct{})}
	fine := &acceptSeats{}
	opts := &host.Options{StateDir: host.NoState, MaxUserClients: places, Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		if e.Name == "hung" {
			return hung.transport(key, e)
		}
		return fine.transport(key, e)
	}}
	h := acceptNew(t, opts, acceptFor(config.IdentityUser, acceptParse(t, "hung", `{"command": "x"}`, "fine", `{"command": "x"}`)))
	for _, name := range []string{"hung", "fine"} {
		assert.OK(t, h.Discover(watchdog(t), session.Key{User: "first", Server: name}))
	}
	call := func(ctx context.Context, user, tool string) (string, error) {
		return acceptAnswer(h.Registry().Call(session.WithUser(ctx, user), tool, nil))
	}
	const users = 2 * places
	answers := make(chan error, users)
	for i := range users {
		go func() {
			user := fmt.Sprint("u", i)
			got, err := call(watchdog(t), user, "hung__wait")
			if err == nil && got != user {
				err = fmt.Errorf("got %q, want %q", got, user)
			}
			answers <- err
		}()
	}
	for range places - places/4 {
		<-hung.entered
	}
	short, cancel := context.WithTimeout(watchdog(t), 20*time.Second)
	defer cancel()
	for i := range places {
		user := fmt.Sprint("v", i)
		if got, err := call(short, user, "fine__now"); got != user || err != nil {
			t.Fatalf("got %q, %v at a server that answers, want %q", got, err, user)
		}
	}
	close(hung.leave)
	for range users {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if got, want := hung.most.Load(), int64(places-places/4); got > want {
		t.Errorf("got %d clients of one server, want at most %d", got, want)
	}
}
