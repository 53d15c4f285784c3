// Tests with the files of testdata: what is read of them, that edits leave the rest alone, and what the page says.

package config_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/codex"
	"github.com/mcpbelt/mcpbelt/host/config/goose"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads every file below testdata/<format> and compares all that was read,
// with places and masked secrets, to the file of the same name that ends in .golden.
func TestGolden(t *testing.T) {
	//report: Config files | MateClaw https://claw.mate.vip/docs/en/mcp.html | an entry has its arguments, variables and headers as JSON in texts, with $VAR for a variable | they are read so in files and in the REST API; elsewhere `$VAR` stays a text, and a warning says so
	for _, f := range config.Formats() {
		files := assert.Value(filepath.Glob(filepath.Join("testdata", f.Name, "*")))(t)
		files = append(files, assert.Value(filepath.Glob(filepath.Join("testdata", f.Name, "*", "*")))(t)...)
		if f.Name == "mcpServers" { // one of each program that has it
			files = append(files, assert.Value(filepath.Glob(filepath.Join("testdata", "*.json*")))(t)...)
		}
		seen := 0
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() || strings.HasSuffix(file, ".golden") {
				continue
			}
			seen++
			t.Run(filepath.ToSlash(file), func(t *testing.T) { golden(t, file, f.Name) })
		}
		assert.True(t, seen >= 2, "%s: of %d files some are right and some are wrong", f.Name, seen)
	}
}

// golden reads one file without and with the name of its format.
func golden(t *testing.T, file, format string) {
	t.Helper()
	data := assert.Value(os.ReadFile(file))(t)
	here := assert.Value(filepath.Abs(filepath.Dir(file)))(t)
	opts := &config.Options{Lookup: goldenLookup, Project: "/src/app", Format: format}
	if strings.Contains(file, "ambiguous") {
		opts.Format = ""
	}
	c, err := config.Parse(t.Context(), file, data, opts)
	got := strings.ReplaceAll(describe(c, err), here, "HERE")
	if opts.Format != "" {
		again, err := config.Parse(t.Context(), file, data, &config.Options{Lookup: goldenLookup, Project: "/src/app"})
		assert.Equal(t, strings.ReplaceAll(describe(again, err), here, "HERE"), got, "without the name of the format")
	}
	if *updateGolden {
		assert.OK(t, os.WriteFile(file+".golden", []byte(got), 0o600))
	}
	assert.Equal(t, got, string(assert.Value(os.ReadFile(file+".golden"))(t)))
}

// goldenLookup is the environment of the golden files.
func goldenLookup(name string) (string, bool) {
	value, ok := map[string]string{"API_TOKEN": "tok-123", "EMPTY": "", "DSN": "postgres://u:p@db/$API_TOKEN"}[name]
	return value, ok
}

