package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// The hazards are what a server, its machine or a network can do to a client.
// Where it is cheap, a bare client of the SDK meets the same server beside ours:
// what this module need not do any more shows as a failure of [mended].

// An outing is one connection of either client to a server of its own.
type outing struct {
	call  func(ctx context.Context, tool string) error
	ended func(error) bool // reports whether an error says that the session is over
	over  <-chan struct{}  // closed when it is; nil for ours
	lives func() int       // the connections so far; nil for a bare client
	close func()
}

// ours returns a client of this module.
func ours(t *testing.T, tr mcp.Transport) outing {
	t.Helper()
	c := mcp.NewClient("server", tr, nil)
	t.Cleanup(func() { _ = c.Close() })
	assert.OK(t, c.Ready(bounded(t)))
	return outing{
		call: func(ctx context.Context, tool string) error {
			_, err := c.CallTool(ctx, tool, nil, nil)
			return err
		},
		ended: func(error) bool { return false },
		lives: func() int { return c.State().Connections },
		close: func() { _ = c.Close() },
	}
}

// bare returns a client of the SDK alone.
func bare(t *testing.T, tr mcp.Transport) outing {
	t.Helper()
	s := assert.Value(sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(bounded(t), tr, nil))(t)
	over := make(chan struct{})
	go func() { _ = s.Wait(); close(over) }()
	t.Cleanup(func() { _ = s.Close(); <-over })
	return outing{
		over: over,
		call: func(ctx context.Context, tool string) error {
			_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(`{}`)})
			return err
		},
		ended: func(err error) bool { return errors.Is(err, sdk.ErrConnectionClosed) },
		close: func() { _ = s.Close() },
	}
}

// mended fails the test of a hazard that the SDK has learned to meet.
func mended(t *testing.T, place string) {
	t.Helper()
	t.Errorf("the SDK does this itself now: remove the place in %s, the row in docs/hazards.md and this test", place)
}

// bareHTTP returns the SDK's transport for a server.
func bareHTTP(t *testing.T, url string) *sdk.StreamableClientTransport {
	t.Helper()
	rt := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(rt.CloseIdleConnections)
	return &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: rt}}
}

// bareCommand returns the SDK's transport for the server of a recipe.
func bareCommand(recipe *transport.Command) *sdk.CommandTransport {
	cmd := exec.Command(recipe.Path, recipe.Args...)
	cmd.Env = append(cmd.Environ(), recipe.Env...)
	return &sdk.CommandTransport{Command: cmd, TerminateDuration: 50 * time.Millisecond}
}

// again calls once more, and fails the test unless that works on the first
// connection still.
func (o outing) again(t *testing.T) {
	t.Helper()
	if err := o.call(bounded(t), "x"); err != nil {
		t.Errorf("the next call: %v", err)
	}
	assert.Equal(t, o.lives(), 1, "connections")
}

// ends reports whether the session of a bare client ends.
func (o outing) ends(t *testing.T) bool {
	t.Helper()
	ctx := bounded(t)
	select {
	case <-o.over:
		return o.ended(o.call(ctx, "x"))
	case <-ctx.Done():
		return false
	}
}
