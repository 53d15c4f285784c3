package configtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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
func CheckPage(t *testing.T, page, name string, update bool, formats ...config.Format) {
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

// A shape is how files of a format are written by hand.
type shape struct {
	before, after string // around the members of one entry x, which are JSON
	local, remote string // the members that say which server it is
	assign        string // between key and value; "" is as in JSON
}

func shapes() map[string]shape {
	const local, remote = `"command": "c"`, `"url": "https://a.example/mcp"`
	object := func(key string) shape {
		return shape{before: `{"` + key + `": {"x": {`, after: "}}}", local: local, remote: remote}
	}
	all := map[string]shape{
		"mcpServers": object("mcpServers"), "vscode": object("servers"), "zed": object("context_servers"),
		"ironclaw": object("servers"), "opencode": object("mcp"), "crush": object("mcp"),
		"kode":     {before: `{"x": {`, after: "}}", local: local, remote: remote},
		"codex":    {before: "[mcp_servers.x]\n", after: "\n", local: `command = "c"`, remote: `url = "https://a.example/mcp"`, assign: " = "},
		"goose":    {before: "extensions: {x: {", after: "}}\n", local: `"type": "stdio", "cmd": "c"`, remote: `"type": "streamable_http", "uri": "https://a.example/mcp"`},
		"continue": {before: `mcpServers: [{"name": "x", `, after: "}]\n", local: local, remote: remote},
	}
	for name, kinds := range map[string][2]string{
		"opencode": {`"type": "local", "command": ["c"]`, `"type": "remote", ` + remote},
		"crush":    {`"type": "stdio", ` + local, `"type": "http", ` + remote},
	} {
		s := all[name]
		s.local, s.remote = kinds[0], kinds[1]
		all[name] = s
	}
	return all
}

// with returns a file whose entry has one more member.
func (s shape) with(base, key, value string) string {
	switch {
	case key == "":
		return s.before + base + s.after
	case s.assign != "":
		return s.before + base + "\n" + key + s.assign + strings.ReplaceAll(value, `": `, `" = `) + s.after
	}
	return s.before + base + `, "` + key + `": ` + value + s.after
}

// lookup knows the variables that the samples have.
func lookup(name string) (string, bool) { return "value", name == "VAR" || name == "A" }

// readOne returns the server of a file, nil if there is none.
func readOne(path, text string, o *config.Options) *config.Server {
	c, err := config.Parse(context.Background(), path, []byte(text), o)
	if err != nil || len(c.Servers) != 1 {
		return nil
	}
	return c.Servers[0]
}

// programTable says of each program where its files are, and what they mean there.
func programTable(t *testing.T, formats []config.Format) string {
	dir := t.TempDir()
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "project")
	var b strings.Builder
	b.WriteString("| program | format | files of a project | files of the user | switched off by | timeouts | references |\n|---|---|---|---|---|---|---|\n")
	var clients []string
	first := map[string]config.Location{}
	for _, l := range config.Find(&config.FindOptions{GOOS: "linux", Home: home, Project: project, Lookup: none}) {
		if slices.ContainsFunc(formats, func(f config.Format) bool { return f.Name() == l.Format }) && first[l.Client].Path == "" {
			clients, first[l.Client] = append(clients, l.Client), l
		}
	}
	slices.Sort(clients)
	for _, client := range clients {
		l := first[client]
		cells := []string{client, "`" + l.Format + "`", projectFiles(client), userFiles(client), offWord(t, l, formats), timeouts(l, formats), references(t, l, formats)}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
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
	const drive = `C:\` // variables that name no absolute path do not count
	var files []string
	seen := map[string]bool{}
	for _, system := range []struct{ goos, name, home string }{{"linux", "", "~"}, {"darwin", "macOS: ", "~"}, {"windows", "Windows: ", `%USERPROFILE%`}} {
		env := func(name string) (string, bool) { return drive + "%" + name + "%", strings.HasSuffix(name, "APPDATA") }
		for _, l := range config.Find(&config.FindOptions{GOOS: system.goos, Home: system.home, Lookup: env}) {
			l.Path = strings.TrimPrefix(l.Path, drive)
			plain := strings.ReplaceAll(strings.Replace(l.Path, `%USERPROFILE%`, "~", 1), `\`, "/")
			if l.Client == client && !seen[plain] {
				seen[plain] = true
				files = append(files, system.name+"`"+l.Path+"`")
			}
		}
	}
	return strings.Join(files, "<br>")
}

func optionsFor(l config.Location, formats []config.Format) *config.Options {
	return &config.Options{Format: l.Format, Formats: formats, Lookup: lookup, Scope: config.ScopeProgram}
}

// imported brings one server of ours into a new file of a program.
func imported(t *testing.T, l config.Location, formats []config.Format, entry string) (*edit.Import, string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "ours.json")
	if err := os.WriteFile(source, []byte(`{"mcpServers": {"x": `+entry+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := edit.PlanImport(source, l.Path, &edit.ImportOptions{To: optionsFor(l, formats)})
	if err != nil {
		t.Fatal(l.Client, err)
	}
	return plan, plan.Diff
}

// offWord returns the member that an edit writes to switch a server off, if the program
// has one.
func offWord(t *testing.T, l config.Location, formats []config.Format) string {
	plan, _ := imported(t, l, formats, `{"command": "c", "enabled": false}`)
	if s := plan.Servers[0]; s.Skipped != nil || slices.ContainsFunc(s.Remarks, func(r edit.Remark) bool { return r.Key == "enabled" }) {
		return "none"
	}
	shape := shapes()[l.Format]
	text := shape.with(shape.local, "", "")
	if err := os.MkdirAll(filepath.Dir(l.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.Path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(l.Path)
	var after string
	err := edit.Change(t.Context(), l.Path, optionsFor(l, formats), func(f *edit.File) error {
		err := f.Set("x", &record.Patch{Disabled: record.Some(true)})
		after = string(f.Bytes())
		return err
	})
	if err != nil {
		t.Fatal(l.Client, err)
	}
	word := strings.Trim(difference(text, after), " ,\n")
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
func timeouts(l config.Location, formats []config.Format) string {
	shape := shapes()[l.Format]
	var list []string
	for _, key := range []string{"timeout", "connectionTimeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec"} {
		s := readOne(l.Path, shape.with(shape.local, key, "5000"), optionsFor(l, formats))
		if s == nil {
			continue
		}
		for what, d := range map[string]time.Duration{"to start": s.ConnectTimeout, "for an answer": s.ReadTimeout} {
			switch d {
			case 5 * time.Second:
				list = append(list, fmt.Sprintf("`%s`: milliseconds %s", key, what))
			case 5000 * time.Second:
				list = append(list, fmt.Sprintf("`%s`: seconds %s", key, what))
			}
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "<br>")
}

// references lists those that the program replaces itself, as it writes them.
func references(t *testing.T, l config.Location, formats []config.Format) string {
	var list []string
	for _, reference := range []string{"${VAR}", "${VAR:-default}", "${file:/path}", "${input:id}", "${keyring:name}"} {
		plan, diff := imported(t, l, formats, `{"command": "c", "args": ["<`+reference+`>"]}`)
		lost := slices.ContainsFunc(plan.Servers[0].Remarks, func(r edit.Remark) bool { return r.Lost && r.Key == "args" })
		_, rest, shown := strings.Cut(diff, "<")
		written, _, _ := strings.Cut(rest, ">")
		if !lost && shown {
			list = append(list, "`"+written+"`")
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
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
func keyTable(t *testing.T, formats []config.Format) string {
	var b strings.Builder
	b.WriteString("| format | is read | is kept, and left to the program | is ignored |\n|---|---|---|---|\n")
	env := filepath.Join(t.TempDir(), "variables")
	if err := os.WriteFile(env, []byte("B=c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range formats {
		shape := shapes()[f.Name()]
		o := &config.Options{Format: f.Name(), Formats: formats, Lookup: lookup}
		var read, kept, ignored []string
		keys := append(commonKeys(), f.Dialect().Keys...)
		slices.Sort(keys)
		for _, name := range slices.Compact(keys) {
			value := samples(env)[name]
			if value == "" && name != "cmd" && name != "uri" { // which each sample has
				t.Errorf("%s: got a key %s without a sample, want one", f.Name(), name)
			}
			key := "`" + name + "`"
			switch what(shape, o, name, value) {
			case "read":
				read = append(read, key)
			case "kept":
				kept = append(kept, key)
			case "":
				ignored = append(ignored, key)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name(), strings.Join(read, " "), strings.Join(kept, " "), strings.Join(ignored, " "))
	}
	return b.String()
}

// what finds out what becomes of a key: it changes the server, or stands in its Extra, or
// neither. A key that is a fault in one kind of server, or unknown with a hint, is judged
// by the other kind.
func what(shape shape, o *config.Options, key, value string) string {
	if value == "" {
		return "read"
	}
	found := ""
	for _, base := range []string{shape.local, shape.remote} {
		before := readOne("config", shape.with(base, "", ""), o)
		after := readOne("config", shape.with(base, key, value), o)
		if before == nil || after == nil || after.Err != nil {
			continue
		}
		_, extra := after.Extra[key]
		switch {
		case !reflect.DeepEqual(facts(before), facts(after)):
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
	c.Extra, c.Warnings = nil, nil
	var values []string
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() && field.Name != "Source" {
			values = append(values, fmt.Sprintf("%s=%+v", field.Name, v.Field(i).Interface()))
		}
	}
	if c.Auth != nil {
		auth, _ := json.Marshal(c.Auth)
		values = append(values, string(auth))
	}
	return strings.Join(values, "\n")
}
