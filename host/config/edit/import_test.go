package edit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

const importSource = `{
  "mcpServers": {
    "files": {
      "command": "npx", "args": ["-y", "files", "--token=sk-abcdefghijklmnop1234", "$HOME/x"],
      "env": {"TOKEN": "sk-verysecretvalue9876", "REF": "${REF:-none}"}, "cwd": "data",
      "trust": true, "lazy": true, "readTimeoutSeconds": 30, "alwaysAllow": ["x"], "theirs": 1
    },
    "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    "events": {"type": "sse", "url": "https://example.com/sse"},
    "off": {"command": "x", "enabled": false},
    "bad": {"command": 1},
    "there": {"command": "new"}
  }
}
`

func planned(t *testing.T, target, format, text string, opts ImportOptions) (*Import, string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "from", ".mcp.json")
	assert.OK(t, os.MkdirAll(filepath.Dir(source), 0o700))
	assert.OK(t, os.WriteFile(source, []byte(importSource), 0o600))
	path := filepath.Join(dir, target)
	if text != "" {
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	opts.To = &config.Options{Format: format}
	plan := assert.Value(PlanImport(source, path, &opts))(t)
	return plan, path
}

// summary writes a plan without the folders of this machine.
func summary(plan *Import) string {
	var b strings.Builder
	for _, s := range plan.Servers {
		fmt.Fprintf(&b, "%s", s.Name)
		if s.Skipped != nil {
			fmt.Fprintf(&b, " skipped: %v", s.Skipped)
		}
		b.WriteString("\n")
		for _, r := range s.Remarks {
			fmt.Fprintf(&b, "  %v", r)
			if r.Lost {
				b.WriteString(" (lost)")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString(plan.Diff)
	dir := filepath.Dir(plan.Target)
	return strings.NewReplacer(filepath.ToSlash(dir), "DIR", dir, "DIR").Replace(b.String())
}

func TestImportGolden(t *testing.T) {
	for _, c := range []struct {
		name, target, format, text string
		opts                       ImportOptions
	}{
		{"vscode", "mcp.json", "vscode", "{\n\t\"inputs\": [],\n\t// ours\n\t\"servers\": {\n\t\t\"there\": {\n\t\t\t\"command\": \"old\",\n\t\t\t\"env\": {\"KEY\": \"hunter2hunter2\"}\n\t\t}\n\t}\n}\n", ImportOptions{}},
		{"zed", "settings.json", "zed", "{\n  \"api_key\": \"abcdefghijklmnop\",\n  \"theme\": \"One\" // nice\n}\n", ImportOptions{Names: []string{"web", "events", "nobody"}}},
		{"own", "new.json", "", "", ImportOptions{}},
		{"replace", "mcp.json", "mcpServers", "{\"mcpServers\": {\n  \"there\": {\"command\": \"old\", \"lazy\": true} // why\n}}\n", ImportOptions{Names: []string{"there"}, Replace: true}},
		{"ownkeys", "mcp-servers.json", "ironclaw", "", ImportOptions{OwnKeys: true, Names: []string{"files", "off"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, path := planned(t, c.target, c.format, c.text, c.opts)
			got := summary(plan)
			for _, secret := range []string{"abcdefghijkl", "verysecret", "hunter2"} {
				if strings.Contains(got, secret) {
					t.Errorf("the plan shows %s", secret)
				}
			}
			golden := filepath.Join("testdata", "import", c.name+".want")
			if *updateEdits {
				assert.OK(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want := assert.Value(os.ReadFile(golden))(t)
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if now, err := os.ReadFile(path); string(now) != c.text {
				t.Errorf("planning has written: %q, %v", now, err)
			}
			assert.OK(t, plan.Apply(t.Context()))
			again, err := PlanImport(plan.Source, path, &ImportOptions{To: &config.Options{Format: c.format}, Names: c.opts.Names, Replace: c.opts.Replace, OwnKeys: c.opts.OwnKeys})
			if err != nil || again.Diff != "" {
				t.Errorf("there is something left to do: %s, %v", again.Diff, err)
			}
		})
	}
}

func TestImportOfChangedTarget(t *testing.T) {
	plan, path := planned(t, "mcp.json", "", "{\"mcpServers\": {}}", ImportOptions{})
	other := "{\"mcpServers\": {} /* theirs */}"
	assert.OK(t, os.WriteFile(path, []byte(other), 0o600))
	var edit *Error
	if err := plan.Apply(t.Context()); !errors.As(err, &edit) || !strings.Contains(err.Error(), "plan it again") {
		t.Error(err)
	}
	if got := readText(t, path); got != other {
		t.Error(got)
	}
}

func TestTranslation(t *testing.T) {
	for _, c := range []struct {
		fromLiteral, toLiteral bool
		forms                  dialect.References
		text, want, unknown    string
	}{
		{false, false, dialect.AllOwnRefs, "$A ${A} ${A:-b} $$A $ 5$", "${A} ${A} ${A:-b} $$A $ 5$", ""},
		{true, false, dialect.AllOwnRefs, "$A ${A} pa$word", "${DOLLAR:-$}A ${A} pa${DOLLAR:-$}word", ""},
		{true, true, dialect.EditorRefs, "$A ${A} ${env:B} ${input:c} ${workspaceFolder}", "$A ${env:A} ${env:B} ${input:c} ${workspaceFolder}", "${input:c}"},
		{false, true, dialect.EditorRefs, "$A ${A:-secret}", "${env:A} ${A:-secret}", "${A:-…}"},
		{false, true, dialect.NoReferences, "${A}${env:B}", "${A}${B}", "${A} ${B}"},
		{false, false, dialect.BracedRefs, "${env:A:-x} ${keyring:k}", "${A:-x} ${keyring:k}", "${keyring:k}"},
		{false, false, dialect.AllOwnRefs, "${file:a/b} ${unclosed", "${file:" + filepath.Join("/dir", "a/b") + "} ${unclosed", ""},
	} {
		x := &translation{fromLiteral: c.fromLiteral, toLiteral: c.toLiteral, forms: c.forms, dir: "/dir"}
		assert.Equal(t, x.text(c.text), c.want, "%s", c.text)
		assert.Equal(t, strings.Join(x.unknown, " "), c.unknown, "%s: got unknown", c.text)
	}
}

// A diff that is applied to the first text gives the second.
func TestDiffLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() []string {
		lines := make([]string, r.IntN(30))
		for i := range lines {
			lines[i] = string(rune('a' + r.IntN(4)))
		}
		return lines
	}
	for range 500 {
		a, b := text(), text()
		var was, now []string
		for _, l := range diffLines(a, b) {
			if l.a != len(was) || l.b != len(now) {
				t.Fatal("wrong place")
			}
			if l.sign != '+' {
				was = append(was, l.text)
			}
			if l.sign != '-' {
				now = append(now, l.text)
			}
		}
		if strings.Join(was, "") != strings.Join(a, "") || strings.Join(now, "") != strings.Join(b, "") {
			t.Fatalf("%q and %q give %q and %q", a, b, was, now)
		}
	}
	if got := unifiedDiff("f", []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), []byte("1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n")); got !=
		"--- f\n+++ f\n@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+10\n" {
		t.Error(got)
	}
	if got := unifiedDiff("f", nil, []byte("\x1b[31m1\r\n")); got != "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+\\x1b[31m1\n" && strings.ContainsRune(got, 0x1b) {
		t.Errorf("%q", got)
	}
}