// TestEditsLeaveFilesAlone changes every file of testdata and changes it back, as it is
// and in the forms that editors give it.
func TestEditsLeaveFilesAlone(t *testing.T) {
	//report: Config files | microsoft/vscode#281583, microsoft/vscode#253554, microsoft/vscode#335813, TradingGoose/TradingGoose-Studio#172 | a program that adds a server writes the file anew, and comments and forms are lost | an entry is added and removed, and the file is what it was, byte for byte
	//report: Config files | tradesdontlie/tradingview-mcp#419, homeassistant-ai/ha-mcp#281, microsoft/playwright#39420, getpaseo/paseo#4695 | a file begins with the mark of UTF-8, has CRLF or tabs, as editors on Windows write it | it is read, and keeps all of that when it is changed
	t.Parallel()
	const forms = 7 // one of them the file as it is
	share := assert.Cases(2*forms, 1)
	for i, file := range goldenInputs(t) {
		data := assert.Value(os.ReadFile(filepath.Join("testdata", filepath.FromSlash(file))))(t)
		format, _, _ := strings.Cut(file, "/")
		if !slices.ContainsFunc(config.Formats(), func(f *config.Format) bool { return f.Name == format }) {
			format = ""
		}
		for form, v := range variants(t, data) {
			if (form+i)%share != 0 {
				continue // another file has this form
			}
			t.Run(file+" "+v.name, func(t *testing.T) {
				opts := &config.Options{Format: format, Lookup: goldenLookup}
				for _, fault := range editFaults(t, file, v.data, opts, form) {
					t.Error(fault)
				}
			})
		}
	}
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
	want := doc.Root.JSON()
	for _, v := range list {
		doc, err := jsonc.Parse(v.data)
		assert.OK(t, err, "%s", v.name)
		assert.Equal(t, string(doc.Root.JSON()), string(want), "%s", v.name)
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

// TestConfigurationPage holds the tables of docs/configuration.md against what is read and
// written. With -update it writes them.
func TestConfigurationPage(t *testing.T) {
	t.Parallel()
	checkPage(t, "json", config.Formats()...)
	checkPage(t, "codex", codex.Format())
	checkPage(t, "goose", goose.Format(), goose.Continue())
}

// An otherSyntax is a package below this one, which reads files that are not JSON.
type otherSyntax struct {
	folder  string
	files   []string // patterns below its testdata
	formats []*config.Format
	comment func(line string) (above, behind string) // what withComments puts beside a line
	known   map[string]string                        // faults of edits that are known
}

func otherSyntaxes() []otherSyntax {
	return []otherSyntax{
		{folder: "codex", files: []string{"*.toml"}, formats: []*config.Format{codex.Format()},
			comment: func(line string) (above, behind string) {
				if strings.HasPrefix(line, "[") && !strings.Contains(line, "#") {
					behind = " # behind"
				}
				return "", behind
			}},
		{folder: "goose", files: []string{"*.y*ml", "continue/*.yaml"}, formats: []*config.Format{goose.Format(), goose.Continue()},
			comment: func(line string) (above, behind string) {
				body := strings.TrimSpace(line)
				if strings.HasSuffix(body, ":") && !strings.Contains(body, "#") {
					above, behind = line[:len(line)-len(strings.TrimLeft(line, " "))]+"# above\n", " # behind"
				}
				return above, behind
			},
			known: map[string]string{
				"env: remote é: ": "its headers have an alias elsewhere",
				"env: old: ":      "its headers come from an alias",
			}},
	}
}

// inputs returns the config files below testdata, and the format of each.
func (o *otherSyntax) inputs(t *testing.T) (files []string, formats []*config.Format) {
	t.Helper()
	for i, pattern := range o.files {
		found := assert.Value(filepath.Glob(filepath.Join("testdata", filepath.FromSlash(pattern))))(t)
		assert.True(t, len(found) >= 2, "%s: there are files", pattern)
		for _, file := range found {
			files, formats = append(files, file), append(formats, o.formats[i])
		}
	}
	return files, formats
}

// withComments puts comments where a section begins.
func (o *otherSyntax) withComments(data []byte) []byte {
	var lines []string
	for _, line := range strings.Split(string(data), "\n") {
		above, behind := o.comment(line)
		if behind != "" {
			line = above + strings.TrimRight(line, "\r") + behind
		}
		lines = append(lines, line)
	}
	return []byte(strings.Join(lines, "\n"))
}

// TestGoldenOfOtherSyntaxes compares what is read of each file, with places and masked
// secrets, with the file of the same name that ends in .golden.
func TestGoldenOfOtherSyntaxes(t *testing.T) {
	//report: Config files | openai/codex#4317, openai/codex#5073 | Codex names the variable of a token in `bearer_token_env_var` | the header is made of it
	for _, o := range otherSyntaxes() {
		t.Run(o.folder, func(t *testing.T) {
			t.Chdir(o.folder)
			files, _ := o.inputs(t)
			for _, file := range files {
				here := assert.Value(filepath.Abs(filepath.Dir(file)))(t)
				data := assert.Value(os.ReadFile(file))(t)
				c, err := config.Parse(t.Context(), file, data, &config.Options{Lookup: goldenLookup, Formats: o.formats})
				got := strings.ReplaceAll(describe(c, err), here, "HERE")
				if *updateGolden {
					assert.OK(t, os.WriteFile(file+".golden", []byte(got), 0o600))
				}
				assert.Equal(t, got, string(assert.Value(os.ReadFile(file+".golden"))(t)), "%s", file)
			}
		})
	}
}

// TestEditsLeaveOtherSyntaxesAlone changes every file and changes it back, as it is and in the
// forms that editors give it: in all of them if MCPBELT_FULL is set, else in one of them.
func TestEditsLeaveOtherSyntaxesAlone(t *testing.T) {
	for _, o := range otherSyntaxes() {
		t.Run(o.folder, func(t *testing.T) {
			t.Chdir(o.folder)
			used := map[string]bool{}
			files, formats := o.inputs(t)
			for i, file := range files {
				data := assert.Value(os.ReadFile(file))(t)
				forms := [][]byte{
					bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), append([]byte("\xef\xbb\xbf"), data...), o.withComments(data),
					bytes.TrimRight(data, "\r\n"), append(bytes.Clone(data), "\n\n"...),
				}
				forms = append(forms, data)
				few := i % len(forms)
				for form, data := range forms[assert.Cases(few, 0):assert.Cases(few+1, len(forms))] {
					opts := &config.Options{Lookup: goldenLookup, Formats: formats[i : i+1], Format: formats[i].Name}
					for _, fault := range editFaults(t, file, data, opts, 0) {
						check := strings.Join(strings.SplitAfterN(fault, ": ", 3)[:2], "")
						assert.True(t, o.known[check] != "", "%s, form %d: %s: it is known", file, form, fault)
						used[check] = true
					}
				}
			}
			assert.Equal(t, len(used), len(o.known), "the faults that are known")
		})
	}
}
