// Tests of hosts with the reference servers, over each transport.

//go:build integration && unix

package integration

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A host offers the tools of the everything server over each transport, makes many calls at once, and its user is
// asked. What else that server does is tried by TestFeatures.
func TestEveryTransport(t *testing.T) {
	const tools = "echo get-annotated-message get-env get-resource-links get-resource-reference get-structured-content get-sum get-tiny-image " +
		"gzip-file-as-resource simulate-research-query toggle-simulated-logging toggle-subscriber-updates trigger-elicitation-request trigger-long-running-operation"
	for name, entryOf := range map[string]func(t *testing.T) entry{
		"stdio": func(t *testing.T) entry { return stdio(t, "everything", "stdio") },
		"http":  func(t *testing.T) entry { return entry{Type: "http", URL: listen(t, "streamableHttp").url()} },
		"sse":   func(t *testing.T) entry { return entry{Type: "sse", URL: listen(t, "sse").url()} },
		// Without a type, streamable HTTP is tried first. One server speaks it, the other only the older transport.
		"auto to http": func(t *testing.T) entry { return entry{URL: listen(t, "streamableHttp").url()} },
		"auto to sse":  func(t *testing.T) entry { return entry{URL: listen(t, "sse").url()} },
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			h := open(t, map[string]entry{"every": entryOf(t)}, &host.Options{Client: mcp.ClientOptions{
				Elicit: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					assert.Equal(t, req.Server, "every", "asked by")
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "check": true}}, nil
				},
			}})
			// The server offers one tool only to clients that can be asked, when it knows that.
			eventually(t, "the tool to be listed", func() bool {
				_, ok := h.Registry().Snapshot().Lookup("every__trigger-elicitation-request")
				return ok
			})
			var names []string
			for _, tool := range h.Registry().Snapshot().Tools() {
				d := tool.Definition()
				assert.Equal(t, d.Origin.Server+"__"+d.Origin.Tool, d.Name, "the name of a tool")
				names = append(names, d.Origin.Tool)
			}
			assert.Equal(t, strings.Join(names, " "), tools)
			assert.Equal(t, text(call(t, h, "every__echo", `{"message":"häl\u0000lo \ud83d\ude00"}`)), "Echo: häl\x00lo \U0001f600")
			assert.Contains(t, text(call(t, h, "every__trigger-elicitation-request", `{}`)), "Ada")
			assert.Equal(t, asked.Load(), 1, "questions")
			var all sync.WaitGroup
			for i := range 100 {
				all.Go(func() {
					message := strings.Repeat("x", i)
					res, err := h.Registry().Call(ctxFor(t), "every__echo", json.RawMessage(`{"message":"`+message+`"}`))
					if err != nil {
						t.Error(err)
						return
					}
					assert.Equal(t, text(res), "Echo: "+message, "one of many calls")
				})
			}
			all.Wait()
		})
	}
}

func TestEnvironmentIsNotInherited(t *testing.T) {
	t.Setenv("MCPBELT_TEST_TOKEN", "must-not-leave")
	e := stdio(t, "everything", "stdio")
	e.Env = map[string]string{"GIVEN": "yes"}
	s := text(call(t, open(t, map[string]entry{"every": e}, nil), "every__get-env", `{}`))
	assert.Lacks(t, s, "must-not-leave", "environment of the server")
	assert.Contains(t, s, `"GIVEN": "yes"`, "environment of the server")
}

// Servers of several kinds run side by side; what they do has effects, of which one outlives a restart.
func TestServersSideBySide(t *testing.T) {
	// The server compares real paths; the temporary folder may be a link.
	dir := assert.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	memory := stdio(t, "memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}
	h := open(t, map[string]entry{
		"memory": memory,
		"files":  stdio(t, "filesystem", dir),
		"every":  stdio(t, "everything", "stdio"),
		"http":   {Type: "http", URL: listen(t, "streamableHttp").url()},
		"sse":    {Type: "sse", URL: listen(t, "sse").url()},
	}, nil)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 9+14+3*13, "tools")
	for _, server := range []string{"every", "http", "sse"} {
		assert.Equal(t, text(call(t, h, server+"__echo", `{"message":"to `+server+`"}`)), "Echo: to "+server, "%s", server)
	}

	path, content := filepath.Join(dir, "note.txt"), "one\ntwo \"three\"\n"
	args := assert.Value(json.Marshal(map[string]string{"path": path, "content": content}))(t)
	call(t, h, "files__write_file", string(args))
	assert.Equal(t, string(assert.Value(os.ReadFile(path))(t)), content, "the file")
	args = assert.Value(json.Marshal(map[string]string{"path": path}))(t)
	assert.Equal(t, text(call(t, h, "files__read_text_file", string(args))), content, "what is read")
	res := assert.Value(h.Registry().Call(ctxFor(t), "files__read_text_file", json.RawMessage(`{"path":"/etc/passwd"}`)))(t)
	assert.True(t, res.IsError, "an error for a file outside of the folder")

	call(t, h, "memory__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes programs"]}]}`)
	assert.OK(t, h.Restart(ctxFor(t), "memory"))
	assert.Contains(t, text(call(t, h, "memory__read_graph", `{}`)), "writes programs", "the graph after a restart")

	assert.OK(t, h.Disable(ctxFor(t), "http"))
	_, ok := h.Registry().Snapshot().Lookup("http__echo")
	assert.False(t, ok, "the tools of a disabled server are listed")
	call(t, h, "sse__echo", `{"message":"still here"}`)
}

// TestFirstProgram copies the first program of the README into an empty module, and runs
// it with the servers of npm that it names.
func TestFirstProgram(t *testing.T) {
	root := assert.Value(filepath.Abs("../.."))(t)
	readme := read(t, filepath.Join(root, "README.md"))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go":  between(t, readme, "```go\n", "```\n"),
		"mcp.json": between(t, readme, "```json\n", "```\n"),
		"go.mod": "module first\n\ngo 1.26\n\nrequire github.com/mcpbelt/mcpbelt v0.1.0\n\n" +
			"replace github.com/mcpbelt/mcpbelt => " + root + "\n",
		"go.sum": read(t, filepath.Join(root, "go.sum")),
	} {
		assert.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	// npx takes what is installed there, and downloads nothing.
	assert.OK(t, os.Symlink(nodeModules(t, "npm"), filepath.Join(dir, "node_modules")))
	run := exec.CommandContext(ctxFor(t), "go", "run", ".")
	run.Dir = dir
	run.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off", "npm_config_offline=true", "XDG_STATE_HOME="+t.TempDir())
	out, err := run.CombinedOutput()
	assert.OK(t, err, "%s", out)
	for line := range strings.Lines(between(t, readme, "It prints\n\n", "\n\nNext:")) {
		line = strings.TrimSpace(line)
		assert.Contains(t, string(out), line, "what it printed")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(assert.Value(os.ReadFile(path))(t))
}

// between returns what stands between two marks of a text.
func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, rest, begins := strings.Cut(text, begin)
	part, _, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("README.md has nothing between %q and %q", begin, end)
	}
	return part
}
