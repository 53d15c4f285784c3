// Tests of edit.go and change.go: one change of a file.

package edit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const editStart = `{
  // ours
  "mcpServers": {
    "files": {"command": "npx"}, // local
  },
}
`

func editFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".mcp.json")
	assert.OK(t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

func readText(t *testing.T, path string) string {
	t.Helper()
	return string(assert.Value(os.ReadFile(path))(t))
}

// addCommand adds a server to a file.
func addCommand(ctx context.Context, path, name string) error {
	_, err := record.Add(ctx, OpenFileStore(path, nil), &config.Server{Name: name, Command: "x"})
	return err
}

// setRecord changes the server a of a file.
func setRecord(t *testing.T, path string, keys []string, values config.Server) {
	t.Helper()
	_, _, err := record.Update(t.Context(), OpenFileStore(path, nil), "a", &record.Patch{Keys: keys, Values: values})
	assert.OK(t, err)
}

// A memoryFile is a file which is changed in memory.
type memoryFile struct{ *draft }

func (f memoryFile) Add(r *config.Server) error {
	return errors.Join(record.Validate(r), f.write("", record.Of(r)))
}

func (f memoryFile) Set(name string, p *record.Patch) error {
	old, err := f.Record(name)
	if err != nil {
		return err
	}
	r, err := p.Apply(old)
	if err != nil {
		return &editError{file: f.path, title: name, err: err}
	}
	return f.write(name, r)
}

func (f memoryFile) Record(name string) (*config.Server, error) {
	said, err := f.content()
	if err != nil {
		return nil, err
	}
	for _, r := range said.records() {
		if r.Title == name && name != "" {
			return r, nil
		}
	}
	return nil, &editError{file: f.path, title: name, err: &record.Error{Code: record.CodeNotFound, Name: name}}
}

func (f memoryFile) write(name string, r *config.Server) error {
	entry, err := r.Entry()
	if err != nil {
		return err
	}
	return f.put(name, r.Title, entry)
}

func TestEditNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", ".mcp.json")
	assert.Is(t, assert.Err(record.Remove(t.Context(), OpenFileStore(path, nil), "one")), &record.Error{Code: record.CodeNotFound})
	_, err := os.Stat(filepath.Dir(path))
	assert.Is(t, err, fs.ErrNotExist)
	assert.OK(t, addCommand(t.Context(), path, "one"))
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	c := assert.Value(config.Load(t.Context(), path, nil))(t)
	assert.Equal(t, len(c.Servers), 1)
	assert.OK(t, c.Servers[0].Err)
}

func TestEditKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links and modes")
	}
	path := editFile(t, editStart)
	link := filepath.Join(t.TempDir(), "link.json")
	assert.OK(t, os.Symlink(path, link))
	assert.OK(t, addCommand(t.Context(), link, "one"))
	info, err := os.Lstat(link)
	assert.OK(t, err, "the link has gone")
	assert.True(t, info.Mode()&fs.ModeSymlink != 0, "the link has gone: info.Mode()&fs.ModeSymlink != 0")
	info = assert.Value(os.Stat(path))(t)
	assert.Equal(t, info.Mode().Perm(), 0o640)
	want := strings.Replace(editStart, "// local\n", "// local\n    \"one\": {\n      \"command\": \"x\"\n    },\n", 1)
	assert.Equal(t, readText(t, path), want)
}

func TestEditTouchesNothing(t *testing.T) {
	for _, c := range []struct {
		name, text string
		patch      *record.Patch // nil: a server is added
		want       string
	}{
		{"no JSON", `{"mcpServers": {`, nil, "not closed"},
		{"another format", `{"other": 1}`, nil, `no "mcpServers"`},
		{"list", `[]`, nil, "must hold an object"},
		{"no change", editStart, &record.Patch{Keys: []string{"command"}, Values: config.Server{Command: "npx"}}, ""},
		{"bad record", editStart, &record.Patch{Keys: []string{"url"}, Values: config.Server{URL: "ftp://x"}}, "https://"},
		{"no name", editStart, &record.Patch{Keys: []string{"name"}}, "name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := editFile(t, c.text)
			old, err := os.Stat(path)
			assert.OK(t, err)
			if c.patch == nil {
				err = addCommand(t.Context(), path, "one")
			} else {
				_, _, err = record.Update(t.Context(), OpenFileStore(path, nil), "files", c.patch)
			}
			assert.True(t, (err == nil) == (c.want == "") && strings.Contains(fmt.Sprint(err), c.want), "got %v, want %q", err, c.want)
			assert.Equal(t, readText(t, path), c.text, "the text")
			assert.True(t, os.SameFile(old, assert.Value(os.Stat(path))(t)), "it is the same file")
			names, err := os.ReadDir(filepath.Dir(path))
			assert.OK(t, err, "something was left")
			assert.Equal(t, len(names), 1, "something was left")
		})
	}
}

