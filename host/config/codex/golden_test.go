// Tests with the files of testdata: what is read of them, that edits leave the rest alone, and what the page says.

package codex

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// inputs returns the config files in testdata.
func inputs(tb testing.TB) []string {
	tb.Helper()
	files := assert.Value(filepath.Glob(filepath.Join("testdata", "*.toml")))(tb)
	assert.True(tb, len(files) >= 4, "there are files")
	return files
}

// TestGolden compares what is read of each file, with places and masked secrets, with the
// file of the same name that ends in .golden.
func TestGolden(t *testing.T) {
	for _, file := range inputs(t) {
		here := assert.Value(filepath.Abs(filepath.Dir(file)))(t)
		data := assert.Value(os.ReadFile(file))(t)
		c, err := config.Parse(t.Context(), file, data, &config.Options{Lookup: lookup, Formats: []*config.Format{Format()}})
		golden(t, file+".golden", strings.ReplaceAll(configtest.Describe(c, err), here, "HERE"))
	}
}

// golden compares a text with a file, or writes it there with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		assert.OK(t, os.WriteFile(file, []byte(got), 0o600))
	}
	assert.Equal(t, got, string(assert.Value(os.ReadFile(file))(t)), "%s", file)
}

// lookup is the environment of the tests.
func lookup(name string) (string, bool) {
	value, ok := map[string]string{"API_TOKEN": "tok-123", "EMPTY": ""}[name]
	return value, ok
}

// TestEditsLeaveFilesAlone changes every file and changes it back, as it is and in the
// forms that editors give it: in all of them if MCPBELT_FULL is set, else in one.
func TestEditsLeaveFilesAlone(t *testing.T) {
	for i, file := range inputs(t) {
		data := assert.Value(os.ReadFile(file))(t)
		forms := [][]byte{
			bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), append([]byte("\xef\xbb\xbf"), data...), withComments(data),
			bytes.TrimRight(data, "\r\n"), append(bytes.Clone(data), "\n\n"...),
		}
		few := i % len(forms)
		forms = forms[assert.Cases(few, 0):assert.Cases(few+1, len(forms))]
		for form, data := range append(forms, data) {
			opts := &config.Options{Lookup: lookup, Formats: []*config.Format{Format()}, Format: Format().Name}
			for _, fault := range configtest.EditFaults(t, file, data, opts, 0) {
				t.Errorf("%s, form %d: %s", file, form, fault)
			}
		}
	}
}

// withComments puts comments where a section begins.
func withComments(data []byte) []byte {
	var lines []string
	for _, line := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(line, "[") && !strings.Contains(line, "#") {
			line = strings.TrimRight(line, "\r") + " # behind"
		}
		lines = append(lines, line)
	}
	return []byte(strings.Join(lines, "\n"))
}

// TestConfigurationPage holds the tables of docs/configuration.md against what is read and
// written. With -update it writes them.
func TestConfigurationPage(t *testing.T) {
	configtest.CheckPage(t, "../../../docs/configuration.md", "codex", *update, Format())
}
