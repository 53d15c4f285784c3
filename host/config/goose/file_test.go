// Tests of format.go: files as users have them, and as nobody should.

package goose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func TestEditFile(t *testing.T) {
	start := assert.Value(os.ReadFile(filepath.Join("testdata", "config.yaml")))(t)
	path := filepath.Join(t.TempDir(), "config.yaml")
	assert.OK(t, os.WriteFile(path, start, 0o600))
	store := edit.OpenFileStore(path, &config.Options{Formats: []*config.Format{Format()}})
	r := assert.Value(record.Find(t.Context(), store, "github"))(t).Record
	r.Env["MORE"] = "${X}"
	change(t, store, "github", []string{"env", "enabled", "readTimeoutSeconds", "args", "tools"}, config.Server{Env: r.Env, Disabled: true, ReadTimeout: 2 * r.ReadTimeout, Args: []string{"-y", "@modelcontextprotocol/server-github@2"}, Tools: config.ToolFilter{Allow: []string{"search"}}})
	change(t, store, "nested", []string{"name", "command"}, config.Server{Name: "was nested", Command: "uv"})
	assert.Value(record.Remove(t.Context(), store, "ours"))(t)
	assert.Value(record.Add(t.Context(), store, &config.Server{Name: "new", URL: "https://new.example.com", Transport: config.TransportHTTP,
		Headers: map[string]config.Secret{"X-A": "b c"}, Tools: config.ToolFilter{Allow: []string{"one"}}}))(t)
	got := assert.Value(os.ReadFile(path))(t)
	golden(t, filepath.Join("testdata", "edited.want"), string(got))
}

// change changes a server of a store.
func change(t *testing.T, store record.Store, name string, keys []string, values config.Server) {
	t.Helper()
	_, _, err := record.Update(t.Context(), store, name, &record.Patch{Keys: keys, Values: values})
	assert.OK(t, err)
}

func TestImportToGoose(t *testing.T) {
	dir := t.TempDir()
	source, target := filepath.Join(dir, ".mcp.json"), filepath.Join(dir, "config.yaml")
	text := `{"mcpServers": {"files": {"command": "npx", "env": {"TOKEN": "sk-abcdefghijkl9876"}, "lazy": true},
		"web": {"url": "https://example.com/mcp"}}}`
	assert.OK(t, os.WriteFile(source, []byte(text), 0o600))
	plan := assert.Value(edit.PlanImport(source, target, &edit.ImportOptions{To: &config.Options{Formats: []*config.Format{Format()}}}))(t)
	want := "[{files <nil> [lazy: has no place in a file of the format goose] TOKEN='****9876' 'npx'\n# server files}" +
		" {web <nil> [transport: becomes http: the program needs to be told, and knows no auto] connect server web by http to https://example.com/mcp}]"
	assert.Equal(t, fmt.Sprint(plan.Servers), want, "the servers")
	assert.OK(t, plan.Apply(t.Context()))
	got := assert.Value(os.ReadFile(target))(t)
	assert.Equal(t, string(got), `extensions:
  files:
    type: stdio
    cmd: npx
    envs:
      TOKEN: sk-abcdefghijkl9876
    name: files
  web:
    type: streamable_http
    uri: https://example.com/mcp
    name: web
`)
}

// TestEditContinue makes a file and changes it.
func TestEditContinue(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".continue", "config.yaml")
	opts := &config.Options{Formats: []*config.Format{Format(), Continue()}}
	store := edit.OpenFileStore(path, opts)
	assert.Value(record.Add(t.Context(), store, &config.Server{Name: "files", Command: "npx", Args: []string{"-y", "files"}, Env: map[string]config.Secret{"KEY": "${{ secrets.KEY }}"}}))(t)
	assert.Value(record.Add(t.Context(), store, &config.Server{Name: "web", URL: "https://web.example.com/mcp", Transport: config.TransportHTTP,
		Headers: map[string]config.Secret{"X-A": "b"}, ConnectTimeout: 9 * time.Second}))(t)
	change(t, store, "web", []string{"connectTimeoutSeconds", "headers"}, config.Server{ConnectTimeout: 2 * time.Second, Headers: map[string]config.Secret{"X-A": "c", "X-B": "d"}})
	got := assert.Value(os.ReadFile(path))(t)
	want := `mcpServers:
  - name: files
    command: npx
    args:
      - -y
      - files
    env:
      KEY: ${{ secrets.KEY }}
  - name: web
    type: streamable-http
    url: https://web.example.com/mcp
    requestOptions:
      headers:
        X-A: c
        X-B: d
    connectionTimeout: 2000
`
	assert.Equal(t, string(got), want)
}

