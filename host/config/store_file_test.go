package config_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// place writes a file and returns the store over it.
func place(t *testing.T, name, text string, opts *config.Options) *config.FileStore {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return config.OpenFileStore(path, opts)
}

func content(t *testing.T, s *config.FileStore) string {
	t.Helper()
	data, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// update applies a patch in JSON to a record of a store.
func update(t *testing.T, s config.Store, name, patch string) {
	t.Helper()
	at, err := config.FindRecord(t.Context(), s, name)
	if err != nil {
		t.Fatal(err)
	}
	next, codes := apply(t, at.Record, patch)
	if codes != "" {
		t.Fatalf("%s: %s", patch, codes)
	}
	if _, err := s.Save(t.Context(), name, next, at.Revision); err != nil {
		t.Fatal(err)
	}
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
	if _, err := s.Save(t.Context(), "", &config.Record{Name: "b", URL: "https://h/", Transport: config.TransportHTTP}, ""); err != nil {
		t.Fatal(err)
	}
	c, err := s.Config(t.Context(), nil)
	if err != nil || c.Format != "vscode" || len(c.Servers) != 2 || c.Servers[1].URL != "https://h/" || !strings.Contains(content(t, s), "// end") {
		t.Errorf("%v, %v\n%s", c, err, content(t, s))
	}
}

func TestFileStoreMakesTheFile(t *testing.T) {
	s := config.OpenFileStore(filepath.Join(t.TempDir(), "mcp.json"), nil)
	if c, err := s.Config(t.Context(), nil); err != nil || len(c.Servers) != 0 {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := s.Save(t.Context(), "", &config.Record{Name: "a", Command: "x"}, ""); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Path())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestFileStoreLeavesABrokenFileAlone(t *testing.T) {
	text := `{"mcpServers": {"a": {"command": "x",, "env": {"K": "canary"}}}}`
	s := place(t, "mcp.json", text, nil)
	_, err := s.Save(t.Context(), "", &config.Record{Name: "b", Command: "x", Env: map[string]config.Secret{"K": "canary"}}, "")
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
	if err := os.Chmod(filepath.Dir(s.Path()), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(s.Path()), 0o700) })
	if _, err := s.Save(t.Context(), "", &config.Record{Name: "a", Command: "x"}, ""); err == nil || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("%v", err)
	}
}

func TestReadStoreOfMemory(t *testing.T) {
	m := config.NewMemoryStore(&config.Record{Name: "A b", Command: "x", Args: []string{"${V}"}}, &config.Record{Name: "bad", URL: "${V}"})
	c, err := config.ReadStore(context.Background(), m, &config.Options{Lookup: func(string) (string, bool) { return "v", true }, Scope: config.ScopeUser})
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
	s := place(t, "mcp.json", inputFile, &config.Options{Format: "vscode"})
	a := &answers{byID: map[string]config.Secret{"key": "k", "level": "low"}}
	two, err := config.ReadServer(t.Context(), s, "two", inputOptions(a, nil))
	if err != nil || two.Err != nil || two.Headers["Authorization"] != "Bearer k" || fmt.Sprint(a.asked) != "[key]" {
		t.Errorf("%v, %v, asked %v", two, err, a.asked)
	}
	if _, err := config.ReadServer(t.Context(), s, "none", inputOptions(a, nil)); codes(err) != "not_found" {
		t.Errorf("%v", err)
	}
}
