package mcp_test

import (
	"context"
	"os"
	"slices"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		serveChild()
		return
	}
	// The DELETE that ends a session of the SDK's server is given up on a busy machine.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

// childEnv makes this test binary a server on its standard input and output: the
// canned one of a revision, or a real one.
const childEnv = "MCPBELT_TEST_CHILD"

// childOf is the environment of such a server, which ends as fast under the race
// detector as without it.
func childOf(kind string) []string {
	return []string{childEnv + "=" + kind, "GORACE=atexit_sleep_ms=0"}
}

func serveChild() {
	if revision := os.Getenv(childEnv); slices.Contains(revisions(), revision) {
		_ = newCanned(revision).serve(context.Background(), &sdk.IOTransport{Reader: os.Stdin, Writer: os.Stdout})
		return
	}
	if err := echoServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

type echoIn struct {
	Text string `json:"text"`
}

// echoServer is a real server with one tool.
func echoServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echoIn) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	return server
}
