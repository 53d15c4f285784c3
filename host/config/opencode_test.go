package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/mask"
)

// openCode reads a server of an opencode.json.
func openCode(t *testing.T, entry string, opts Options) *Server {
	t.Helper()
	if opts.Lookup == nil {
		opts.Lookup = lookup
	}
	c, err := Parse("opencode.json", []byte(`{"mcp": {"a": `+entry+`}}`), &opts)
	if err != nil || len(c.Servers) != 1 {
		t.Fatalf("%s: got %v, %v, want one server", entry, c, err)
	}
	return c.Servers[0]
}

// TestOpenCodeReferences: {env:VAR} and {file:path} are replaced, and nothing else is.
func TestOpenCodeReferences(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "key"), []byte("kept\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		if name == homeVariable("linux") || name == homeVariable("windows") {
			return home, true
		}
		return lookup(name)
	}
	for _, test := range []struct{ text, want string }{
		{"{env:API_TOKEN}", "tok-123"},
		{"a{env:API_TOKEN}b{env:API_TOKEN}", "atok-123btok-123"},
		{"{env:NOT_SET}", ""},
		{"{env:DSN}", "postgres://u:p@db/$API_TOKEN"}, // not expanded again
		{"{file:~/key}", "kept"},
		{"$API_TOKEN ${API_TOKEN} ${env:API_TOKEN", "$API_TOKEN ${API_TOKEN} ${env:API_TOKEN"},
		{"${env:API_TOKEN}", "$tok-123"},
		{"{env:}{x}{keyring:y}{", "{env:}{x}{keyring:y}{"},
		{"{env:API_TOKEN", "{env:API_TOKEN"},
	} {
		s := openCode(t, `{"type": "remote", "url": "https://a.example", "headers": {"X-A": "`+test.text+`"}}`, Options{Lookup: env})
		if got := s.Headers["X-A"].Reveal(); got != test.want || s.Err != nil {
			t.Errorf("%s: got %q, %v, want %q", test.text, got, s.Err, test.want)
		}
		if _, headers, _ := s.Written(); headers["X-A"].Reveal() != test.text {
			t.Errorf("%s: got %q as written, want the same", test.text, headers["X-A"].Reveal())
		}
	}
	s := openCode(t, `{"type": "local", "command": ["{env:API_TOKEN}", "{env:B}"], "environment": {"C": "{file:d}"}}`, Options{})
	want := []string{"command[0]: {env:API_TOKEN}", "command[1]: {env:B}", "environment.C: {file:d}"}
	got := slices.Sorted(slices.Values(s.References()))
	if !slices.Equal(got, want) {
		t.Errorf("got references %q, want %q", got, want)
	}
	for text, want := range map[string]string{"Bearer {env:TOKEN}": "Bearer {env:TOKEN}", "{file:/run/key}": "{file:/run/key}", "{env:a b c d e}": "{e****d e}"} {
		if got := mask.String(text); got != want {
			t.Errorf("masked %s: got %s, want %s", text, got, want)
		}
	}
}

// TestCommandLineFingerprint: a list is the same server as a command with arguments.
func TestCommandLineFingerprint(t *testing.T) {
	list := openCode(t, `{"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "1"}}`, Options{}).Fingerprint()
	for entry, same := range map[string]bool{
		`{"command": "npx", "args": ["-y", "x"], "env": {"A": "2"}}`: true,
		`{"command": "npx", "args": ["-y", "y"], "env": {"A": "1"}}`: false,
		`{"command": "npx", "args": ["-y"], "env": {"A": "1"}}`:      false,
	} {
		if got := one(t, entry).Fingerprint() == list; got != same {
			t.Errorf("%s: got the same %v, want %v", entry, got, same)
		}
	}
}

