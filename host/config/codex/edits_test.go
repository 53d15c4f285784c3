package codex

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestEditsLeaveFilesAlone changes every file of testdata and changes it back, as it is
// and in the forms that editors give it.
func TestEditsLeaveFilesAlone(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.toml"))
	if err != nil || len(files) < 4 {
		t.Fatal(err, files)
	}
	used := map[string]bool{}
	for _, file := range files {
		data := assert.Value(os.ReadFile(file))(t)
		for form, data := range map[string][]byte{
			"as it is":                    data,
			"with CRLF":                   bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
			"with a byte order mark":      append([]byte("\xef\xbb\xbf"), data...),
			"with comments":               withComments(data),
			"without a last line end":     bytes.TrimRight(data, "\r\n"),
			"with empty lines at the end": append(bytes.Clone(data), "\n\n"...),
		} {
			t.Run(filepath.Base(file)+" "+form, func(t *testing.T) {
				for _, fault := range configtest.EditFaults(t, file, data, &config.Options{Lookup: lookup, Formats: []config.Format{Format()}, Format: Format().Name()}, 0) {
					known := false
					for check := range editExceptions() {
						if strings.HasPrefix(fault, check) {
							known, used[check] = true, true
						}
					}
					if !known {
						t.Errorf("%s", fault)
					}
				}
			})
		}
	}
	for check := range editExceptions() {
		if !used[check] {
			t.Errorf("%s: got the file as it was, want the exception deleted", check)
		}
	}
}

// editExceptions are the checks that are known to fail, with the reason.
func editExceptions() map[string]string {
	return map[string]string{}
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
