package edit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// TestImportOpenCode carries servers to and from the file of OpenCode.
func TestImportOpenCode(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	ours := write(".mcp.json", `{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "--token=sk-abcdefghijklmnop1234", "$HOME"], "env": {"A": "${B}", "C": "${D:-e}", "K": "${keyring:k}"}, "lazy": true, "connectTimeoutSeconds": 9},
		"web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
		"off": {"command": "x", "enabled": false}}}`)
	theirs := filepath.Join(dir, "opencode.json")
	plan := assert.Value(PlanImport(ours, theirs, &ImportOptions{OwnKeys: true}))(t)
	assert.OK(t, plan.Apply(t.Context()))
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
	assert.Equal(t, readText(t, theirs), wantFile)
	var lost []string
	for _, s := range plan.Servers {
		for _, r := range s.Remarks {
			if r.Lost {
				lost = append(lost, s.Name+" "+r.Key)
			}
		}
	}
	assert.Equal(t, fmt.Sprintf("%q", lost), `["files env.C" "files env.K" "files lazy"]`)

	back := filepath.Join(dir, "back.json")
	plan = assert.Value(PlanImport(theirs, back, nil))(t)
	assert.OK(t, plan.Apply(t.Context()))
	c := assert.Value(config.Load(t.Context(), back, &config.Options{Lookup: func(name string) (string, bool) { return "<" + name + ">", name != "DOLLAR" }}))(t)
	assert.Equal(t, len(c.Servers), 3)
	for name, want := range map[string]string{"A": "<B>", "C": "${D:-e}", "K": "${keyring:k}"} {
		assert.Equal(t, c.Servers[0].Env[name].Reveal(), want, "%s", name)
	}
	assert.Equal(t, c.Servers[1].Headers["Authorization"].Reveal(), "Bearer <TOKEN>")
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
		assert.Equal(t, x.text(test.text), test.want, "%s", test.text)
		assert.Equal(t, strings.Join(x.unknown, " "), test.unknowns, "%s: got unknown", test.text)
	}
}
