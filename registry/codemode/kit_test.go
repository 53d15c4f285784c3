package codemode_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/codemode"
	"github.com/mcpbelt/mcpbelt/session"
)

// A remote is a tool of a server in this process.
type remote struct {
	server, name string
	readOnly     bool
	output       string
	app          bool // it is for apps alone
	call         func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error)
}

func (s remote) tool() registry.Tool {
	def := &mcp.Tool{Name: s.name, Description: "Tool " + s.name + ".", InputSchema: json.RawMessage(`{"type":"object"}`)}
	if s.output != "" {
		def.OutputSchema = json.RawMessage(s.output)
	}
	if s.app {
		def.Meta = mcp.Meta{"ui": map[string]any{"visibility": []any{"app"}}}
	}
	if s.readOnly {
		def.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	}
	return registry.Remote(s.server, def, func(ctx context.Context, _ string, args json.RawMessage, _ *mcp.RequestOptions) (*mcp.CallToolResult, error) {
		return s.call(ctx, args)
	})
}

// textResult returns a result of one text.
func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// echo returns a tool that answers with its arguments.
func echo(server, name string) remote {
	return remote{server: server, name: name, readOnly: true, call: func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
		return textResult(string(args)), nil
	}}
}

// newRegistry returns a registry with the tools of servers.
func newRegistry(t testing.TB, opts *registry.Options, tools ...remote) *registry.Registry {
	t.Helper()
	r := registry.New(opts)
	byServer := map[string][]registry.Tool{}
	for _, s := range tools {
		byServer[s.server] = append(byServer[s.server], s.tool())
	}
	for server, tools := range byServer {
		assert.Value(r.Replace(registry.Server{Name: server, Trusted: server != "stranger"}, tools))(t)
	}
	return r
}

func newRunner(t testing.TB, r *registry.Registry, opts *codemode.Options) *codemode.Runner {
	t.Helper()
	if opts == nil {
		opts = new(codemode.Options)
	}
	opts.Limits.Time = cmp.Or(opts.Limits.Time, 10*time.Minute) // for machines that are busy
	c := assert.Value(codemode.New(r, nil, opts))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// run runs a script and returns its value.
func run(t testing.TB, c *codemode.Runner, code string) string {
	t.Helper()
	report := assert.Value(c.Run(t.Context(), &codemode.Script{Code: code}))(t)
	assert.OK(t, report.Err, "%s", code)
	return string(report.Value)
}

// A counter counts calls.
type counter struct {
	mu    sync.Mutex
	calls []string
}

func (c *counter) tool(server, name string) remote {
	return remote{server: server, name: name, call: func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls = append(c.calls, fmt.Sprintf("%s %s", name, args))
		return textResult("done"), nil
	}}
}

func (c *counter) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.calls, "; ")
}

func userContext(t testing.TB) context.Context { return session.WithUser(t.Context(), "ann") }

func TestMain(m *testing.M) {
	codemode.Child()
	if os.Getenv(doomedHost) != "" {
		runDoomed()
		return
	}
	goleak.VerifyTestMain(m)
}
