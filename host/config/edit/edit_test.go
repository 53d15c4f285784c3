package edit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	data := assert.Value(os.ReadFile(path))(t)
	return string(data)
}

func addCommand(name string) func(*File) error {
	return func(f *File) error { return f.Add(&record.Record{Name: name, Command: "x"}) }
}

func TestEditNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", ".mcp.json")
	assert.OK(t, Change(t.Context(), path, nil, func(*File) error { return nil }))
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("a file that says nothing was made: ", err)
	}
	assert.OK(t, Change(t.Context(), path, nil, addCommand("one")))
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if c, err := config.Load(t.Context(), path, nil); err != nil || len(c.Servers) != 1 || c.Servers[0].Err != nil {
		t.Fatalf("%v, %v", c, err)
	}
}

func TestEditKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links and modes")
	}
	path := editFile(t, editStart)
	link := filepath.Join(t.TempDir(), "link.json")
	assert.OK(t, os.Symlink(path, link))
	assert.OK(t, Change(t.Context(), link, nil, addCommand("one")))
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link has gone: %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	want := strings.Replace(editStart, "// local\n", "// local\n    \"one\": {\"command\": \"x\"},\n", 1)
	assert.Equal(t, readText(t, path), want)
}

func TestEditTouchesNothing(t *testing.T) {
	stop := errors.New("stop")
	for _, c := range []struct {
		name, text string
		change     func(*File) error
		want       string
	}{
		{"no JSON", `{"mcpServers": {`, addCommand("one"), "not closed"},
		{"empty", ``, addCommand("one"), "empty"},
		{"another format", `{"other": 1}`, addCommand("one"), `no "mcpServers"`},
		{"list", `[]`, addCommand("one"), "must hold an object"},
		{"the caller's error", editStart, func(f *File) error {
			if err := f.Remove("files"); err != nil {
				return err
			}
			return stop
		}, "stop"},
		{"no change", editStart, func(f *File) error { return f.Set("files", &record.Patch{Command: record.Some("npx")}) }, ""},
		{"there and back", editStart, func(f *File) error { return errors.Join(addCommand("one")(f), f.Remove("one")) }, ""},
		{"bad record", editStart, func(f *File) error { return f.Add(&record.Record{Name: "x", URL: "ftp://x"}) }, "https://"},
		{"no name", editStart, func(f *File) error { return f.Add(&record.Record{Command: "x"}) }, "name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := editFile(t, c.text)
			old, err := os.Stat(path)
			assert.OK(t, err)
			err = Change(t.Context(), path, nil, c.change)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			assert.Equal(t, readText(t, path), c.text, "the text")
			if now, err := os.Stat(path); err != nil || !os.SameFile(old, now) {
				t.Error("the file was replaced: ", err)
			}
			names, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(names) != 1 {
				t.Errorf("something was left: %v, %v", names, err)
			}
		})
	}
}

// A program that knows nothing of our lock writes between our reading and our writing.
func TestEditAgainAfterOthers(t *testing.T) {
	path := editFile(t, editStart)
	calls := 0
	err := Change(t.Context(), path, nil, func(f *File) error {
		if calls++; calls == 1 {
			other := strings.Replace(editStart, "// ours", "// theirs", 1)
			if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
				return err
			}
		}
		return addCommand("one")(f)
	})
	if err != nil || calls != 2 {
		t.Fatal(calls, err)
	}
	if got := readText(t, path); !strings.Contains(got, "// theirs") || !strings.Contains(got, `"one"`) {
		t.Error(got)
	}
}

func TestEditEndsWithItsContext(t *testing.T) {
	path := editFile(t, editStart)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Change(ctx, path, nil, addCommand("one")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := readText(t, path); got != editStart {
		t.Error(got)
	}
}

// Many change one file at once: nothing is lost.
func TestEditTogether(t *testing.T) {
	path := editFile(t, editStart)
	const writers, each = 4, 5
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				errs[w] = errors.Join(errs[w], Change(t.Context(), path, nil, addCommand(fmt.Sprintf("w%d-%d", w, i))))
			}
		})
	}
	wg.Wait()
	assert.OK(t, errors.Join(errs...))
	c, err := config.Load(t.Context(), path, nil)
	if err != nil || len(c.Servers) != 1+writers*each {
		t.Fatalf("%v, %v", c, err)
	}
	if !strings.Contains(readText(t, path), "// local") {
		t.Error("the comment has gone")
	}
}

// What is wrong with an entry stays when something else in it is changed.
func TestEditOfFaultyEntries(t *testing.T) {
	path := editFile(t, `{"mcpServers": {"a": {"command": "x", "args": "-y", "cwd": 1}, "b": {"command": "y"}}}`)
	err := Change(t.Context(), path, nil, func(f *File) error { return f.Set("a", &record.Patch{Description: record.Some("d")}) })
	assert.OK(t, err)
	if got := readText(t, path); got != `{"mcpServers": {"a": {"command": "x", "args": "-y", "cwd": 1, "description": "d"}, "b": {"command": "y"}}}` {
		t.Error(got)
	}
	err = Change(t.Context(), path, nil, func(f *File) error { return f.Set("a", &record.Patch{Args: record.Some([]string{"z"})}) })
	if err != nil || !strings.Contains(readText(t, path), `"args": ["z"]`) {
		t.Error(readText(t, path), err)
	}
	err = Change(t.Context(), path, nil, func(f *File) error { return f.Remove("a") })
	if got := readText(t, path); err != nil || got != `{"mcpServers": {"b": {"command": "y"}}}` {
		t.Error(got, err)
	}
}

// The variables of an envFile are not written into the entry.
func TestEditLeavesEnvFile(t *testing.T) {
	path := editFile(t, `{"mcpServers": {"a": {"command": "x", "envFile": "secrets.env"}}}`)
	assert.OK(t, os.WriteFile(filepath.Join(filepath.Dir(path), "secrets.env"), []byte("A=s3cret\n"), 0o600))
	err := Change(t.Context(), path, nil, func(f *File) error {
		return f.Set("a", &record.Patch{Env: record.Some(map[string]config.Secret{"B": "b"})})
	})
	if got := readText(t, path); err != nil || got != `{"mcpServers": {"a": {"command": "x", "envFile": "secrets.env", "env": {"B": "b"}}}}` {
		t.Error(got, err)
	}
}

func TestFileRecords(t *testing.T) {
	d := assert.Value(newDraft(".mcp.json", []byte(editStart), nil))(t)
	f := &File{d}
	assert.OK(t, f.Add(&record.Record{Name: "web", URL: "https://example.com/${X}", Headers: map[string]config.Secret{"A": "${T}"}}))
	records, err := f.Records()
	if err != nil || len(records) != 2 || records[1].Headers["A"] != "${T}" || records[1].URL != "https://example.com/${X}" {
		t.Error(records, err)
	}
	if got := f.Format(); got != "mcpServers" {
		t.Error(got)
	}
	if _, err := f.Record("gone"); !errors.Is(err, &record.Error{Code: record.CodeNotFound}) {
		t.Error(err)
	}
	if !slices.Equal(f.Bytes(), d.data) {
		t.Error("other bytes")
	}
}

// What is read back as it was wanted may be of no use all the same.
func TestEditRefusesUselessServers(t *testing.T) {
	d, err := newDraft(".mcp.json", []byte(editStart), nil)
	assert.OK(t, err)
	err = d.put("", "new", []byte(`{"command": "x", "identity": "header"}`))
	if err == nil || !strings.Contains(err.Error(), "could not be used") || string(d.data) != editStart {
		t.Errorf("%v\n%s", err, d.data)
	}
}
