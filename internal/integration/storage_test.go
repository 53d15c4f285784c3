//go:build integration && unix

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFilesystem(t *testing.T) {
	// The server compares real paths; the temporary folder may be a link.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, map[string]entry{"files": stdio(t, "filesystem", dir)}, nil)
	if n := len(h.Registry().Snapshot().Tools()); n != 14 {
		t.Errorf("%d tools, want 14", n)
	}
	path := filepath.Join(dir, "note.txt")
	const content = "one\ntwo \"three\"\n"
	args, err := json.Marshal(map[string]string{"path": path, "content": content})
	if err != nil {
		t.Fatal(err)
	}
	call(t, h, "files__write_file", string(args))
	if data, err := os.ReadFile(path); err != nil || string(data) != content {
		t.Errorf("the file holds %q, %v", data, err)
	}
	args, err = json.Marshal(map[string]string{"path": path})
	if err != nil {
		t.Fatal(err)
	}
	if s := text(call(t, h, "files__read_text_file", string(args))); s != content {
		t.Errorf("read %q", s)
	}
	res, err := h.Registry().Call(ctxFor(t), "files__read_text_file", json.RawMessage(`{"path":"/etc/passwd"}`))
	if err != nil || !res.IsError {
		t.Errorf("reading outside of the folder: %+v, %v", res, err)
	}
}

func TestMemory(t *testing.T) {
	e := stdio(t, "memory")
	e.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	h := open(t, map[string]entry{"memory": e}, nil)
	if n := len(h.Registry().Snapshot().Tools()); n != 9 {
		t.Errorf("%d tools, want 9", n)
	}
	call(t, h, "memory__create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["writes programs"]}]}`)
	if err := h.Restart(ctxFor(t), "memory"); err != nil {
		t.Fatalf("Restart: %v", err)
	}
	if s := text(call(t, h, "memory__read_graph", `{}`)); !strings.Contains(s, "writes programs") {
		t.Errorf("the graph after a restart: %s", s)
	}
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
	if n := len(h.Registry().Snapshot().Tools()); n != 9+14+3*13 {
		t.Errorf("%d tools, want %d", n, 9+14+3*13)
	}
	for _, server := range []string{"every", "http", "sse"} {
		if s := text(call(t, h, server+"__echo", `{"message":"to `+server+`"}`)); s != "Echo: to "+server {
			t.Errorf("%s: %q", server, s)
		}
	}
	if err := h.Disable(ctxFor(t), "http"); err != nil {
		t.Fatal(err)
	}
	if _, ok := h.Registry().Snapshot().Lookup("http__echo"); ok {
		t.Error("the tools of a disabled server are still listed")
	}
	call(t, h, "sse__echo", `{"message":"still here"}`)
}
