package configtest

import (
	"cmp"
	"context"
	"errors"
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
)

// CheckPage fails the test unless the tables of a page of documentation, between the lines
// "<!-- NAME programs: begin -->" and "<!-- NAME programs: end -->", and the same with
// "keys", say what the formats really do with the files of their programs. With update it
// writes them. Reading and changing small files finds out what a table says.
func CheckPage(t *testing.T, page, name string, update bool, formats ...*config.Format) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	was, now := string(data), string(data)
	for what, table := range map[string]string{"programs": programTable(t, formats), "keys": keyTable(t, formats)} {
		begin, end := fmt.Sprintf("<!-- %s %s: begin -->\n", name, what), fmt.Sprintf("<!-- %s %s: end -->\n", name, what)
		head, rest, begins := strings.Cut(now, begin)
		_, tail, ends := strings.Cut(rest, end)
		if !begins || !ends {
			t.Fatalf("%s has no place for the table %s %s", page, name, what)
		}
		now = head + begin + table + end + tail
	}
	switch {
	case now == was:
	case update:
		if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: got other tables than the formats give: run this test with -update", page)
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
func newSample(t *testing.T, f *config.Format, path string, r *record.Record) *sample {
	t.Helper()
	r.Name = "x"
	s := &sample{format: f, path: path}
	err := edit.Change(t.Context(), path, s.options(), func(file *edit.File) error {
		if err := file.Add(r); err != nil {
			return err
		}
		s.text = file.Bytes()
		return errChecked
	})
	if !errors.Is(err, errChecked) {
		t.Fatal(f.Name, err)
	}
	s.entry = append(f.Write(nil).Container, "x")
	if doc, err := config.ReadDocument(path, s.text, s.options()); err == nil && doc.Sections[0].Entries[0].Listed {
		s.entry[len(s.entry)-1] = "0"
	}
	return s
}

func (s *sample) options() *config.Options {
	return &config.Options{Format: s.format.Name, Formats: []*config.Format{s.format}, Lookup: lookup, Scope: config.ScopeProgram}
}

// with returns the server of the file if its entry has one more key, nil if it has not.
func (s *sample) with(key, value string) *config.Server {
	text := s.text
	if key != "" {
		var err error
		if text, err = s.format.Write(nil).Edit.Set(s.text, []byte(value), append(slices.Clone(s.entry), key)...); err != nil {
			return nil
		}
	}
	c, err := config.Parse(context.Background(), s.path, text, s.options())
	if err != nil || len(c.Servers) != 1 {
		return nil
	}
	return c.Servers[0]
}

func local() *record.Record { return &record.Record{Command: "c"} }

func remote(f *config.Format) *record.Record {
	r := &record.Record{URL: "https://a.example/mcp", Transport: config.TransportHTTP}
	if w := f.Write(nil); w.Strict && w.Transports[r.Transport] == "" {
		r.Transport = config.TransportAuto
	}
	return r
}

// lookup knows the variables that the samples have.
func lookup(name string) (string, bool) { return "value", name == "VAR" || name == "A" }

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
		s := newSample(t, formats[i], l.Path, local())
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
	if err := os.WriteFile(source, []byte(`{"mcpServers": {"x": `+entry+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := edit.PlanImport(source, s.path, &edit.ImportOptions{To: s.options()})
	if err == nil {
		err = plan.Apply(t.Context())
	}
	if err != nil {
		t.Fatal(s.path, err)
	}
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
	if err := os.WriteFile(s.path, s.text, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(s.path)
	var after string
	err := edit.Change(t.Context(), s.path, s.options(), func(f *edit.File) error {
		err := f.Set("x", record.Switch(false))
		after = string(f.Bytes())
		return err
	})
	if err != nil {
		t.Fatal(s.path, err)
	}
	word := strings.Trim(difference(string(s.text), after), " ,\n")
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

// samples are keys that programs have in an entry, with a value each.
func samples(file string) map[string]string {
	return map[string]string{
		"args": `["a"]`, "env": `{"A": "b"}`, "envFile": `"` + filepath.ToSlash(file) + `"`, "cwd": `"/srv"`, "headers": `{"X-A": "b"}`,
		"enabled": `false`, "disabled": `true`, "description": `"d"`, "timeout": `5000`, "trust": `true`,
		"tools": `{"deny": ["a"]}`, "includeTools": `["a"]`, "excludeTools": `["a"]`, "disabledTools": `["a"]`,
		"alwaysAllow": `["a"]`, "autoApprove": `["a"]`, "oauth": `{"clientId": "a"}`, "auth": `{"clientId": "a"}`,

		"environment": `{"A": "b"}`, "envs": `{"A": "b"}`, "env_vars": `["A"]`, "env_keys": `["A"]`, "http_headers": `{"X-A": "b"}`,
		"env_http_headers": `{"X-A": "A"}`, "requestOptions": `{"headers": {"X-A": "b"}}`, "apiKey": `"k"`, "bearer_token_env_var": `"A"`,
		"connectionTimeout": `5000`, "startup_timeout_sec": `5`, "startup_timeout_ms": `5000`, "tool_timeout_sec": `5`,
		"enabled_tools": `["a"]`, "disabled_tools": `["a"]`, "available_tools": `["a"]`,
		"oauth_client_id": `"a"`, "oauth_client_secret": `"a"`, "oauth_callback_port": `80`,
		"source": `"custom"`, "settings": `{"a": 1}`, "remote": `true`, "gallery": `"a"`, "version": `"1"`, "dev": `{"watch": "a"}`,
		"sandbox": `{"a": 1}`, "sandboxEnabled": `true`, "metadata": `{"a": 1}`, "cached_tools": `["a"]`, "display_name": `"a"`, "bundled": `true`,
		"envFilter": `["A"]`, "faviconUrl": `"a"`, "serverName": `"a"`, "sourceFile": `"a"`, "sessionless": `true`, "channel_enabled": `true`, "channel_reply": `{"a": 1}`,
	}
}

// commonKeys are those that are tried in all formats. The others are in the table of the
// format.
func commonKeys() []string {
	return []string{"args", "env", "envFile", "cwd", "headers", "enabled", "disabled", "description", "timeout", "trust", "tools",
		"includeTools", "excludeTools", "disabledTools", "alwaysAllow", "autoApprove", "oauth", "auth"}
}

// keyTable says of each format what becomes of the keys that programs have.
func keyTable(t *testing.T, formats []*config.Format) string {
	var b strings.Builder
	b.WriteString("| format | is read | is kept, and left to the program | is ignored |\n|---|---|---|---|\n")
	env := filepath.Join(t.TempDir(), "variables")
	if err := os.WriteFile(env, []byte("B=c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range formats {
		path := filepath.Join(t.TempDir(), "config")
		bases := []*sample{newSample(t, f, path, local()), newSample(t, f, path, remote(f))}
		found := map[string][]string{}
		keys := append(commonKeys(), f.Keys...)
		slices.Sort(keys)
		for _, name := range slices.Compact(keys) {
			value := samples(env)[name]
			if value == "" && name != "cmd" && name != "uri" { // which each sample has
				t.Errorf("%s: got a key %s without a sample, want one", f.Name, name)
			}
			use := what(bases, name, value)
			found[use] = append(found[use], "`"+name+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, strings.Join(found["read"], " "), strings.Join(found["kept"], " "), strings.Join(found[""], " "))
	}
	return b.String()
}

// what finds out what becomes of a key: it changes the server, or stands in its Extra, or
// neither. A key that is a fault in one kind of server, or unknown with a hint, is judged
// by the other kind.
func what(bases []*sample, key, value string) string {
	if value == "" {
		return "read"
	}
	found := ""
	for _, base := range bases {
		before, after := base.with("", ""), base.with(key, value)
		if before == nil || after == nil || after.Err != nil {
			continue
		}
		_, extra := after.Extra[key]
		switch {
		case facts(before) != facts(after):
			return "read"
		case extra:
			found = "kept"
		}
	}
	return found
}

// facts returns what a server says, without what is only kept and where it stands.
func facts(s *config.Server) string {
	c := *s
	c.Extra = nil
	entry, err := c.Entry()
	return fmt.Sprint(c.Title, string(entry), err)
}
