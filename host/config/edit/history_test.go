package edit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What a file store keeps beside its file is there in the next run, and what stands in
// the file without it has an ID, too.
func TestFileStoreKeepsItsPast(t *testing.T) {
	s := place(t, "mcp.json", `{"mcpServers": {"files": {"command": "x", "env": {"KEY": "`+longSecret+`"}}, "web": {"url": "https://h/"}}}`, nil)
	path := filepath.Join(t.TempDir(), "state", "records.json")
	again := func() *edit.FileStore {
		s := edit.OpenFileStore(s.Path(), nil)
		s.Keep(path)
		return s
	}
	find := func(name string) record.Stored {
		t.Helper()
		at, err := record.Find(t.Context(), again(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return at
	}
	files, web := find("files").ID, find("web").ID
	if files == "" || files == web {
		t.Fatalf("got the IDs %q and %q, want two", files, web)
	}
	if _, _, err := record.Update(t.Context(), again(), files, &record.Patch{Name: record.Optional[string]{Set: true, Value: "documents"}}); err != nil {
		t.Fatal(err)
	}
	assert.Equal(t, find(files).Record.Name, "documents", "the record of the ID")
	assert.Value(record.Remove(t.Context(), again(), files))(t)
	info := assert.Value(os.Stat(path))(t)
	if got := info.Mode().Perm(); got != 0o600 && os.PathSeparator == '/' {
		t.Errorf("got the mode %o of the file with the deleted records, want 600", got)
	}
	restored := assert.Value(record.Restore(t.Context(), again(), files))(t)
	if restored.ID != files || restored.Record.Env["KEY"].Reveal() != longSecret {
		t.Errorf("got %+v of the ID %q, want what was removed", restored.Record, restored.ID)
	}
	if _, err := record.Restore(t.Context(), again(), files); !errors.Is(err, &record.Error{Code: record.CodeNotFound}) {
		t.Errorf("got the error %v of a second undo, want %s", err, record.CodeNotFound)
	}

	// Damaged, it changes nothing about the servers.
	for _, damaged := range []string{"", "{", "{}", `{"version": 2, "known": {}}`} {
		assert.OK(t, os.WriteFile(path, []byte(damaged), 0o600))
		assert.Equal(t, find("web").ID, web, "%s: the ID where the past is damaged", damaged)
		if _, err := record.Remove(t.Context(), again(), "web"); err == nil {
			t.Errorf("%s: got no error of a removal that cannot be taken back, want one", damaged)
		}
	}
}