func parseError(t *testing.T, data string) string {
	_, err := config.Parse(t.Context(), "f.yaml", []byte(data), &config.Options{Formats: []*config.Format{Format()}})
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestBombs: files that would grow are refused, and say why.
func TestBombs(t *testing.T) {
	merges := "m0: &m0 {k: v}\n"
	for i := range 40 {
		merges += fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d]}\n", i+1, i+1, i, i)
	}
	for name, test := range map[string]struct{ in, want string }{
		"size":        {strings.Repeat("# x\n", jsonc.MaxSize/4+1), "the file has 16777220 bytes, more than the limit of 16777216"},
		"merges":      {merges, "too long with its aliases written out: at most 1048576 values and 67108864 bytes are read"},
		"itself":      {"extensions: &a {b: *a}", ""},
		"deep":        {"a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "exceeded max depth of 128"},
		"deep blocks": {strings.Repeat("- ", 300) + "x", "exceeded max depth of 128"},
		"many":        {"a: [" + strings.Repeat("1,", 1100000) + "]", "the file has about 1100001 values, more than the limit of 1048576"},
		"not UTF-8":   {"a: \xff", "f.yaml:1:4: invalid UTF-8: save the file as UTF-8"},
		"alias":       {"a: *hunter2", "f.yaml:1:4: an alias or an anchor that cannot be used: put a text that starts with * or & in quotes"},
		"empty":       {"# nothing\n", "f.yaml:1:1: the file is empty"},
		"documents":   {"a: 1\n---\nb: 2", "f.yaml:1:1: the file has more than one document: remove those after ---"},
		"key":         {"? [hunter2]\n: 1", "f.yaml:1:3: a key must be a text"},
	} {
		if len(test.in) > assert.Cases(1<<20, 1<<30) {
			continue
		}
		got := parseError(t, test.in)
		assert.True(t, got != "", "%s", name)
		assert.True(t, strings.HasSuffix(got, test.want), "%s: %q ends in %q", name, got, test.want)
		assert.Lacks(t, got, "hunter2", "%s", name)
	}
}

// TestPlaces: places count characters in lines that are not ASCII.
func TestPlaces(t *testing.T) {
	const in = "\ufeff# é\r\nextensions: {\"s é\": {cmd: 5}}\r\n"
	s := assert.Value(config.Parse(t.Context(), "f.yaml", []byte(in), &config.Options{Formats: []*config.Format{Format()}}))(t).Servers[0]
	assert.Equal(t, s.Source.Line, 2)
	assert.Contains(t, fmt.Sprint(s.Err), `f.yaml:2:27: extensions."s é".cmd: must be a string`)
}

// TestMark: a byte order mark is no column.
func TestMark(t *testing.T) {
	assert.True(t, strings.HasPrefix(parseError(t, "\ufeffextensions: {a: *x}"), "f.yaml:1:17: "))
	c := assert.Value(config.Parse(t.Context(), "f.yaml", []byte("\ufeffextensions: {a: {cmd: 5}}"), &config.Options{Formats: []*config.Format{Format()}}))(t)
	assert.True(t, strings.HasPrefix(fmt.Sprint(c.Servers[0].Err), "f.yaml:1:23: "))
}

// secretStore has one secret.
type secretStore struct{}

func (secretStore) Secret(_ context.Context, name string) (config.Secret, bool, error) {
	return config.Secret("stored-" + name), name == "STORED", nil
}

func (secretStore) SetSecret(context.Context, string, config.Secret) error {
	return errors.New("not here")
}

// TestEnvKeys: the environment comes first, then the secret store, and "envs" wins.
func TestEnvKeys(t *testing.T) {
	in := "extensions:\n  a: {type: stdio, cmd: x, env_keys: [SET, BOTH, STORED, NOWHERE], envs: {BOTH: entry}}\n"
	c := assert.Value(config.Parse(t.Context(), "f.yaml", []byte(in), &config.Options{Formats: []*config.Format{Format()},
		Secrets: secretStore{},
		Lookup:  func(name string) (string, bool) { return "env-" + name, name == "SET" || name == "BOTH" }}))(t)
	s := c.Servers[0]
	assert.Equal(t, [...]string{s.Env["SET"].Reveal(), s.Env["BOTH"].Reveal()}, [...]string{"env-SET", "entry"})
	assert.Equal(t, [...]any{s.Env["STORED"].Reveal(), len(s.Env)}, [...]any{"stored-STORED", 3})
	assert.Fails(t, s.Err)
	assert.True(t, strings.HasPrefix(s.Err.Error(), "f.yaml:2:58: extensions.a.env_keys[3]: the secret NOWHERE "))
}