// TestOpenCodeCwd: a relative folder starts at that of the project.
func TestOpenCodeCwd(t *testing.T) {
	dir := t.TempDir()
	data := []byte(`{"mcp": {"a": {"type": "local", "command": ["x"], "cwd": "tools"}}}`)
	for _, file := range []string{"opencode.json", filepath.Join(".opencode", "opencode.json")} {
		c, err := Parse(filepath.Join(dir, file), data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.Servers[0].Cwd, filepath.Join(dir, "tools"); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

// TestImportOpenCode carries servers to and from the file of OpenCode.
func TestImportOpenCode(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours := write(".mcp.json", `{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "--token=sk-abcdefghijklmnop1234", "$HOME"], "env": {"A": "${B}", "C": "${D:-e}", "K": "${keyring:k}"}, "lazy": true, "connectTimeoutSeconds": 9},
		"web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
		"off": {"command": "x", "enabled": false}}}`)
	theirs := filepath.Join(dir, "opencode.json")
	plan, err := PlanImport(ours, theirs, &ImportOptions{OwnKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plan.Diff, "abcdefghijkl") {
		t.Errorf("got a secret argument in the preview %s, want none", plan.Diff)
	}
	if err := plan.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFile := `{
  "mcp": {
    "files": {
      "type": "local",
      "command": ["npx", "-y", "--token=sk-abcdefghijklmnop1234", "$HOME"],
      "environment": {
        "A": "{env:B}",
        "C": "${D:-e}",
        "K": "${keyring:k}"
      },
      "timeout": 9000
    },
    "web": {
      "type": "remote",
      "url": "https://example.com/mcp",
      "headers": {
        "Authorization": "Bearer {env:TOKEN}"
      }
    },
    "off": {
      "type": "local",
      "command": ["x"],
      "enabled": false
    }
  }
}
`
	if got := readText(t, theirs); got != wantFile {
		t.Errorf("got\n%s\nwant\n%s", got, wantFile)
	}
	var lost []string
	for _, s := range plan.Servers {
		for _, r := range s.Remarks {
			if r.Lost {
				lost = append(lost, s.Name+" "+r.Key)
			}
		}
	}
	if want := []string{"files env.C", "files env.K", "files lazy"}; !slices.Equal(lost, want) {
		t.Errorf("got lost %q, want %q", lost, want)
	}

	back := filepath.Join(dir, "back.json")
	if plan, err = PlanImport(theirs, back, nil); err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := Load(back, &Options{Lookup: func(name string) (string, bool) { return "<" + name + ">", name != "DOLLAR" }})
	if err != nil || len(c.Servers) != 3 {
		t.Fatalf("got %v, %v, want three servers", c, err)
	}
	for name, want := range map[string]string{"A": "<B>", "C": "${D:-e}", "K": "${keyring:k}"} {
		if got := c.Servers[0].Env[name].Reveal(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if got := c.Servers[1].Headers["Authorization"].Reveal(); got != "Bearer <TOKEN>" {
		t.Errorf("got %s, want Bearer <TOKEN>", got)
	}
}

// TestCurlyTranslation: references of OpenCode become those of others.
func TestCurlyTranslation(t *testing.T) {
	for _, test := range []struct {
		from, to             dialect.References
		text, want, unknowns string
	}{
		{dialect.CurlyRefs, dialect.AllOwnRefs, "a{env:B}{x}$C", "a${B}{x}${DOLLAR:-$}C", ""},
		{dialect.CurlyRefs, dialect.AllOwnRefs, "{file:f}${D}", "${file:" + filepath.Join("/dir", "f") + "}${DOLLAR:-$}{D}", ""},
		{dialect.CurlyRefs, dialect.EditorRefs, "{env:B}", "${env:B}", ""},
		{dialect.CurlyRefs, dialect.NoReferences, "{env:B}", "${B}", "${B}"},
		{dialect.CurlyRefs, dialect.CurlyRefs, "{env:B}$C${D}", "{env:B}$C${D}", ""},
		{dialect.AllOwnRefs, dialect.CurlyRefs, "$A${B}${env:C}", "{env:A}{env:B}{env:C}", ""},
		{dialect.AllOwnRefs, dialect.CurlyRefs, "${file:f}${input:i}", "{file:" + filepath.Join("/dir", "f") + "}${input:i}", "${input:i}"},
		{dialect.SecretRefs, dialect.AllOwnRefs, "a${{ secrets.B }}c", "a${B}c", ""},
		{dialect.AllOwnRefs, dialect.SecretRefs, "${env:A}", "${{ secrets.A }}", ""},
	} {
		x := &translation{from: test.from, forms: test.to, dir: "/dir"}
		if got := x.text(test.text); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
		if got := strings.Join(x.unknown, " "); got != test.unknowns {
			t.Errorf("%s: got unknown %q, want %q", test.text, got, test.unknowns)
		}
	}
}