// A program that knows nothing of our lock writes between our reading and our writing.
func TestEditAgainAfterOthers(t *testing.T) {
	path := editFile(t, editStart)
	calls := 0
	err := replaceFile(t.Context(), path, nil, func(d *draft) error {
		if calls++; calls == 1 {
			other := strings.Replace(editStart, "// ours", "// theirs", 1)
			if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
				return err
			}
		}
		return memoryFile{d}.Add(&config.Server{Name: "one", Command: "x"})
	}, nil)
	assert.OK(t, err)
	assert.Equal(t, calls, 2)
	got := readText(t, path)
	assert.Contains(t, got, "// theirs")
	assert.Contains(t, got, `"one"`)
}

func TestEditEndsWithItsContext(t *testing.T) {
	path := editFile(t, editStart)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, addCommand(ctx, path, "one"), context.Canceled)
	assert.Equal(t, readText(t, path), editStart)
}

// Many change one file at once: nothing is lost.
func TestEditTogether(t *testing.T) {
	//report: Config files | anthropics/claude-code#1944, anthropics/claude-code#590 | several programs write one file, and the last one wins | each change is made on top of the others
	t.Parallel()
	path := editFile(t, editStart)
	const writers, each = 4, 5
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				errs[w] = errors.Join(errs[w], addCommand(t.Context(), path, fmt.Sprintf("w%d-%d", w, i)))
			}
		})
	}
	wg.Wait()
	assert.OK(t, errors.Join(errs...))
	assert.Equal(t, len(assert.Value(config.Load(t.Context(), path, nil))(t).Servers), 1+writers*each)
	assert.Contains(t, readText(t, path), "// local")
}

// What is wrong with an entry stays when something else in it is changed.
func TestEditOfFaultyEntries(t *testing.T) {
	path := editFile(t, `{"mcpServers": {"a": {"command": "x", "args": "-y", "cwd": 1}, "b": {"command": "y"}}}`)
	setRecord(t, path, []string{"description"}, config.Server{Description: "d"})
	assert.Equal(t, readText(t, path), `{"mcpServers": {"a": {"command": "x", "args": "-y", "cwd": 1, "description": "d"}, "b": {"command": "y"}}}`)
	setRecord(t, path, []string{"args"}, config.Server{Args: []string{"z"}})
	assert.Contains(t, readText(t, path), `"args": ["z"]`)
	assert.OK(t, assert.Err(record.Remove(t.Context(), OpenFileStore(path, nil), "a")))
	assert.Equal(t, readText(t, path), `{"mcpServers": {"b": {"command": "y"}}}`)
}

// The variables of an envFile are not written into the entry.
func TestEditLeavesEnvFile(t *testing.T) {
	path := editFile(t, `{"mcpServers": {"a": {"command": "x", "envFile": "secrets.env"}}}`)
	assert.OK(t, os.WriteFile(filepath.Join(filepath.Dir(path), "secrets.env"), []byte("A=s3cret\n"), 0o600))
	setRecord(t, path, []string{"env"}, config.Server{Env: map[string]config.Secret{"B": "b"}})
	assert.Equal(t, readText(t, path), `{"mcpServers": {"a": {"command": "x", "envFile": "secrets.env", "env": {"B": "b"}}}}`)
}

// What is read back as it was wanted may be of no use all the same.
func TestEditRefusesUselessServers(t *testing.T) {
	d, err := newDraft(".mcp.json", []byte(editStart), nil)
	assert.OK(t, err)
	err = d.put("", "new", []byte(`{"command": "x", "identity": "header"}`))
	assert.Contains(t, fmt.Sprint(err), "could not be used")
	assert.Equal(t, string(d.data), editStart)
}

// TestSkippedKeepTheirNames: no server is added under the name of an entry that is none.
func TestSkippedKeepTheirNames(t *testing.T) {
	const text = `{"context_servers": {"db": {"source": "extension", "settings": {}}, "x": {"command": "x"}}}`
	d := assert.Value(newDraft("settings.json", []byte(text), nil))(t)
	assert.Is(t, memoryFile{d}.Add(&config.Server{Name: "db", Command: "y"}), &record.Error{Code: record.CodeNameTaken})
}
