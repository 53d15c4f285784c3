package content_test

import (
	"context"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// usersHost runs a server "mine" with a connection for each user, whose resources and
// prompts carry their name, and a server "ours" that all share.
func usersHost(t *testing.T, made chan<- *sdk.Server) *host.Host {
	t.Helper()
	h := host.New(&host.Options{StateDir: host.NoState, Transport: func(key session.Key, e *config.Server) (mcp.Transport, error) {
		server := sdk.NewServer(&sdk.Implementation{Name: "s"}, &sdk.ServerOptions{
			SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		})
		with(resource("x:"+key.User), prompt("of "+key.User))(server)
		if made != nil && key.User != "" {
			made <- server
		}
		return &transport.Pipe{Serve: server.Run}, nil
	}})
	t.Cleanup(func() { assert.OK(t, h.Close()) })
	c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers": {"ours": {"command": "x"}, "mine": {"command": "x"}}}`), nil))(t)
	c.Servers[1].Identity = config.IdentityUser
	assert.Value(h.Apply(watchdog(t), c))(t)
	return h
}

func TestListsOfUsers(t *testing.T) {
	h := usersHost(t, nil)
	l := content.New(h).Resources(watchdog(t), nil)
	if addresses(l) != "ours://x:" || len(l.NotAsked) != 1 || l.NotAsked[0] != "mine" || l.Err() != nil {
		t.Errorf("without user: %q, not asked %q, %v", addresses(l), l.NotAsked, l.Errors)
	}
	for _, user := range []string{"alice", "bob", "alice"} {
		ctx := session.WithUser(watchdog(t), user)
		l := content.New(h).Resources(ctx, nil)
		assert.Equal(t, addresses(l), ("ours://x: mine://x:" + user), "%s sees", user)
		assert.OK(t, l.Err(), "%s sees", user)
		assert.Value(content.New(h).ReadResource(ctx, "mine://x:"+user, nil))(t)
		_, err := content.New(h).ReadResource(ctx, "mine://x:carol", nil)
		assert.Is(t, err, mcp.ErrResourceNotFound, "%s reads what is carol's", user)
		prompts := content.New(h).Prompts(ctx, nil)
		for _, p := range prompts.Items {
			res, err := content.New(h).GetPrompt(ctx, p.Name, nil, nil)
			if err != nil {
				t.Errorf("%s gets %s: %v", user, p.Name, err)
			} else if got, want := res.Messages[0].Content.(*sdk.TextContent).Text, p.Prompt.Name+" for "; got != want {
				t.Errorf("%s gets %q, want %q", user, got, want)
			}
		}
		assert.Equal(t, len(prompts.Items), 2, "%s sees", user)
	}
	_, err := content.New(h).ReadResource(watchdog(t), "mine://x:alice", nil)

	assert.As[*host.NoUserError](t, err, "nobody reads")
}

// A user's updates are those of their own connection, and go on with the next one.
func TestUpdatesOfUsers(t *testing.T) {
	made := make(chan *sdk.Server, 10)
	h := usersHost(t, made)
	next := map[string]<-chan update{}
	servers := map[string]*sdk.Server{}
	for _, user := range []string{"alice", "bob"} {
		next[user] = follow(t, session.WithUser(watchdog(t), user), h, "mine://x:"+user)
		assert.OK(t, (<-next[user]).err, "%s", user)
		servers[user] = <-made
	}
	tell := func(user string) {
		t.Helper()
		assert.OK(t, servers[user].ResourceUpdated(watchdog(t), &sdk.ResourceUpdatedNotificationParams{URI: "x:" + user}))
		got := <-next[user]
		assert.OK(t, got.err)
		assert.Equal(t, got.address, "mine://x:"+user)
	}
	tell("bob")
	tell("alice")
	// Her client ends, and is made again for a call.
	assert.OK(t, h.Restart(watchdog(t), "mine"))
	assert.Value(content.New(h).ReadResource(session.WithUser(watchdog(t), "alice"), "mine://x:alice", nil))(t)
	servers["alice"] = <-made
	assert.OK(t, (<-next["alice"]).err)
	tell("alice")
	select {
	case got := <-next["bob"]:
		t.Errorf("bob is told %+v", fmt.Sprint(got))
	default:
	}
}
