package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// What a file store keeps beside its file is there in the next run, and what stands in
// the file without it has an ID, too.
func TestFileStoreKeepsItsPast(t *testing.T) {
	s := place(t, "mcp.json", `{"mcpServers": {"files": {"command": "x", "env": {"KEY": "`+longSecret+`"}}, "web": {"url": "https://h/"}}}`, nil)
	path := filepath.Join(t.TempDir(), "state", "records.json")
	again := func() *config.FileStore {
		s := config.OpenFileStore(s.Path(), nil)
		s.Keep(path)
		return s
	}
	find := func(name string) config.Stored {
		t.Helper()
		at, err := config.FindRecord(t.Context(), again(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return at
	}
	files, web := find("files").ID, find("web").ID
	if files == "" || files == web {
		t.Fatalf("got the IDs %q and %q, want two", files, web)
	}
	if _, _, err := config.UpdateRecord(t.Context(), again(), files, &config.Patch{Name: config.Optional[string]{Set: true, Value: "documents"}}); err != nil {
		t.Fatal(err)
	}
	if got := find(files).Record.Name; got != "documents" {
		t.Errorf("got the record %q of the ID, want documents", got)
	}
	if _, err := config.RemoveRecord(t.Context(), again(), files); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 && os.PathSeparator == '/' {
		t.Errorf("got the mode %o of the file with the deleted records, want 600", got)
	}
	restored, err := config.RestoreRecord(t.Context(), again(), files)
	if err != nil {
		t.Fatal(err)
	}
	if restored.ID != files || restored.Record.Env["KEY"].Reveal() != longSecret {
		t.Errorf("got %+v of the ID %q, want what was removed", restored.Record, restored.ID)
	}
	if _, err := config.RestoreRecord(t.Context(), again(), files); codes(err) != string(config.CodeNotFound) {
		t.Errorf("got the error %v of a second undo, want %s", err, config.CodeNotFound)
	}

	// Damaged, it changes nothing about the servers.
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find("web").ID; got != web {
		t.Errorf("got the ID %q where the past is damaged, want %q", got, web)
	}
	if _, err := config.RemoveRecord(t.Context(), again(), "web"); err == nil {
		t.Error("got no error of a removal that cannot be taken back, want one")
	}
}
