package edit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const longSecret = "sk-0123456789abcd"

// place writes a file and returns the store over it.
func place(t *testing.T, name, text string, opts *config.Options) *edit.FileStore {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.OK(t, os.WriteFile(path, []byte(text), 0o640))
	return edit.OpenFileStore(path, opts)
}

func content(t *testing.T, s *edit.FileStore) string {
	t.Helper()
	data := assert.Value(os.ReadFile(s.Path()))(t)
	return string(data)
}

// update applies a patch in JSON to a record of a store.
func update(t *testing.T, s record.Store, name, patch string) {
	t.Helper()
	at := assert.Value(record.Find(t.Context(), s, name))(t)
	var p record.Patch
	if err := json.Unmarshal([]byte(patch), &p); err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	next, err := at.Record.Apply(&p)
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	assert.Value(s.Save(t.Context(), name, next, at.Revision))(t)
}

func TestFileStoreKeepsTheRest(t *testing.T) {
	s := place(t, "mcp.json", `// who wrote it
{
  "other": [1, 2,], /* not ours */
  "mcpServers": {
    // the files
    "files": {
      "command": "npx", // by node
      "args": ["-y", "server", "--token", "`+longSecret+`"],
      "env": {"REF": "${REF}", "KEY": "`+longSecret+`"},
      "unknown": {"keep": 1.50},
    },
    "remote": {"url": "https://h/${PATH}"},
  },
}
`, nil)
	before := content(t, s)
	update(t, s, "files", `{"description": "local files", "args": ["-y", "server", "--token", "sk-****abcd"], "env": {"REF": "${REF}", "KEY": "sk-****abcd"}}`)
	after := content(t, s)
	for _, want := range []string{"// who wrote it", "/* not ours */", "// the files", "// by node", `"unknown": {"keep": 1.50}`, `"--token", "` + longSecret, `"REF": "${REF}"`,
		`"description": "local files"`, `"remote": {"url": "https://h/${PATH}"}`} {
		if !strings.Contains(after, want) {
			t.Errorf("%s\n\thas no %s", after, want)
		}
	}
	update(t, s, "files", `{"description": null}`)
	if got := content(t, s); strings.Contains(got, "description") || len(got) > len(before)+2 {
		t.Errorf("what was taken back left %s", got)
	}
	info, err := os.Stat(s.Path())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestFileStoreReadsReferencesAsWritten(t *testing.T) {
	s := place(t, "mcp.json", `{"mcpServers": {"a": {"command": "${CMD}", "args": ["${file:/no/such/file}"], "cwd": "sub", "env": {"K": "${keyring:k}", "L": "${UNSET_HERE}"}},
		"b": {"url": "${BASE}/x"}}}`, nil)
	all, err := s.Records(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	a, b := all[0].Record, all[1].Record
	if a.Command != "${CMD}" || a.Args[0] != "${file:/no/such/file}" || a.Cwd != "sub" || a.Env["K"] != "${keyring:k}" || a.Env["L"] != "${UNSET_HERE}" || b.URL != "${BASE}/x" {
		t.Errorf("%s %s", encoded(t, a), encoded(t, b))
	}
}

func TestFileStoreOfOtherFormats(t *testing.T) {
	s := place(t, "mcp.json", "{\n\t\"servers\": {\n\t\t\"a\": {\"type\": \"stdio\", \"command\": \"x\"}\n\t}, // end\n\t\"inputs\": []\n}\n", &config.Options{Format: "vscode"})
	update(t, s, "a", `{"args": ["--key", "${input:key}"]}`)
	assert.Value(s.Save(t.Context(), "", &record.Record{Name: "b", URL: "https://h/", Transport: config.TransportHTTP}, ""))(t)
	c, err := s.Config(t.Context(), nil)
	if err != nil || c.Format != "vscode" || len(c.Servers) != 2 || c.Servers[1].URL != "https://h/" || !strings.Contains(content(t, s), "// end") {
		t.Errorf("%v, %v\n%s", c, err, content(t, s))
	}
}

func TestFileStoreMakesTheFile(t *testing.T) {
	s := edit.OpenFileStore(filepath.Join(t.TempDir(), "mcp.json"), nil)
	if c, err := s.Config(t.Context(), nil); err != nil || len(c.Servers) != 0 {
		t.Errorf("%v, %v", c, err)
	}
	assert.Value(s.Save(t.Context(), "", &record.Record{Name: "a", Command: "x"}, ""))(t)
	info, err := os.Stat(s.Path())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestFileStoreLeavesABrokenFileAlone(t *testing.T) {
	text := `{"mcpServers": {"a": {"command": "x",, "env": {"K": "canary"}}}}`
	s := place(t, "mcp.json", text, nil)
	_, err := s.Save(t.Context(), "", &record.Record{Name: "b", Command: "x", Env: map[string]config.Secret{"K": "canary"}}, "")
	var at *config.Error
	if !errors.As(err, &at) || at.Line != 1 || strings.Contains(err.Error(), "canary") || content(t, s) != text {
		t.Errorf("%v\n%s", err, content(t, s))
	}
}

func TestFileStoreOfManyProcesses(t *testing.T) {
	s := place(t, "mcp.json", `{"mcpServers": {"count": {"command": "x"}}} // kept`, nil)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(process(t, fmt.Sprintf("store %s|p%d-", s.Path(), i)))
	}
	wg.Wait()
	all, err := s.Records(t.Context())
	if err != nil || len(all) != 31 || len(all[0].Record.Description) != 30 || !strings.Contains(content(t, s), "// kept") {
		t.Errorf("%d records, %v, %v", len(all), all[0].Record, err)
	}
}

func TestFileStoreOfAReadOnlyFolder(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("everything can be written here")
	}
	s := place(t, "mcp.json", `{"mcpServers": {}}`, nil)
	assert.OK(t, os.Chmod(filepath.Dir(s.Path()), 0o500))
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(s.Path()), 0o700) })
	if _, err := s.Save(t.Context(), "", &record.Record{Name: "a", Command: "x"}, ""); err == nil || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("%v", err)
	}
}

