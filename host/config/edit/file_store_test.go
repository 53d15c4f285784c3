// Tests of file_store.go and history.go: records in a config file.

package edit_test

import (
	"context"
	"encoding/json"
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
func place(t *testing.T, name, text string, opts *config.Options) record.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	assert.OK(t, os.WriteFile(path, []byte(text), 0o640))
	return edit.OpenFileStore(path, opts)
}

// pathOf returns the path of the file of a store.
func pathOf(s record.Store) string { return s.(interface{ Path() string }).Path() }

func content(t *testing.T, s record.Store) string {
	t.Helper()
	return string(assert.Value(os.ReadFile(pathOf(s)))(t))
}

// update applies a patch in JSON to a record of a store.
func update(t *testing.T, s record.Store, name, patch string) {
	t.Helper()
	at := assert.Value(record.Find(t.Context(), s, name))(t)
	var p record.Patch
	assert.OK(t, json.Unmarshal([]byte(patch), &p), "%s", patch)
	next, err := p.Apply(at.Record)
	assert.OK(t, err, "%s", patch)
	assert.Value(s.Save(t.Context(), name, next, at.Revision))(t)
}

func TestFileStoreKeepsTheRest(t *testing.T) {
	//report: Config files | mcp-router/mcp-router#61, Rhongomiant1227/Windsurf_Ask_Continue#7, software-mansion/argent#441 | a program that adds its server replaces the whole file, or removes what is empty elsewhere | all else in the file stays, comments and empty lists, too
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
	update(t, s, "files", `{"description": "local files", "args": ["-y", "server", "--token", "****abcd"], "env": {"REF": "${REF}", "KEY": "****abcd"}}`)
	after := content(t, s)
	for _, want := range []string{"// who wrote it", "/* not ours */", "// the files", "// by node", `"unknown": {"keep": 1.50}`, `"--token", "` + longSecret, `"REF": "${REF}"`,
		`"description": "local files"`, `"remote": {"url": "https://h/${PATH}"}`} {
		assert.Contains(t, after, want)
	}
	update(t, s, "files", `{"description": null}`)
	got := content(t, s)
	assert.Lacks(t, got, "description")
	assert.True(t, len(got) <= len(before)+2, "nothing is left")
	info, err := os.Stat(pathOf(s))
	assert.True(t, err == nil && (runtime.GOOS == "windows" || info.Mode().Perm() == 0o640), "%v, %v", info, err)
}

func TestFileStoreReadsReferencesAsWritten(t *testing.T) {
	s := place(t, "mcp.json", `{"mcpServers": {"a": {"command": "${CMD}", "args": ["${file:/no/such/file}"], "cwd": "sub", "env": {"K": "${keyring:k}", "L": "${UNSET_HERE}"}},
		"b": {"url": "${BASE}/x"}}}`, nil)
	all := assert.Value(s.Records(t.Context()))(t)
	assert.Equal(t, len(all), 2)
	a, b := all[0].Record, all[1].Record
	assert.Equal(t, a.Command, "${CMD}", "%s %s", encoded(t, a), encoded(t, b))
	assert.Equal(t, a.Args[0], "${file:/no/such/file}", "%s %s", encoded(t, a), encoded(t, b))
	assert.Equal(t, a.Cwd, "sub", "%s %s", encoded(t, a), encoded(t, b))
	assert.Equal(t, a.Env["K"], "${keyring:k}", "%s %s", encoded(t, a), encoded(t, b))
	assert.Equal(t, a.Env["L"], "${UNSET_HERE}", "%s %s", encoded(t, a), encoded(t, b))
	assert.Equal(t, b.URL, "${BASE}/x", "%s %s", encoded(t, a), encoded(t, b))
}

