package goose

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
	files, err := filepath.Glob(filepath.Join("testdata", "*.y*ml"))
	if err != nil || len(files) < 4 {
		t.Fatal(err, files)
	}
	more, err := filepath.Glob(filepath.Join("testdata", "continue", "*.yaml"))
	if err != nil || len(more) < 2 {
		t.Fatal(err, more)
	}
	files = append(files, more...)
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
			t.Run(filepath.ToSlash(file)+" "+form, func(t *testing.T) {
				format := Format()
				if filepath.Base(filepath.Dir(file)) == "continue" {
					format = Continue()
				}
				for _, fault := range configtest.EditFaults(t, file, data, &config.Options{Lookup: lookup, Formats: []config.Format{format}, Format: format.Name()}, 0) {
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
	return map[string]string{
		"env: remote é: ": "its headers have an alias elsewhere",
		"env: old: ":      "its headers come from an alias",
		"env: docs: ":     "the section requestOptions stays, empty",
	}
}

// withComments puts comments where a section begins.
func withComments(data []byte) []byte {
	var lines []string
	for _, line := range strings.Split(string(data), "\n") {
		body := strings.TrimSpace(line)
		if strings.HasSuffix(body, ":") && !strings.Contains(body, "#") {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			lines = append(lines, indent+"# above")
			line = strings.TrimRight(line, "\r") + " # behind"
		}
		lines = append(lines, line)
	}
	return []byte(strings.Join(lines, "\n"))
}
