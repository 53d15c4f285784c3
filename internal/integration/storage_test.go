//go:build integration && unix

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestFilesystem(t *testing.T) {
	// The server compares real paths; the temporary folder may be a link.
	dir := assert.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	h := open(t, map[string]entry{"files": stdio(t, "filesystem", dir)}, nil)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 14, "tools")
	path := filepath.Join(dir, "note.txt")
	const content = "one\ntwo \"three\"\n"
	args := assert.Value(json.Marshal(map[string]string{"path": path, "content": content}))(t)
	call(t, h, "files__write_file", string(args))
	if data, err := os.ReadFile(path); err != nil || string(data) != content {
		t.Errorf("the file holds %q, %v", data, err)
	}
	args = assert.Value(json.Marshal(map[string]string{"path": path}))(t)
	assert.Equal(t, text(call(t, h, "files__read_text_file", string(args))), content, "read")
	res, err := h.Registry().Call(ctxFor(t), "files__read_text_file", json.RawMessage(`{"path":"/etc/passwd"}`))
	if err != nil || !res.IsError {
		t.Errorf("reading outside of the folder: %+v, %v", res, err)
	}
}

func TestMemory(t *testing.T) {
	e := stdio(t, "memory")
	e.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	h := open(t, map[string]entry{"memory": e}, nil)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 9, "tools")
	call(t, h, "memory__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes programs"]}]}`)
	if err := h.Restart(ctxFor(t), "memory"); err != nil {
		t.Fatalf("Restart: %v", err)
	}
	assert.Contains(t, text(call(t, h, "memory__read_graph", `{}`)), "writes programs", "the graph after a restart")
}

func TestServersSideBySide(t *testing.T) {
	memory := stdio(t, "memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	h := open(t, map[string]entry{
		"memory": memory,
		"files":  stdio(t, "filesystem", t.TempDir()),
		"every":  stdio(t, "everything", "stdio"),
		"http":   {Type: "http", URL: listen(t, "streamableHttp").url()},
		"sse":    {Type: "sse", URL: listen(t, "sse").url()},
	}, nil)
	assert.Equal(t, len(h.Registry().Snapshot().Tools()), 9+14+3*13, "tools")
	for _, server := range []string{"every", "http", "sse"} {
		assert.Equal(t, text(call(t, h, server+"__echo", `{"message":"to `+server+`"}`)), "Echo: to "+server, "%s", server)
	}
	assert.OK(t, h.Disable(ctxFor(t), "http"))
	if _, ok := h.Registry().Snapshot().Lookup("http__echo"); ok {
		t.Error("the tools of a disabled server are still listed")
	}
	call(t, h, "sse__echo", `{"message":"still here"}`)
}
