package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	for _, where := range []string{"memory", "file"} {
		t.Run(where, func(t *testing.T) {
			var args []string
			if where == "file" {
				args = []string{"-file", filepath.Join(t.TempDir(), "notes.json")}
			}
			s, cmd := connect(t, args...)
			steps := []struct {
				tool, args, want string
				isError          bool
			}{
				{"list", `{}`, `{"notes":[]}`, false},
				{"create", `{"text":"Buy milk\nand bread"}`, `{"id":"1","text":"Buy milk\nand bread","title":"Buy milk"}`, false},
				{"create", `{"text":"at noon","title":"Call Zoë"}`, `{"id":"2","text":"at noon","title":"Call Zoë"}`, false},
				{"create", `{"text":"  "}`, `text is empty; write something into the note`, true},
				{"list", `{}`, `{"notes":[{"id":"1","title":"Buy milk"},{"id":"2","title":"Call Zoë"}]}`, false},
				{"get", `{"id":"2"}`, `{"id":"2","text":"at noon","title":"Call Zoë"}`, false},
				{"get", `{"id":"9"}`, `there is no note "9"; list shows the ids`, true},
				{"search", `{"query":"ZOË"}`, `{"notes":[{"id":"2","title":"Call Zoë"}]}`, false},
				{"search", `{"query":"bread"}`, `{"notes":[{"id":"1","title":"Buy milk"}]}`, false},
				{"search", `{"query":"nowhere"}`, `{"notes":[]}`, false},
				{"search", `{"query":""}`, `query is empty; list returns all notes`, true},
				{"delete", `{"id":"2"}`, `{"deleted":true}`, false},
				{"delete", `{"id":"2"}`, `{"deleted":false}`, false},
				{"create", `{"text":"ids are not used again"}`, `{"id":"3","text":"ids are not used again","title":"ids are not used again"}`, false},
			}
			for _, step := range steps {
				got, isError := call(t, s, step.tool, step.args)
				assert.Equal(t, [...]any{got, isError}, [...]any{step.want, step.isError}, "%s %s", step.tool, step.args)
			}

			// The SDK's Close closes standard input and waits for the process.
			assert.OK(t, s.Close(), "Close")
			assert.Equal(t, cmd.ProcessState.String(), "exit status 0", "end of input")
		})
	}
}

func TestToolsAreDescribed(t *testing.T) {
	s, _ := connect(t, "-name", "diary")
	assert.Equal(t, s.InitializeResult().ServerInfo.Name, "diary", "server name")
	tools := assert.Value(s.ListTools(t.Context(), nil))(t)
	var got []string
	for _, tool := range tools.Tools {
		a := tool.Annotations
		line := tool.Name
		switch {
		case a.ReadOnlyHint:
			line += " reads"
		case a.DestructiveHint == nil || *a.DestructiveHint:
			line += " destroys"
		default:
			line += " adds"
		}
		if a.IdempotentHint {
			line += " idempotent"
		}
		if tool.OutputSchema == nil || tool.Description == "" {
			line += " INCOMPLETE"
		}
		got = append(got, line)
	}
	want := []string{"create adds", "delete destroys idempotent", "get reads idempotent", "list reads idempotent", "search reads idempotent"}
	assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
}

func TestResource(t *testing.T) {
	s, _ := connect(t)
	call(t, s, "create", `{"text":"Buy milk"}`)
	res := assert.Value(s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "notes://1"}))(t)
	assert.Equal(t, res.Contents[0].Text, "Buy milk", "notes://1")
	_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "notes://2"})
	assert.Fails(t, err, "notes://2 was read, want not found")
}

func TestFileOutlivesTheServer(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.json")
	first, _ := connect(t, "-file", file)
	call(t, first, "create", `{"text":"one"}`)
	call(t, first, "create", `{"text":"two"}`)
	call(t, first, "delete", `{"id":"2"}`)
	first.Close()

	second, _ := connect(t, "-file", file)
	got, _ := call(t, second, "list", `{}`)
	assert.Equal(t, got, `{"notes":[{"id":"1","title":"one"}]}`, "after a restart")
	got, _ = call(t, second, "create", `{"text":"three"}`)
	assert.Contains(t, got, `"id":"3"`, "after a restart an id was used again")
	entries := assert.Value(os.ReadDir(dir))(t)
	assert.Equal(t, len(entries), 1, "%d", len(entries)-1)
}

func TestFailedSaveChangesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.json")
	s, _ := connect(t, "-file", file)
	call(t, s, "create", `{"text":"kept"}`)
	// A folder in the place of the file makes the last step of saving fail.
	assert.OK(t, os.Remove(file))
	assert.OK(t, os.Mkdir(file, 0o700))
	_, isError := call(t, s, "create", `{"text":"lost"}`)
	assert.True(t, isError, "isError")
	_, isError = call(t, s, "delete", `{"id":"1"}`)
	assert.True(t, isError, "isError")
	got, _ := call(t, s, "list", `{}`)
	assert.Equal(t, got, `{"notes":[{"id":"1","title":"kept"}]}`, "list after failed saves")
	entries := assert.Value(os.ReadDir(dir))(t)
	assert.Equal(t, len(entries), 1)
}

func TestEditedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.json")
	assert.OK(t, os.WriteFile(file, []byte(`{"notes":[{"id":"7","title":"by hand","text":"by hand"}]}`), 0o600))
	s, _ := connect(t, "-file", file)
	got, _ := call(t, s, "create", `{"text":"next"}`)
	assert.Contains(t, got, `"id":"8"`)
}

func TestDamagedFileIsLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.json")
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

func TestConcurrentCreate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.json")
	b := assert.Value(openNotebook(file))(t)
	const n = 20
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errs := make(chan error)
	for range n {
		go func() {
			_, err := b.Create("", "note")
			select {
			case errs <- err:
			case <-ctx.Done():
			}
		}()
	}
	for range n {
		assert.OK(t, <-errs)
	}
	again := assert.Value(openNotebook(file))(t)
	seen := make(map[string]bool)
	for _, note := range again.All() {
		seen[note.ID] = true
	}
	assert.Equal(t, len(seen), n, "different notes on disk")
}