func TestFileStoreOfOtherFormats(t *testing.T) {
	s := place(t, "mcp.json", "{\n\t\"servers\": {\n\t\t\"a\": {\"type\": \"stdio\", \"command\": \"x\"}\n\t}, // end\n\t\"inputs\": []\n}\n", &config.Options{Format: "vscode"})
	update(t, s, "a", `{"args": ["--key", "${input:key}"]}`)
	assert.Value(s.Save(t.Context(), "", &config.Server{Name: "b", URL: "https://h/", Transport: config.TransportHTTP}, ""))(t)
	c := assert.Value(record.Read(t.Context(), s, nil))(t)
	assert.Equal(t, [...]any{c.Format, len(c.Servers), c.Servers[1].URL}, [...]any{"vscode", 2, "https://h/"})
	assert.Contains(t, content(t, s), "// end")
}

func TestFileStoreMakesTheFile(t *testing.T) {
	s := edit.OpenFileStore(filepath.Join(t.TempDir(), "mcp.json"), nil)
	assert.Equal(t, len(assert.Value(record.Read(t.Context(), s, nil))(t).Servers), 0, "servers")
	assert.Value(s.Save(t.Context(), "", &config.Server{Name: "a", Command: "x"}, ""))(t)
	info, err := os.Stat(pathOf(s))
	assert.True(t, err == nil && (runtime.GOOS == "windows" || info.Mode().Perm() == 0o600), "%v, %v", info, err)
}

func TestFileStoreLeavesABrokenFileAlone(t *testing.T) {
	text := `{"mcpServers": {"a": {"command": "x",, "env": {"K": "canary"}}}}`
	s := place(t, "mcp.json", text, nil)
	_, err := s.Save(t.Context(), "", &config.Server{Name: "b", Command: "x", Env: map[string]config.Secret{"K": "canary"}}, "")
	assert.Equal(t, assert.As[*config.Error](t, err).Line, 1)
	assert.Lacks(t, err.Error(), "canary")
	assert.Equal(t, content(t, s), text)
}

func TestFileStoreOfManyProcesses(t *testing.T) {
	t.Parallel()
	s := place(t, "mcp.json", `{"mcpServers": {"count": {"command": "x"}}} // kept`, nil)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(process(t, fmt.Sprintf("store %s|p%d-", pathOf(s), i)))
	}
	wg.Wait()
	all := assert.Value(s.Records(t.Context()))(t)
	assert.Equal(t, len(all), 31)
	assert.Equal(t, len(all[0].Record.Description), 30)
	assert.Contains(t, content(t, s), "// kept")
}

func TestFileStoreOfAReadOnlyFolder(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("everything can be written here")
	}
	s := place(t, "mcp.json", `{"mcpServers": {}}`, nil)
	assert.OK(t, os.Chmod(filepath.Dir(pathOf(s)), 0o500))
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(pathOf(s)), 0o700) })
	assert.Contains(t, fmt.Sprint(assert.Err(s.Save(t.Context(), "", &config.Server{Name: "a", Command: "x"}, ""))), pathOf(s))
}

func TestReadStoreOfMemory(t *testing.T) {
	m := record.NewMemoryStore(&config.Server{Name: "A b", Command: "x", Args: []string{"${V}"}}, &config.Server{Name: "bad", URL: "${V}"})
	c, err := record.Read(context.Background(), m, &config.Options{Lookup: func(string) (string, bool) { return "v", true }, Scope: config.ScopeUser})
	assert.OK(t, err)
	assert.Equal(t, len(c.Servers), 2)
	s := c.Servers[0]
	assert.Equal(t, [...]string{s.Name, s.Title, s.Args[0]}, [...]string{"A_b", "A b", "v"})
	assert.Equal(t, s.Source.Scope, config.ScopeUser)
	assert.Equal(t, s.Source.String(), "store:0")
	var at *config.Error
	err = c.Servers[1].Err
	at = assert.As[*config.Error](t, err)
	assert.Equal(t, [...]any{at.Line, strings.HasPrefix(err.Error(), "store: mcpServers.bad.url")}, [...]any{0, true})
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
	assert.OK(t, err)
	assert.OK(t, two.Err)
	assert.Equal(t, two.Headers["Authorization"], "Bearer k")
	assert.Equal(t, fmt.Sprint(asked), "[key]", "asked")
	assert.Is(t, assert.Err(record.ReadServer(t.Context(), s, "none", opts)), &record.Error{Code: record.CodeNotFound})
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
	return func() { assert.Equal(t, cmd.Wait(), nil, "%s", part) }
}

