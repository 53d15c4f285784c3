package catalog_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/internal/catalog"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A list stays in its file; one that was not used for three months goes, and use renews it.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	c := catalog.Open(dir, nil)
	defer c.Close()
	expectTool(t, c, entry("a"), "")
	c.Save(entry("a"), list("good"))
	kept := assert.Value(filepath.Glob(filepath.Join(dir, "catalogs", "*")))(t)
	assert.Equal(t, len(kept), 1, "files")
	old := time.Now().Add(-91 * 24 * time.Hour)
	assert.OK(t, os.Chtimes(kept[0], old, old))
	expectTool(t, c, entry("a"), "good")
	expectTool(t, c, entry("b"), "")
	unused := filepath.Join(dir, "catalogs", "unused.json")
	assert.OK(t, os.WriteFile(unused, nil, 0o600))
	assert.OK(t, os.Chtimes(unused, old, old))
	c = catalog.Open(dir, nil)
	c.Save(entry("a"), list("new"))
	assert.Is(t, assert.Err(os.Stat(unused)), os.ErrNotExist)
	expectTool(t, c, entry("a"), "new")
	assert.OK(t, os.WriteFile(kept[0], []byte("torn"), 0o600))
	expectTool(t, c, entry("a"), "")
	none := catalog.Open("", nil)
	none.Save(entry("a"), list("good"))
	expectTool(t, none, entry("a"), "")
}