func TestReadStoreOfMemory(t *testing.T) {
	m := record.NewMemoryStore(&record.Record{Name: "A b", Command: "x", Args: []string{"${V}"}}, &record.Record{Name: "bad", URL: "${V}"})
	c, err := record.Read(context.Background(), m, &config.Options{Lookup: func(string) (string, bool) { return "v", true }, Scope: config.ScopeUser})
	if err != nil || len(c.Servers) != 2 {
		t.Fatalf("%v, %v", c, err)
	}
	if s := c.Servers[0]; s.Name != "A_b" || s.Title != "A b" || s.Args[0] != "v" || s.Source.Scope != config.ScopeUser || s.Source.String() != "store:0" {
		t.Errorf("%v", s)
	}
	var at *config.Error
	if err := c.Servers[1].Err; !errors.As(err, &at) || at.Line != 0 || !strings.HasPrefix(err.Error(), "store: mcpServers.bad.url") {
		t.Errorf("%v", err)
	}
}

func TestReadServerAsksForOne(t *testing.T) {
	s := place(t, "mcp.json", `{
		"inputs": [{"id": "key", "type": "promptString", "password": true}, {"id": "level", "type": "promptString"}],
		"servers": {
			"one": {"command": "x", "args": ["${input:level}"]},
			"two": {"type": "http", "url": "https://h/", "headers": {"Authorization": "Bearer ${input:key}"}}
		}
	}`, &config.Options{Format: "vscode"})
	var asked []string
	opts := &config.Options{Format: "vscode", Input: func(_ context.Context, in config.Input) (config.Secret, error) {
		asked = append(asked, in.ID)
		return "k", nil
	}}
	two, err := record.ReadServer(t.Context(), s, "two", opts)
	if err != nil || two.Err != nil {
		t.Fatalf("got %v and %v, want a server", two, err)
	}
	if got := two.Headers["Authorization"]; got != "Bearer k" {
		t.Errorf("got the header %q, want the answer in it", got.Reveal())
	}
	assert.Equal(t, fmt.Sprint(asked), "[key]", "asked")
	if _, err := record.ReadServer(t.Context(), s, "none", opts); !errors.Is(err, &record.Error{Code: record.CodeNotFound}) {
		t.Errorf("got %v, want %s", err, record.CodeNotFound)
	}
}

// roleVar makes the test program play a part in a process of its own, see play.
const roleVar = "EDIT_TEST_ROLE"

// process starts the test program with a part to play, and returns what waits for it.
func process(t *testing.T, part string) (wait func()) {
	t.Helper()
	program := assert.Value(os.Executable())(t)
	cmd := exec.Command(program)
	// The race detector waits for a second when a program ends.
	cmd.Env = append(os.Environ(), roleVar+"="+part, "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	assert.OK(t, cmd.Start())
	return func() {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v: %s", part, err, out)
		}
	}
}

func encoded(t *testing.T, r *record.Record) []byte {
	t.Helper()
	data := assert.Value(r.Encode())(t)
	return data
}
