package host_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	regnames "github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

func TestOneFailureHarmsNobody(t *testing.T) {
	t.Parallel()
	h := open(t, write(t,
		"good", child(t, "good"),
		"exit", child(t, "exit"),
		"gone", `{"command": "no-such-program-anywhere"}`,
		"silent", child(t, "silent", `"connectTimeoutSeconds": 0.5`),
		"broken", `{"comand": "x"}`,
		"off", child(t, "off", `"enabled": false`),
	), nil)

	if text, err := call(t, h, "good__echo", `{"text":"hi"}`); err != nil || !strings.HasPrefix(text, "hi ") {
		t.Errorf("good: %q, %v", text, err)
	}
	assert.Equal(t, names(h), "good__echo", "tools")
	var exit *transport.ExitError
	if s := status(t, h, "exit"); !errors.As(s.Err, &exit) || exit.Code != 3 || !strings.Contains(exit.Stderr, "no licence found") {
		t.Errorf("exit: %+v", s)
	}
	if s := status(t, h, "gone"); !errors.Is(s.Err, exec.ErrNotFound) || s.State.Phase == mcp.Ready {
		t.Errorf("gone: %+v", s)
	}
	if s := status(t, h, "silent"); !errors.Is(s.Err, context.DeadlineExceeded) {
		t.Errorf("silent: %+v", s)
	}
	var at *config.Error
	if s := status(t, h, "broken"); !errors.As(s.Err, &at) || at.Line != 7 || at.Key != "mcpServers.broken.comand" {
		t.Errorf("broken: %+v", s)
	}
	if s := status(t, h, "off"); s.Err != nil || s.Enabled || s.State.Phase != mcp.Idle {
		t.Errorf("off: %+v", s)
	}
}

func TestOpenReportsTheFile(t *testing.T) {
	path := write(t, "a", `{"command": "x",, }`)
	_, err := host.Open(watchdog(t), path, nil)
	if err == nil || !strings.HasPrefix(err.Error(), path+":3:") {
		t.Errorf("malformed: %v", err)
	}
	if _, err := host.Open(watchdog(t), filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestRequiredServerFailsOpen(t *testing.T) {
	_, err := host.Open(watchdog(t), write(t,
		"good", child(t, "good"),
		"exit", child(t, "exit", `"required": true`),
	), nil)
	var exit *transport.ExitError
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), `"exit"`) {
		t.Errorf("got %v", err)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(watchdog(t))
	opts := &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: func(serving context.Context, _ mcp.Transport) error {
			cancel()
			<-serving.Done()
			return nil
		}}, nil
	}}
	if _, err := host.Open(ctx, write(t, "hung", `{"command": "x"}`), opts); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLazyServerStartsOnFirstCall(t *testing.T) {
	path := write(t, "lazy", child(t, "lazy", `"lazy": true`))
	opts := &host.Options{StateDir: t.TempDir()}
	first := open(t, path, opts)
	until(t, first, "lazy", "listed", func(s host.Status) bool { return s.Stage == host.StageReady && s.Tools == 1 })
	assert.OK(t, first.Close())
	h := open(t, path, opts)
	if s := status(t, h, "lazy"); s.Stage != host.StageCached || s.Tools != 1 || s.State.PID != 0 {
		t.Fatalf("before use: %+v", s)
	}
	assert.Value(call(t, h, "lazy__echo", `{"text": "hello"}`))(t)
	if s := status(t, h, "lazy"); s.State.Connections != 1 {
		t.Errorf("after use: %+v", s)
	}
}

func TestFilterAndRename(t *testing.T) {
	entry := `{"command": "x", "tools": {"allow": ["a", "b"], "deny": ["b"], "rename": {"a": "first"}}}`
	opts := &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		s := sdk.NewServer(&sdk.Implementation{Name: "x"}, nil)
		for _, name := range []string{"a", "b", "c"} {
			s.AddTool(&sdk.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "called " + r.Params.Name}}}, nil
			})
		}
		return &transport.Pipe{Serve: s.Run}, nil
	}}
	for scheme, name := range map[regnames.Scheme]string{regnames.ServerTool: "x__first", regnames.BareTool: "first"} {
		opts.Registry = registry.New(&registry.Options{Names: regnames.Names{Scheme: scheme}})
		h := open(t, write(t, "x", entry), opts)
		if got := names(h); got != name {
			t.Fatalf("tools: %s, want %s", got, name)
		}
		if text, err := call(t, h, name, "{}"); err != nil || text != "called a" {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
}

func TestHeadersAndNativeTools(t *testing.T) {
	var key string
	mux := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		key = r.Header.Get("X-Api-Key")
		return newServer("remote")
	}, nil)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("HOST_TEST_KEY", "s3cret")
	h := open(t, write(t, "remote", `{"url": "`+server.URL+`", "headers": {"X-Api-Key": "${HOST_TEST_KEY}"}}`), nil)
	assert.Equal(t, key, "s3cret", "the server saw key")
	assert.OK(t, h.Registry().Add(registry.MustFunc("add", "Add", func(_ context.Context, in struct{ A, B int }) (int, error) {
		return in.A + in.B, nil
	})))
	assert.Equal(t, names(h), "add remote__echo", "tools")
	if text, err := call(t, h, "add", `{"A":1,"B":2}`); err != nil || text != "3" {
		t.Errorf("add: %q, %v", text, err)
	}
	var unknown *registry.UnknownToolError
	if _, err := call(t, h, "remote__ecco", `{}`); !errors.As(err, &unknown) || len(unknown.Suggestions) == 0 || unknown.Suggestions[0] != "remote__echo" {
		t.Errorf("unknown tool: %v", err)
	}
}
