// Package hosttest has what the tests of host and of the packages above it share: the test
// program as a server, config files, and waits for what becomes of servers.
package hosttest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// ServerMode, in the environment, makes the test program a server.
const ServerMode = "HOST_TEST_SERVER"

// Begin is called by TestMain before the tests. In a process that is to be a server it
// serves, and returns nil: first special is asked, which may be nil, and reports whether it
// has served the mode. Else it returns what ends the tests with their exit code.
func Begin(special func(mode string) bool) (end func(code int)) {
	transporttest.RunChild()
	if mode := os.Getenv(ServerMode); mode != "" {
		if special == nil || !special(mode) {
			serve(mode)
		}
		return nil
	}
	// Parallel tests wait for processes, and need no processor of their own for that.
	// The command line has the last word.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	// What hosts keep between runs must not come from the user's own, or stay there.
	state, err := os.MkdirTemp("", "host-test-*")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state)
	}
	if err != nil {
		panic(err)
	}
	return func(code int) {
		_ = os.RemoveAll(state)
		os.Exit(code)
	}
}

func serve(mode string) {
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "unanswering":
		// Reads to the end, and never answers.
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
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
	var in sdk.Transport = &sdk.StdioTransport{}
	if mode == "narrow" {
		in = &sdk.IOTransport{Reader: &narrow{File: os.Stdin}, Writer: os.Stdout}
	}
	if err := NewServer(mode).Run(context.Background(), in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A narrow input ends at a line of more than a megabyte.
type narrow struct {
	*os.File
	line int // is how much of a line was read
}

func (r *narrow) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	r.line += n
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		r.line = n - end
	}
	if r.line > 1<<20 {
		return 0, errors.New("a line of more than a megabyte")
	}
	return n, err
}

// Schemas are for servers that are made many times with the same tools: to derive and
// resolve a schema costs more than all that is asked of such a server.
var Schemas = &sdk.ServerOptions{SchemaCache: sdk.NewSchemaCache()}

type echoInput struct {
	Text string `json:"text"`
}

// NewServer returns a server with a tool named echo, which answers with its text and the
// process id.
func NewServer(name string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, Schemas)
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echoInput) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%s %d", in.Text, os.Getpid())}}}, nil, nil
	})
	return s
}

// Child returns the config entry of a server that is the test program in a mode, with
// further members.
func Child(t *testing.T, mode string, more ...string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf(`{"command": %q, "env": {"GORACE": "atexit_sleep_ms=0", %q: %q, "PID_FILE": %q}`, program, ServerMode, mode, filepath.Join(t.TempDir(), "pid"))
	return entry + strings.Join(append([]string{""}, more...), ", ") + "}"
}

// Write writes a config file with the given entries: name, entry, name, entry.
func Write(t *testing.T, entries ...string) string {
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

// Kill ends a process as rudely as the system allows.
func Kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
}
