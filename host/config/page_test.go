package config_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonedit"
)

// checkPage fails the test unless the table of a page of documentation, between the lines
// "<!-- NAME programs: begin -->" and "<!-- NAME programs: end -->", says what the formats
// really do with the files of their programs. With -update it writes it. Reading and changing
// small files finds out what the table says.
func checkPage(t *testing.T, name string, formats ...*config.Format) {
	t.Helper()
	const page = "../../docs/configuration.md"
	was := string(assert.Value(os.ReadFile(page))(t))
	begin, end := fmt.Sprintf("<!-- %s programs: begin -->\n", name), fmt.Sprintf("<!-- %s programs: end -->\n", name)
	head, rest, begins := strings.Cut(was, begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table %s", page, name)
	}
	now := head + begin + programTable(t, formats) + end + tail
	switch {
	case now == was:
	case *updateGolden:
		assert.OK(t, os.WriteFile(page, []byte(now), 0o644))
	default:
		t.Errorf("%s: got another table than the formats give: run this test with -update", page)
	}
}

// A sample is a small file of a format.
type sample struct {
	format *config.Format
	path   string
	text   []byte
	entry  []string // the path of its one entry
}

// newSample returns the file that an edit makes for a server.
func newSample(t *testing.T, f *config.Format, path string) *sample {
	t.Helper()
	s := &sample{format: f, path: path}
	assert.OK(t, assert.Err(record.Add(t.Context(), edit.OpenFileStore(path, s.options()), &config.Server{Name: "x", Command: "c"})), "%s", f.Name)
	s.text = assert.Value(os.ReadFile(path))(t)
	assert.OK(t, os.Remove(path))
	s.entry = append(dialect.WritingOf(f, nil).Container, "x")
	if doc, err := config.ReadDocument(path, s.text, s.options()); err == nil && doc.Sections[0].Entries[0].Listed {
		s.entry[len(s.entry)-1] = "0"
	}
	return s
}

func (s *sample) options() *config.Options {
	return &config.Options{Format: s.format.Name, Formats: []*config.Format{s.format}, Scope: config.ScopeProgram}
}

// with returns the server of the file if its entry has one more key, nil if it has not.
func (s *sample) with(key, value string) *config.Server {
	text, err := jsonedit.Of(s.format.Syntax).Set(s.text, []byte(value), append(slices.Clone(s.entry), key)...)
	if err != nil {
		return nil
	}
	c, err := config.Parse(context.Background(), s.path, text, s.options())
	if err != nil || len(c.Servers) != 1 {
		return nil
	}
	return c.Servers[0]
}

// programTable says of each program where its files are, and what they mean there.
func programTable(t *testing.T, formats []*config.Format) string {
	var b strings.Builder
	b.WriteString("| program | format | files of a project | files of the user | switched off by | timeouts | references |\n|---|---|---|---|---|---|---|\n")
	rows := map[string]string{}
	for _, l := range config.Find(&config.FindOptions{GOOS: "linux", Home: filepath.Join(t.TempDir(), "home"), Project: t.TempDir(), Lookup: none}) {
		i := slices.IndexFunc(formats, func(f *config.Format) bool { return f.Name == l.Format })
		if i < 0 || rows[l.Client] != "" {
			continue
		}
		s := newSample(t, formats[i], l.Path)
		cells := []string{l.Client, "`" + l.Format + "`", projectFiles(l.Client), userFiles(l.Client), s.offWord(t), s.timeouts(), s.references(t)}
		rows[l.Client] = fmt.Sprintf("| %s |\n", strings.Join(cells, " | "))
	}
	for _, client := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[client])
	}
	return b.String()
}

func none(string) (string, bool) { return "", false }

func projectFiles(client string) string {
	var files []string
	for _, l := range config.Find(&config.FindOptions{GOOS: "linux", Home: "/none", Project: "/p", Lookup: none}) {
		if l.Client == client && l.Scope.NeedsApproval() {
			files = append(files, "`"+strings.TrimPrefix(l.Path, "/p/")+"`")
		}
	}
	return strings.Join(files, "<br>")
}

