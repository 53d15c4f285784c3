package seedrows

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// environment is what the samples refer to.
var environment = map[string]string{
	"TAVILY_API_KEY": "tvly-made-up", "MCP_API_KEY": "made-up-key", "MCP_API_KEY_ID": "another",
	"GITHUB_OAUTH_CLIENT_ID": "made-up-client", "GITHUB_OAUTH_CLIENT_SECRET": "made-up-secret",
	"NOTION_OAUTH_CLIENT_ID": "made-up-notion",
	"PARENT_SECRET":          "not for children",
}

func TestMain(m *testing.M) {
	if os.Getenv("SEEDROWS_CHILD") != "" {
		if address := os.Getenv("LIFELINE"); address != "" { // it breaks when this process ends
			conn, err := net.Dial("tcp", address)
			if err != nil {
				panic(err)
			}
			defer conn.Close()
		}
		if err := local(os.Args[1:]).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "seedrows-*")
	if err != nil {
		panic(err)
	}
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// The commands of the samples are this program. The race detector has no need to wait
	// at their end.
	wrapper := "#!/bin/sh\nSEEDROWS_CHILD=1 GORACE=atexit_sleep_ms=0 exec '" + program + "' \"$@\"\n"
	for _, name := range []string{"npx", "python"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(wrapper), 0o700); err != nil {
			panic(err)
		}
	}
	set := map[string]string{"PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH"), "XDG_STATE_HOME": dir}
	for _, vars := range []map[string]string{environment, set} {
		for name, value := range vars {
			if err := os.Setenv(name, value); err != nil {
				panic(err)
			}
		}
	}
	// The DELETE that ends a session of the SDK's server is given up on a busy machine.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// local returns the server that the command line of a sample stands for.
func local(args []string) *sdk.Server {
	switch {
	case len(args) == 3 && args[1] == "@anthropic/mcp-filesystem":
		return newServer(args[1], "read_file", "write_file", "list_directory", "search_files", "get_file_info")
	case len(args) == 2 && args[1] == "@anthropic/mcp-tavily":
		return newServer(args[1], "TAVILY_API_KEY", "PARENT_SECRET")
	case strings.Join(args, " ") == "-m my_mcp_server":
		return newServer("my_mcp_server", "calculate")
	}
	os.Exit(2)
	return nil
}

// newServer returns a server whose tools answer with the value of the variable of their
// name, with their header of that name, and with their arguments.
func newServer(name string, tools ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	for _, tool := range tools {
		s.AddTool(&sdk.Tool{Name: tool, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			text := os.Getenv(tool) + string(r.Params.Arguments)
			if r.Extra != nil && r.Extra.Header != nil {
				text = r.Extra.Header.Get(tool) + text
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
	}
	return s
}

// remote serves over streamable HTTP, and over HTTP with SSE below /sse.
func remote(t *testing.T, tools ...string) *httptest.Server {
	get := func(*http.Request) *sdk.Server { return newServer("remote", tools...) }
	mux := http.NewServeMux()
	mux.Handle("/sse", sdk.NewSSEHandler(get, nil))
	mux.Handle("/", sdk.NewStreamableHTTPHandler(get, nil))
	s := httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// A fakeServers has servers of a configuration that follow scripts, by name. The others
// are as their entries say.
type fakeServers map[string]*mcptest.Server

// script returns a scripted server of the revision that most servers speak.
func script(t *testing.T, s mcptest.Script) *mcptest.Server {
	t.Helper()
	return mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, ""), s)
}

// fakes are options under which these servers follow scripts.
func fakes(servers fakeServers) *host.Options {
	return &host.Options{Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
		if s := servers[e.Name]; s != nil {
			return &transport.Pipe{Serve: s.Serve}, nil
		}
		return nil, nil
	}}
}

// open returns a host over a config file of that name and text.
func open(t *testing.T, filename, text string, opts *host.Options) *host.Host {
	t.Helper()
	path := filepath.Join(t.TempDir(), filename)
	assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return openStore(t, edit.OpenFileStore(path, nil), opts)
}

func openStore(t *testing.T, store record.Store, opts *host.Options) *host.Host {
	t.Helper()
	o := host.Options{}
	if opts != nil {
		o = *opts
	}
	if o.OpenWait == 0 {
		o.OpenWait = -1
	}
	if o.StateDir == "" {
		o.StateDir = host.NoState
	}
	h := assert.Value(manage.OpenStore(patience(t), store, &manage.Options{Host: o}))(t).Host()
	t.Cleanup(func() { assert.OK(t, h.Close()) })
	return h
}

// patience bounds a test that hangs.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func status(t *testing.T, h *host.Host, name string) host.Status {
	t.Helper()
	for _, s := range h.Servers() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("got no server %q", name)
	return host.Status{}
}

// until waits until a server is as wanted.
func until(t *testing.T, h *host.Host, name string, wanted func(host.Status) bool) {
	t.Helper()
	for range h.Watch(patience(t)) {
		if wanted(status(t, h, name)) {
			return
		}
	}
	t.Fatalf("got the status %+v of %s at last, want another", status(t, h, name), name)
}

// call calls a tool that has to work, and returns its text.
func call(t *testing.T, h *host.Host, tool, args string) string {
	t.Helper()
	return result.Text(assert.Value(h.Registry().Call(patience(t), tool, json.RawMessage(args)))(t))
}

// names are the tools that are listed, in one line.
func names(r *registry.Registry) string {
	var all []string
	for _, tool := range r.Snapshot().Tools() {
		all = append(all, tool.Definition().Name)
	}
	return strings.Join(all, " ")
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	assert.OK(t, json.Unmarshal([]byte(text), &v))
	return v
}

func encode(t *testing.T, v any) string {
	t.Helper()
	return string(assert.Value(json.Marshal(v))(t))
}

// allowing returns a policy that allows what no rule speaks of.
func allowing(t *testing.T, rules ...policy.Rule) *policy.Policy {
	t.Helper()
	return assert.Value(policy.New(approval.Allow, rules...))(t)
}

func body(r *http.Request) string {
	data, _ := io.ReadAll(r.Body)
	return string(data)
}

func tools(list ...string) mcptest.Handler {
	return mcptest.Result(`{"tools":[` + strings.Join(list, ",") + `]}`)
}

func plain(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}
