package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// childEnv makes this test binary a server on its standard input and output: the
// canned one of a revision, or a real one.
const childEnv = "MCPBELT_TEST_CHILD"

// childOf is the environment of such a server, which ends as fast under the race
// detector as without it.
func childOf(kind string) []string {
	return []string{childEnv + "=" + kind, "GORACE=atexit_sleep_ms=0"}
}

func serveChild() {
	if revision := os.Getenv(childEnv); slices.Contains(eras(), revision) {
		_ = newCanned(revision).serve(context.Background(), &sdk.IOTransport{Reader: os.Stdin, Writer: os.Stdout})
		return
	}
	if err := echoServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// A real process that is killed is noticed and replaced without anybody calling.
func TestProcessKilled(t *testing.T) {
	t.Parallel()
	program := assert.Value(os.Executable())(t)
	c := newClient(t, &transport.Command{Path: program, Env: childOf("1")}, nil)
	ready(t, c)
	first := c.State()
	if first.PID <= 0 || first.Server == nil || first.Server.Name != "echo" {
		t.Fatalf("state %+v", first)
	}
	child := assert.Value(os.FindProcess(first.PID))(t)
	ctx := within(t, time.Minute)
	assert.OK(t, child.Kill())
	second := mcp.State{}
	for s := range c.Watch(ctx) {
		if s.Phase == mcp.Ready && s.Connections == 2 {
			second = s
			break
		}
	}
	if second.PID <= 0 || second.PID == first.PID {
		t.Errorf("after the kill: %+v", second)
	}
	res := assert.Value(c.CallTool(ctx, "echo", json.RawMessage(`{"text":"again"}`), nil))(t)
	assert.Equal(t, textOf(t, res), "again", "result")
}
