// The kit for hazards: what a server, its machine or a network can do to a client. Where it is
// cheap, a bare client of the SDK meets the same server beside ours: what this module need not
// do any more shows as a failure of [mended].

package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A testClient is one connection of either client to a server of its own.
type testClient struct {
	call        func(ctx context.Context, tool string) error
	ended       func(error) bool // reports whether an error says that the session is over
	over        <-chan struct{}  // closed when it is; nil for ours
	connections func() int       // so far; nil for a bare client
	close       func()
}

// ours returns a client of this module.
func ours(t *testing.T, tr mcp.Transport) testClient {
	t.Helper()
	c := newClient(t, tr, mcp.ClientOptions{})
	assert.OK(t, c.Ready(bounded(t)))
	return testClient{
		call: func(ctx context.Context, tool string) error {
			_, err := c.CallTool(ctx, tool, nil, nil)
			return err
		},
		ended:       func(error) bool { return false },
		connections: func() int { return c.State().Connections },
		close:       func() { _ = c.Close() },
	}
}

// bare returns a client of the SDK alone.
func bare(t *testing.T, tr mcp.Transport) testClient {
	t.Helper()
	s := assert.Value(sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(bounded(t), tr, nil))(t)
	over := make(chan struct{})
	go func() { _ = s.Wait(); close(over) }()
	t.Cleanup(func() { _ = s.Close(); <-over })
	return testClient{
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
func (c testClient) again(t *testing.T) {
	t.Helper()
	assert.OK(t, c.call(bounded(t), "x"), "the next call")
	assert.Equal(t, c.connections(), 1, "connections")
}

// ends reports whether the session of a bare client ends.
func (c testClient) ends(t *testing.T) bool {
	t.Helper()
	receive(t, c.over, "the end of the bare session")
	return c.ended(c.call(bounded(t), "x"))
}

// once returns a server that answers its first call of a tool in its own way,
// and all later ones as it should. It speaks an older revision.
func once(first func(*post)) *script {
	var began atomic.Bool
	return &script{call: func(p *post) {
		switch {
		case p.Method != "tools/call":
			p.json(200, unknown)
		case began.Swap(true):
			p.json(200, called)
		default:
			first(p)
		}
	}}
}