func encoded(t *testing.T, r *config.Server) []byte {
	t.Helper()
	return assert.Value(record.Encode(r))(t)
}

// What a file store keeps beside its file is there in the next run, and what stands in
// the file without it has an ID, too.
func TestFileStoreKeepsItsPast(t *testing.T) {
	s := place(t, "mcp.json", `{"mcpServers": {"files": {"command": "x", "env": {"KEY": "`+longSecret+`"}}, "web": {"url": "https://h/"}}}`, nil)
	path := filepath.Join(t.TempDir(), "state", "records.json")
	again := func() record.Store { return edit.OpenKeptFileStore(pathOf(s), path, nil) }
	find := func(name string) record.Stored {
		t.Helper()
		at, err := record.Find(t.Context(), again(), name)
		assert.OK(t, err, "%s", name)
		return at
	}
	files, web := find("files").ID, find("web").ID
	assert.True(t, files != "" && files != web, "%q and %q are two IDs", files, web)
	_, _, err := record.Update(t.Context(), again(), files, &record.Patch{Keys: []string{"name"}, Values: config.Server{Name: "documents"}})
	assert.OK(t, err)
	assert.Equal(t, find(files).Record.Name, "documents", "the record of the ID")
	assert.Value(record.Remove(t.Context(), again(), files))(t)
	info := assert.Value(os.Stat(path))(t)
	got := info.Mode().Perm()
	assert.True(t, got == 0o600 || os.PathSeparator != '/', "the mode %o of the file with the deleted records is 600", got)
	if os.PathSeparator == '/' { // what others may have written brings no server back
		assert.OK(t, os.Chmod(path, 0o666))
		assert.Contains(t, fmt.Sprint(assert.Err(record.Restore(t.Context(), again(), files))), "others may use it")
		assert.OK(t, os.Chmod(path, 0o600))
	}
	restored := assert.Value(record.Restore(t.Context(), again(), files))(t)
	assert.Equal(t, [...]string{restored.ID, restored.Record.Env["KEY"].Reveal()}, [...]string{files, longSecret})
	assert.Is(t, assert.Err(record.Restore(t.Context(), again(), files)), &record.Error{Code: record.CodeNotFound})

	// Damaged, it changes nothing about the servers.
	for _, damaged := range []string{"", "{", "{}", `{"version": 2, "known": {}}`} {
		assert.OK(t, os.WriteFile(path, []byte(damaged), 0o600))
		assert.Equal(t, find("web").ID, web, "%s: the ID where the past is damaged", damaged)
		assert.Fails(t, assert.Err(record.Remove(t.Context(), again(), "web")), "%s", damaged)
	}
}

// That a record was proposed is in the file, whatever its format, or the record is not kept.
func TestProposedIsWritten(t *testing.T) {
	for name, text := range map[string]string{
		"mcp.json":      `{"mcpServers":{}}`,
		"servers.json":  `{"servers":{}}`,
		"settings.json": `{"context_servers":{}}`,
		"opencode.json": `{"mcp":{}}`,
	} {
		path := filepath.Join(t.TempDir(), name)
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
		opts := &config.Options{Scope: config.ScopeUser}
		store := edit.OpenFileStore(path, opts)
		if _, err := record.Add(t.Context(), store, &config.Server{Name: "new", Command: "x", Proposed: true}); err != nil {
			t.Logf("%s: %v", name, err)
			all, readErr := store.Records(t.Context())
			assert.OK(t, readErr, "%s", name)
			assert.Equal(t, len(all), 0, "%s", name)
			continue
		}
		assert.Equal(t, assert.Value(record.ReadServer(t.Context(), store, "new", opts))(t).Source.Scope, config.ScopeProposed, "%s: the scope", name)
	}
}
