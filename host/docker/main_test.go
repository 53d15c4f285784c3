package docker_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// serverMode, in the environment, makes the test program a server.
const serverMode = "TEST_SERVER_MODE"

func TestMain(m *testing.M) {
	transporttest.RunChild()
	if mode := os.Getenv(serverMode); mode != "" {
		serve(mode)
		return
	}
	// Parallel tests wait for processes, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	// What hosts keep between runs must not come from the user's own, or stay there.
	state, err := os.MkdirTemp("", "docker-test-*")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(state)
		os.Exit(code)
	}))
}

func serve(mode string) {
	if err := newServer(mode).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// sameSchemas is for servers that are made many times with the same tools: to derive and
// resolve a schema costs more than all that is asked of such a server.
var sameSchemas = &sdk.ServerOptions{SchemaCache: sdk.NewSchemaCache()}

type echoInput struct {
	Text string `json:"text"`
}

// newServer returns a server with a tool named echo, which answers with its
// text, and its process id.
func newServer(name string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, sameSchemas)
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echoInput) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %d", in.Text, os.Getpid())}}}, nil, nil
	})
	return s
}

func wantStage(t testing.TB, h *host.Host, want host.Stage) host.Status {
	t.Helper()
	status := h.Servers()[0]
	if status.Stage != want {
		t.Errorf("stage %q (%v), want %q", status.Stage, status.Err, want)
	}
	return status
}
