package mcp_test

import (
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		serveChild()
		return
	}
	goleak.VerifyTestMain(m)
}

// eras are the revisions that the tests speak, one of each kind.
func eras() []string { return []string{mcp.Revision20251125, mcp.Revision20260728} }

// A plane is a way to carry requests to a scripted server.
type plane struct {
	name string
	to   func(*mcptest.Server) mcp.Transport
}

func planes() []plane {
	return []plane{
		{"lent", func(s *mcptest.Server) mcp.Transport { return s }},
		{"own", func(s *mcptest.Server) mcp.Transport { return &transport.Pipe{Serve: s.Serve} }},
	}
}

// everywhere runs a test in both eras on both planes.
func everywhere(t *testing.T, test func(t *testing.T, revision string, p plane)) {
	for _, revision := range eras() {
		for _, p := range planes() {
			t.Run(revision+"/"+p.name, func(t *testing.T) { test(t, revision, p) })
		}
	}
}

func newClient(t testing.TB, to mcp.Transport, opts *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c := mcp.NewClient("scripted", to, opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// legacy returns a server of the older kind, and modern one of the newer.
func legacy(t testing.TB, scripts ...mcptest.Script) *mcptest.Server {
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(mcp.Revision20251125, "")}, scripts...)...)
}

func modern(t testing.TB, scripts ...mcptest.Script) *mcptest.Server {
	return mcptest.NewServer(t, append([]mcptest.Script{mcptest.Handshake(mcp.Revision20260728, "")}, scripts...)...)
}

func ready(t testing.TB, c *mcp.Client) {
	t.Helper()
	assert.OK(t, c.Ready(t.Context()))
}

func call(t testing.TB, c *mcp.Client, tool string) (*mcp.CallToolResult, error) {
	t.Helper()
	return c.CallTool(t.Context(), tool, json.RawMessage(`{}`), nil)
}

func mustCall(t testing.TB, c *mcp.Client, tool string) *mcp.CallToolResult {
	t.Helper()
	res := assert.Value(call(t, c, tool))(t)
	return res
}

// text is a result of tools/call that holds one block of text.
func text(s string) mcptest.Handler {
	quoted, _ := json.Marshal(s)
	return mcptest.Result(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("content = %v, want one block", res.Content)
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is a %T, want text", res.Content[0])
	}
	return block.Text
}

func wantCount(t testing.TB, s *mcptest.Server, method string, n int) {
	t.Helper()
	assert.Equal(t, len(s.Received(method)), n, "the server received messages %s", method)
}

func wantPhase(t testing.TB, c *mcp.Client, want mcp.Phase) mcp.State {
	t.Helper()
	s := c.State()
	if s.Phase != want {
		t.Fatalf("phase %v (%v), want %v", s.Phase, s.Err, want)
	}
	return s
}

func wantOutcome(t testing.TB, err error, want mcp.Outcome) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	assert.Equal(t, mcp.OutcomeOf(err), want, "outcome of %q", err)
}
