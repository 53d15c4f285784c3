// Tests of address.go and updates.go: addresses of resources, and their updates.

package content_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func TestAddresses(t *testing.T) {
	for _, server := range []string{"github", "a", "1-password", "A_b-C", "a_", strings.Repeat("x", 64)} {
		for _, uri := range []string{
			"file:///x?y#z", "file:///a//b/../c%2f%2F", "urn:isbn:1", "ui://a/b", "x", "://", "other://file:///x", "a://b://c", " ", "\x00\xff",
			"file:///caf\u00e9/\u202e\u200b", "HTTP://EXAMPLE.com:80/", "x:{a}{?b*}", strings.Repeat("://", 1000),
		} {
			address := content.Address(server, uri)
			gotServer, gotURI, err := content.ParseAddress(address)
			assert.OK(t, err, "%q", address)
			assert.Equal(t, gotServer, server)
			assert.Equal(t, gotURI, uri)
		}
	}
	for _, address := range []string{"", "x", "github:x", "github:/x", "://x", "github://", "git hub://x", "git.hub://x", "caf\u00e9://x", strings.Repeat("x", 65) + "://x"} {

		_, _, err := content.ParseAddress(address)
		assert.Equal(t, assert.As[*content.AddressError](t, err).Address, address)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("mcpbelt:github/file:///x?y#z")
	f.Add("://")
	f.Fuzz(func(t *testing.T, address string) {
		server, uri, err := content.ParseAddress(address)
		if err != nil {
			if len(err.Error()) > 10_000 || strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
				t.Errorf("%q", err)
			}
			return
		}
		assert.Equal(t, content.Address(server, uri), address)
	})
}

func TestUnknownAddress(t *testing.T) {
	h := openContents(t, contents{"github": resource("file:///x")}, nil, "github")
	_, err := content.New(h).ReadResource(watchdog(t), "mcpbelt:Gitub/file:///x", nil)
	assert.As[*host.UnknownServerError](t, err)
	assert.Equal(t, fmt.Sprint(assert.As[*content.AddressError](t, err).Suggestions), "[mcpbelt:github/file:///x]", "suggestions")
	assert.Contains(t, fmt.Sprint(err), `did you mean "mcpbelt:github/file:///x"?`)
	wrong := assert.As[*content.AddressError](t, hosttest.ErrorOf(content.New(h).ReadResource(watchdog(t), "file:///x", nil)))
	assert.Equal(t, len(wrong.Suggestions), 0, "suggestions")
	assert.Is(t, hosttest.ErrorOf(content.New(h).ReadResource(watchdog(t), "mcpbelt:github/file:///y", nil)), mcp.ErrResourceNotFound)
}

// An update is one yield of ResourceUpdates.
type update struct {
	address string
	err     error
}

func follow(t *testing.T, ctx context.Context, h *host.Host, address string) <-chan update {
	updates, done := make(chan update), make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(done)
		defer close(updates)
		for address, err := range content.New(h).ResourceUpdates(ctx, address) {
			select {
			case updates <- update{address, err}:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return updates
}

// Updates go on when the server is replaced, until it is gone.
func TestUpdatesOfAReplacedServer(t *testing.T) {
	ctx := watchdog(t)
	made := make(chan *sdk.Server, 10)
	h := host.New(contentsOptions(contents{
		"a": with(resource("file:///x"), func(s *sdk.Server) { made <- s }),
		"b": resource("file:///x"),
	}))
	defer func() { _ = h.Close() }()
	apply := func(text string) {
		t.Helper()
		c, err := config.Parse(t.Context(), "mcp.json", []byte(text), nil)
		if err == nil {
			_, err = h.Apply(ctx, c)
		}
		assert.OK(t, err)
	}
	apply(`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}`)
	updates := follow(t, ctx, h, "mcpbelt:a/file:///x")
	want := func(address string) {
		t.Helper()
		got := <-updates
		assert.OK(t, got.err)
		assert.Equal(t, got.address, address)
	}
	changed := func() {
		t.Helper()
		assert.OK(t, (<-made).ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "file:///x"}))
		want("mcpbelt:a/file:///x")
	}
	want("mcpbelt:a/file:///x") // it is followed
	changed()
	for _, args := range []string{"1", "2", "3"} {
		apply(`{"mcpServers": {"a": {"command": "x", "args": ["` + args + `"]}, "b": {"command": "x"}}}`)
		want("mcpbelt:a/file:///x")
		changed()
	}
	apply(`{"mcpServers": {"b": {"command": "x"}}}`)

	assert.As[*host.UnknownServerError](t, (<-updates).err, "of a server that is gone")
	_, ok := <-updates
	assert.False(t, ok, "an update after the end")
}

func TestUpdatesEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(watchdog(t))
	h := openContents(t, contents{"a": resource("file:///x")}, nil, "a")
	withCtx, withHost := follow(t, ctx, h, "mcpbelt:a/file:///x"), follow(t, watchdog(t), h, "mcpbelt:a/file:///x")
	<-withCtx
	<-withHost
	cancel()
	_, ok := <-withCtx
	assert.False(t, ok, "an update after the end")
	assert.OK(t, h.Close())
	_, ok = <-withHost
	assert.False(t, ok, "an update after the end")
}

func TestUpdatesOfNothing(t *testing.T) {
	h := openContents(t, contents{"a": prompt("p"), "off": resource("x:1")}, map[string]string{"off": `"enabled": false`}, "a", "off")
	for _, address := range []string{"a://x:1", "off://x:1", "nobody://x:1", "x"} {
		got := <-follow(t, watchdog(t), h, address)
		assert.Fails(t, got.err, "%s", address)
		if address == "a://x:1" && !errors.Is(got.err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", address, got.err)
		}
	}
}
