// The kit of tests that a client of the official SDK runs as well.

package mcp_test

import (
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// The tests of hazards meet the same server with our client and, where that is
// cheap, with a bare client of the SDK: what this module need not do any more
// shows as a failure of [mended].

// patience bounds what a bare client may not end by itself.
const patience = time.Minute

func bareClient(opts *sdk.ClientOptions) *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, opts)
}

// bare connects a client of the SDK alone.
func bare(t *testing.T, tr mcp.Transport, opts *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	s := assert.Value(bareClient(opts).Connect(t.Context(), tr, nil))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// mended fails the test of a hazard that the SDK has learned to meet.
func mended(t *testing.T, place string) {
	t.Helper()
	t.Errorf("the SDK does this itself now: remove the place in %s, the row in docs/hazards.md and this test", place)
}
