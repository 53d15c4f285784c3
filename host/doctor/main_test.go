package doctor_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// serverMode, in the environment, makes the test program a server.
const serverMode = "DOCTOR_TEST_SERVER"

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
	state, err := os.MkdirTemp("", "doctor-test-*")
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
	if serveProbed(mode) {
		return
	}
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "family":
		// The grandchild says who it is through a file, and ignores the end
		// of its input.
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			panic(err)
		}
		if err := os.WriteFile(os.Getenv("PID_FILE"), fmt.Append(nil, child.Process.Pid), 0o600); err != nil {
			panic(err)
		}
	}
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

// child is the config entry of a server that is the test program in a mode,
// with further members.
func child(t *testing.T, mode string, more ...string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf(`{"command": %q, "env": {"GORACE": "atexit_sleep_ms=0", %q: %q, "PID_FILE": %q}`, program, serverMode, mode, filepath.Join(t.TempDir(), "pid"))
	return entry + strings.Join(append([]string{""}, more...), ", ") + "}"
}

// write writes a config file with the given entries: name, entry, name, entry.
func write(t *testing.T, entries ...string) string {
	t.Helper()
	var members []string
	for i := 0; i+1 < len(entries); i += 2 {
		members = append(members, fmt.Sprintf("    %q: %s", entries[i], entries[i+1]))
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := "{\n  \"mcpServers\": {\n" + strings.Join(members, ",\n") + "\n  }\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// watchdog bounds a test that hangs.
func watchdog(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// patient returns options with which opening waits for all servers, however slow the
// machine is.
func patient(opts *host.Options) *host.Options {
	o := host.Options{OpenWait: -1}
	if opts != nil {
		o = *opts
		if o.OpenWait == 0 {
			o.OpenWait = -1
		}
	}
	return &o
}

func open(t *testing.T, path string, opts *host.Options) *host.Host {
	t.Helper()
	h, err := host.Open(watchdog(t), path, patient(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// status returns the named server's status.
func status(t *testing.T, h *host.Host, name string) host.Status {
	t.Helper()
	for _, s := range h.Servers() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no server %q", name)
	return host.Status{}
}

// until waits until the named server's status is as wanted.
func until(t *testing.T, h *host.Host, name, what string, wanted func(host.Status) bool) {
	t.Helper()
	for range h.Watch(watchdog(t)) {
		if wanted(status(t, h, name)) {
			return
		}
	}
	t.Fatalf("server %q never was %s: %+v", name, what, status(t, h, name))
}

// call calls a tool and returns its text.
func call(t *testing.T, h *host.Host, tool, args string) (string, error) {
	t.Helper()
	res, err := h.Registry().Call(watchdog(t), tool, json.RawMessage(args))
	if err != nil {
		return "", err
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s answered %+v", tool, res)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok || res.IsError {
		t.Fatalf("%s answered %+v", tool, res.Content[0])
	}
	return text.Text, nil
}

// inProcess makes every server of the config s.
func inProcess(s *sdk.Server) *host.Options {
	return &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		return &transport.Pipe{Serve: s.Run}, nil
	}}
}

// kill ends a process as rudely as the system allows.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for what no event tells.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx := watchdog(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("in vain waited for %s", what)
		}
	}
}
