package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// linked returns the path of a ledger in a project that is a link to a target, beside
// another folder called other.
func linked(t *testing.T, target string) (path, other string) {
	t.Helper()
	top := t.TempDir()
	project, other := filepath.Join(top, "project"), filepath.Join(top, "other")
	for _, dir := range []string{project, filepath.Join(project, "sub"), other} {
		assert.OK(t, os.Mkdir(dir, 0o755))
	}
	path = filepath.Join(project, "mcp.lock.json")
	for link, to := range map[string]string{path: target, filepath.Join(project, "chain"): filepath.Join("..", "other", "file"), filepath.Join(project, "door"): other} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	return path, other
}

// TestLedgerLinkLeadsToNoFileElsewhere: what a link says makes no file out of its folder.
func TestLedgerLinkLeadsToNoFileElsewhere(t *testing.T) {
	for _, target := range []string{"../other/file", "chain", "door/file", "sub/../../other/file", "../other/missing/file", filepath.Join(t.TempDir(), "file")} {
		path, other := linked(t, target)
		_, err := Open(path, nil)
		failed := assert.As[*Error](t, err, "%s", target)
		assert.Equal(t, failed.File, path, "%s: file", target)
		// A link that takes the place of the file of a ledger that is open is not followed either.
		assert.OK(t, os.Rename(path, path+".link"))
		l := openLedger(t, path, Pin)
		assert.OK(t, os.Rename(path+".link", path))
		if err := l.Record(t.Context(), Server{Name: "github"}, surfacesIn(surfaceTool("a"))); !errors.As(err, &failed) {
			t.Errorf("%s, later: got the error %v, want a *LedgerError", target, err)
		}
		if files, err := os.ReadDir(other); len(files) != 0 || err != nil {
			t.Errorf("%s: got the files %v, %v, want none", target, files, err)
		}
		if filepath.IsAbs(target) {
			assert.Is(t, errorOf(os.Lstat(target)), fs.ErrNotExist, "%s", target)
		}
	}
}

// TestLedgerLinkIsFollowed: to a new file in its folder, and to a ledger anywhere.
func TestLedgerLinkIsFollowed(t *testing.T) {
	server := &Server{Name: "github"}
	path, _ := linked(t, "sub/file")
	mustRecord(t, openLedger(t, path, Pin), server, surfaceTool("a"))
	assert.Value(os.Lstat(filepath.Join(filepath.Dir(path), "sub", "file")))(t)
	path, other := linked(t, "../other/file")
	mustRecord(t, openLedger(t, filepath.Join(other, "file"), Pin), server, surfaceTool("a"))
	assert.Equal(t, len(openLedger(t, path, Pin).Entries()), 1, "entries of the ledger that is there")
}
