package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const asMain = "NOTES_TEST_MAIN" // makes the test program the server

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// program returns a command that runs the server.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(assert.Value(os.Executable())(t), args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

// connect runs the binary and returns a session with it.
func connect(t *testing.T, args ...string) (*mcp.ClientSession, *exec.Cmd) {
	t.Helper()
	cmd := program(t, args...)
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session := assert.Value(client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil))(t)
	t.Cleanup(func() { session.Close() })
	return session, cmd
}

// call returns the text of a tool's answer and whether it is an error.
func call(t *testing.T, s *mcp.ClientSession, tool, args string) (string, bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	assert.OK(t, err, "%s %s", tool, args)
	assert.Equal(t, len(res.Content), 1, "%s %s", tool, args)
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

func TestTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.jsonl")
	for _, args := range [][]string{nil, {"-file", file}} {
		s, cmd := connect(t, args...)
		for _, step := range []struct {
			tool, args, want string
			isError          bool
		}{
			{"list", `{}`, `{"notes":[]}`, false},
			{"create", `{"text":"Buy milk\nand bread"}`, `{"id":"1","text":"Buy milk\nand bread","title":"Buy milk"}`, false},
			{"create", `{"text":"Call Zoë"}`, `{"id":"2","text":"Call Zoë","title":"Call Zoë"}`, false},
			{"create", `{"text":"  "}`, `text is empty; write something into the note`, true},
			{"list", `{}`, `{"notes":[{"id":"1","title":"Buy milk"},{"id":"2","title":"Call Zoë"}]}`, false},
			{"get", `{"id":"2"}`, `{"id":"2","text":"Call Zoë","title":"Call Zoë"}`, false},
			{"get", `{"id":"9"}`, `there is no note "9"; list shows the ids`, true},
		} {
			got, isError := call(t, s, step.tool, step.args)
			assert.Equal(t, [...]any{got, isError}, [...]any{step.want, step.isError}, "%s %s", step.tool, step.args)
		}
		res := assert.Value(s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "notes://2"}))(t)
		assert.Equal(t, res.Contents[0].Text, "Call Zoë", "notes://2")
		_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "notes://3"})
		assert.Fails(t, err, "notes://3 was read, want not found")

		// The SDK's Close closes standard input and waits for the process.
		assert.OK(t, s.Close(), "Close")
		assert.Equal(t, cmd.ProcessState.String(), "exit status 0", "end of input")
	}
	again, _ := connect(t, "-file", file)
	got, _ := call(t, again, "create", `{"text":"three"}`)
	assert.Contains(t, got, `"id":"3"`, "after a restart")
}

func TestDamagedFileIsLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.jsonl")
	assert.OK(t, os.WriteFile(file, []byte("{"), 0o600))
	out, err := program(t, "-file", file).CombinedOutput()
	assert.Fails(t, err, "a damaged file")
	assert.Contains(t, string(out), file+" is not a notes file", "a damaged file")
	data, _ := os.ReadFile(file)
	assert.Equal(t, string(data), "{")
}

func TestSignalEndsTheServer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM")
	}
	s, cmd := connect(t)
	assert.OK(t, s.Ping(t.Context(), nil))
	assert.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	// Standard input stays open until the process is gone.
	s.Wait()
	s.Close()
	assert.Equal(t, cmd.ProcessState.String(), "exit status 0", "SIGTERM")
}
