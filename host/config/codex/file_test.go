package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestEditFile(t *testing.T) {
	start, err := os.ReadFile(filepath.Join("testdata", "config.toml"))
	assert.OK(t, err)
	path := filepath.Join(t.TempDir(), "config.toml")
	assert.OK(t, os.WriteFile(path, start, 0o600))
	opts := &config.Options{Formats: []config.Format{Format()}}
	assert.OK(t, edit.Change(t.Context(), path, opts, func(f *edit.File) error {
		r, err := f.Record("context7")
		if err != nil {
			return err
		}
		r.Env["MORE"] = "${X}"
		if err := f.Set("context7", &record.Patch{
			Env: record.Some(r.Env), Disabled: record.Some(true), ReadTimeout: record.Some(2 * r.ReadTimeout),
			Tools: record.Some(config.ToolFilter{Allow: []string{"search"}, Deny: []string{"rm", "mv"}}),
		}); err != nil {
			return err
		}
		if err := f.Set("two words", &record.Patch{Name: record.Some("two more words"), Cwd: record.Some("/srv")}); err != nil {
			return err
		}
		if err := f.Remove("tools"); err != nil {
			return err
		}
		if err := f.Add(&record.Record{Name: "new", URL: "https://new.example.com", Transport: config.TransportHTTP,
			Headers: map[string]config.Secret{"X-A": "b"}, Tools: config.ToolFilter{Allow: []string{"one"}}}); err != nil {
			return err
		}
		// What a variable of Codex says is changed by hand.
		err = f.Set("figma", &record.Patch{Headers: record.Some(map[string]config.Secret{"Authorization": "Bearer x"})})
		if err == nil || !strings.Contains(err.Error(), "by hand") {
			return fmt.Errorf("want an error, got %w", err)
		}
		return nil
	}))
	got := assert.Value(os.ReadFile(path))(t)
	golden := filepath.Join("testdata", "edited.want")
	if *update {
		assert.OK(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(got) != string(want) {
		t.Errorf("%v, got\n%s", err, got)
	}
}

func TestImportToCodex(t *testing.T) {
	dir := t.TempDir()
	source, target := filepath.Join(dir, ".mcp.json"), filepath.Join(dir, "config.toml")
	text := `{"mcpServers": {"files": {"command": "npx", "env": {"TOKEN": "sk-abcdefghijkl9876"}, "tools": {"deny": ["rm"], "rename": {"a": "b"}}},
		"events": {"url": "https://example.com/sse", "type": "sse"}}}`
	assert.OK(t, os.WriteFile(source, []byte(text), 0o600))
	plan := assert.Value(edit.PlanImport(source, target, &edit.ImportOptions{To: &config.Options{Formats: []config.Format{Format()}}}))(t)
	want := "[{files <nil> [tools.rename: has no place in a file of the format codex]" + `  : 'server files' && : 'tools: not ["rm"]' && TOKEN='sk-****9876' 'npx'}` +
		" {events the transport sse has no place in a file of the format codex []  <nil>}]"
	assert.Equal(t, fmt.Sprint(plan.Servers), want, "the servers")
	if !strings.HasSuffix(plan.Diff, "@@ -0,0 +1,4 @@\n+[mcp_servers.files]\n+command = \"npx\"\n+env = { TOKEN = \"sk-****9876\" }\n+disabled_tools = [\"rm\"]\n") {
		t.Error(plan.Diff)
	}
	if err := plan.Apply(t.Context()); err != nil {
		t.Error(err)
	}
}
