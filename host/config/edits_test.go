package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/configtest"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// TestEditsLeaveFilesAlone changes every file of testdata and changes it back, as it is
// and in the forms that editors give it.
func TestEditsLeaveFilesAlone(t *testing.T) {
	used := map[int]bool{}
	for _, file := range goldenInputs(t) {
		data := assert.Value(os.ReadFile(filepath.Join("testdata", filepath.FromSlash(file))))(t)
		format, _, _ := strings.Cut(file, "/")
		if !slices.ContainsFunc(config.Formats(), func(f config.Format) bool { return f.Name() == format }) {
			format = ""
		}
		for form, v := range variants(t, data) {
			t.Run(file+" "+v.name, func(t *testing.T) {
				opts := &config.Options{Format: format, Lookup: goldenLookup}
				for _, fault := range configtest.EditFaults(t, file, v.data, opts, form) {
					if !excepted(file, fault, used) {
						t.Errorf("%s", fault)
					}
				}
			})
		}
	}
	for i, e := range editExceptions() {
		if !used[i] {
			t.Errorf("%s %s: got the file as it was, want the exception deleted", e.file, e.check)
		}
	}
}

// An editException is a check that is known to fail, with the reason.
type editException struct{ file, check, reason string }

// editExceptions are all of them. An empty file is any.
func editExceptions() []editException {
	return []editException{
		{"mcpbelt.jsonc", "env: off: ", "a null goes with the last variable"},
		{"mcpServers/.gemini/settings.json", "off: second: ", "a trailing comma goes with the last element of a list"},
	}
}

// excepted reports whether a fault is known, and notes in used by which exception.
func excepted(file, fault string, used map[int]bool) bool {
	for i, e := range editExceptions() {
		if (e.file == "" || e.file == file) && strings.HasPrefix(fault, e.check) {
			used[i] = true
			return true
		}
	}
	return false
}

// goldenInputs returns the config files below testdata, with /.
func goldenInputs(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		found := assert.Value(filepath.Glob(filepath.Join("testdata", filepath.FromSlash(pattern))))(t)
		for _, file := range found {
			name := assert.Value(filepath.Rel("testdata", file))(t)
			name = filepath.ToSlash(name)
			info, err := os.Stat(file)
			switch ext := filepath.Ext(name); {
			case err != nil || info.IsDir():
			case ext == ".json" || ext == ".jsonc" || ext == ".code-workspace" || ext == ".mcprc":
				files = append(files, name)
			}
		}
	}
	if len(files) < 20 {
		t.Fatalf("got %d files, want all of testdata", len(files))
	}
	return files
}

// A variant is a file in another form that says the same.
type variant struct {
	name string
	data []byte
}

// variants returns a file as it is and in other forms.
func variants(t *testing.T, data []byte) []variant {
	t.Helper()
	doc, err := jsonc.Parse(data)
	if err != nil { // which only VS Code reads, and nobody changes
		return nil
	}
	list := []variant{
		{"as it is", data},
		{"with CRLF", bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))},
		{"with a byte order mark", append([]byte("\xef\xbb\xbf"), data...)},
		{"with tabs", withTabs(data)},
		{"with comments", withComments(data)},
		{"with trailing commas", withCommas(doc, data)},
		{"without a last line end", bytes.TrimRight(data, "\r\n")},
	}
	want := doc.JSON(&doc.Root)
	for _, v := range list {
		doc, err := jsonc.Parse(v.data)
		if err != nil || !bytes.Equal(doc.JSON(&doc.Root), want) {
			t.Fatalf("%s: got another file, %v, want one that says the same", v.name, err)
		}
	}
	return list
}

// withTabs indents lines by tabs.
func withTabs(data []byte) []byte {
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		body := strings.TrimLeft(line, " ")
		lines[i] = strings.Repeat("\t", (len(line)-len(body)+1)/2) + body
	}
	return []byte(strings.Join(lines, "\n"))
}

// withComments puts comments above and behind members.
func withComments(data []byte) []byte {
	var lines []string
	for _, line := range strings.Split(string(data), "\n") {
		body := strings.TrimSpace(line)
		plain := body != "" && !strings.Contains(body, "//") && !strings.Contains(body, "*")
		if plain && strings.HasPrefix(body, `"`) {
			lines = append(lines, line[:len(line)-len(strings.TrimLeft(line, " \t"))]+"// above")
		}
		if plain && strings.ContainsAny(body[len(body)-1:], "{[,") {
			line = strings.TrimRight(line, "\r") + " // behind"
		}
		lines = append(lines, line)
	}
	return []byte(strings.Join(lines, "\n"))
}

// withCommas puts a comma behind the last member of each object and list.
func withCommas(doc *jsonc.Document, data []byte) []byte {
	var ends []int
	var visit func(n *jsonc.Node)
	visit = func(n *jsonc.Node) {
		last := 0
		for i := range n.Members {
			visit(&n.Members[i].Value)
			last = n.Members[i].Value.End
		}
		for i := range n.Elems {
			visit(&n.Elems[i])
			last = n.Elems[i].End
		}
		if last > 0 && !bytes.Contains(data[last:n.End], []byte(",")) {
			ends = append(ends, last)
		}
	}
	visit(&doc.Root)
	slices.Sort(ends)
	for _, end := range slices.Backward(ends) {
		data = slices.Insert(slices.Clone(data), end, ',')
	}
	return data
}