// userFiles has the places on other systems where they differ by more than the folder.
func userFiles(client string) string {
	const drive = "/" // variables that name no absolute path do not count
	var files []string
	seen := map[string]bool{}
	for _, system := range []struct{ goos, name, home string }{{"linux", "", "~"}, {"darwin", "macOS: ", "~"}, {"windows", "Windows: ", `%USERPROFILE%`}} {
		env := func(name string) (string, bool) { return drive + "%" + name + "%", strings.HasSuffix(name, "APPDATA") }
		for _, l := range config.Find(&config.FindOptions{GOOS: system.goos, Home: system.home, Lookup: env}) {
			l.Path = strings.TrimPrefix(l.Path, drive)
			plain := strings.Replace(l.Path, `%USERPROFILE%`, "~", 1)
			if l.Client == client && !seen[plain] {
				seen[plain] = true
				if system.goos == "windows" {
					l.Path = strings.ReplaceAll(l.Path, "/", `\`)
				}
				files = append(files, system.name+"`"+l.Path+"`")
			}
		}
	}
	return strings.Join(files, "<br>")
}

// imported brings one server of ours into a new file of the program, and returns its text.
func (s *sample) imported(t *testing.T, entry string) (edit.Imported, string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "ours.json")
	assert.OK(t, os.WriteFile(source, []byte(`{"mcpServers": {"x": `+entry+`}}`), 0o600))
	plan, err := edit.PlanImport(source, s.path, &edit.ImportOptions{To: s.options()})
	if err == nil {
		err = plan.Apply(t.Context())
	}
	assert.OK(t, err, "%s", s.path)
	data, _ := os.ReadFile(s.path) // none if the server was left out
	_ = os.Remove(s.path)
	return plan.Servers[0], string(data)
}

// offWord returns the member that an edit writes to switch a server off, if the program
// has one.
func (s *sample) offWord(t *testing.T) string {
	got, _ := s.imported(t, `{"command": "c", "enabled": false}`)
	if got.Skipped != nil || slices.ContainsFunc(got.Remarks, func(r edit.Remark) bool { return r.Key == "enabled" }) {
		return "none"
	}
	assert.OK(t, os.WriteFile(s.path, s.text, 0o600))
	defer os.Remove(s.path)
	_, _, err := record.Update(t.Context(), edit.OpenFileStore(s.path, s.options()), "x", record.Switch(false))
	assert.OK(t, err, "%s", s.path)
	word := strings.Trim(difference(string(s.text), string(assert.Value(os.ReadFile(s.path))(t))), " ,\n")
	word += strings.Repeat("}", strings.Count(word, "{")-strings.Count(word, "}"))
	return "`" + strings.Join(strings.Fields(word), " ") + "`"
}

// difference returns what stands in after between the ends that it has in common with
// before.
func difference(before, after string) string {
	from := 0
	for from < len(before) && from < len(after) && before[from] == after[from] {
		from++
	}
	to := 0
	for to < len(before)-from && to < len(after)-from && before[len(before)-1-to] == after[len(after)-1-to] {
		to++
	}
	return after[from : len(after)-to]
}

// timeouts says which keys of the program are timeouts, and of what.
func (s *sample) timeouts() string {
	var list []string
	for _, key := range []string{"timeout", "connectionTimeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec"} {
		server := s.with(key, "5000")
		if server == nil {
			continue
		}
		for what, d := range map[string]time.Duration{"to start": server.ConnectTimeout, "for an answer": server.ReadTimeout} {
			switch d {
			case 5 * time.Second:
				list = append(list, fmt.Sprintf("`%s`: milliseconds %s", key, what))
			case 5000 * time.Second:
				list = append(list, fmt.Sprintf("`%s`: seconds %s", key, what))
			}
		}
	}
	return cmp.Or(strings.Join(list, "<br>"), "none")
}

// references lists those that the program replaces itself, as it writes them.
func (s *sample) references(t *testing.T) string {
	var list []string
	for _, reference := range []string{"${VAR}", "${VAR:-default}", "${file:/path}", "${input:id}", "${keyring:name}"} {
		got, text := s.imported(t, `{"command": "c", "args": ["<`+reference+`>"]}`)
		lost := slices.ContainsFunc(got.Remarks, func(r edit.Remark) bool { return r.Lost && r.Key == "args" })
		_, rest, shown := strings.Cut(text, "<")
		written, _, _ := strings.Cut(rest, ">")
		if !lost && shown {
			list = append(list, "`"+written+"`")
		}
	}
	return cmp.Or(strings.Join(list, " "), "none")
}
