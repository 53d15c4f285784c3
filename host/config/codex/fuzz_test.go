package codex

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.toml"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, file := range files {
		data := assert.Value(os.ReadFile(file))(f)
		f.Add(data)
	}
	for _, text := range odd() {
		f.Add([]byte(text))
	}
	file := filepath.Join(f.TempDir(), "f.toml")
	opts := &config.Options{
		Lookup:  func(name string) (string, bool) { return name + "\n", len(name)%2 == 0 },
		Formats: []config.Format{Format()},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse(t.Context(), file, data, opts)
		configtest.CheckParsed(t, c, err)
	})
}
