package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
	return assert.Value(call(t, c, tool))(t)
}

// text is a result of tools/call that holds one block of text.
func text(s string) mcptest.Handler {
	quoted, _ := json.Marshal(s)
	return mcptest.Result(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

func textOf(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	assert.Equal(t, len(res.Content), 1, "content")
	block, ok := res.Content[0].(*mcp.TextContent)
	assert.Equal(t, ok, true, "ok")
	return block.Text
}

func wantCount(t testing.TB, s *mcptest.Server, method string, n int) {
	t.Helper()
	assert.Equal(t, len(s.Received(method)), n, "the server received messages %s", method)
}

func wantPhase(t testing.TB, c *mcp.Client, want mcp.Phase) mcp.State {
	t.Helper()
	s := c.State()
	assert.Equal(t, s.Phase, want, "phase")
	return s
}

func wantOutcome(t testing.TB, err error, want mcp.Outcome) {
	t.Helper()
	assert.Fails(t, err)
	assert.Equal(t, mcp.OutcomeOf(err), want, "outcome of %q", err)
}

// errOf drops the value that came with an error.
func errOf[T any](_ T, err error) error { return err }

// cast ends the test if v is not a T.
func cast[T any](t testing.TB, v any) T {
	t.Helper()
	typed, ok := v.(T)
	assert.Equal(t, ok, true, "ok")
	return typed
}

// wantLen ends the test if a list has another length.
func wantLen[T any](t testing.TB, list []T, want int, what ...any) {
	t.Helper()
	assert.Equal(t, len(list), want, what...)
	if len(list) != want {
		t.FailNow()
	}
}

// inBackground runs f beside the test.
func inBackground(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

// pass lets time pass on the bubble's clock, until nothing happens any more.
func pass(d time.Duration) {
	time.Sleep(d) // sleep: on the bubble's clock, without which Wait panics
	synctest.Wait()
}

// within is the test's context with an end.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// wantList checks the elements of a list.
func wantList[T comparable](t testing.TB, got, want []T, what ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		assert.Equal(t, fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want), what...)
	}
}
