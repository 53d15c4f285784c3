package edit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// newKodeHome makes a user's folder with a .kode.json, and the .mcprc of a project, whose
// path it returns.
func newKodeHome(t *testing.T, kode func(project string) string) string {
	t.Helper()
	dir := t.TempDir()
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "app")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for path, text := range map[string]string{
		filepath.Join(home, ".kode.json"): kode(project),
		filepath.Join(project, ".mcprc"):  `{"yes": {"command": "a"}, "no": {"command": "b"}, "open": {"command": "c"}}`,
	} {
		assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		assert.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return filepath.Join(project, ".mcprc")
}

func decidedInKode(t *testing.T, project string) string {
	t.Helper()
	decided := map[string][]string{"approvedMcprcServers": {"yes", "no"}, "rejectedMcprcServers": {"no", "gone"}}
	text := assert.Value(json.Marshal(map[string]any{"projects": map[string]any{
		project: decided, project + "2": map[string][]string{"rejectedMcprcServers": {"yes", "open"}},
	}}))(t)
	return string(text)
}

func TestImportOfKodeDecisions(t *testing.T) {
	source := newKodeHome(t, func(project string) string { return decidedInKode(t, project) })
	target := filepath.Join(t.TempDir(), "mcp.json")
	plan := assert.Value(PlanImport(source, target, nil))(t)
	want := map[string]struct {
		decided consent.Verdict
		remark  string
	}{
		"yes":  {consent.Approved, "approval: the user has approved the name in Kode, whatever it ran: look at the command"},
		"no":   {consent.Rejected, "enabled: becomes false: the user has rejected the server in Kode"},
		"open": {},
	}
	for _, s := range plan.Servers {
		assert.Equal(t, s.Decided, want[s.Name].decided, "%s: decided", s.Name)
		remark := ""
		for _, r := range s.Remarks {
			remark += r.String()
		}
		assert.Equal(t, remark, want[s.Name].remark, "%s: the remark", s.Name)
	}
	assert.OK(t, plan.Apply(t.Context()))
	c := assert.Value(config.Load(t.Context(), target, nil))(t)
	for _, s := range c.Servers {
		assert.Equal(t, s.Enabled, s.Name != "no", "%s: got enabled", s.Name)
	}
}

// A format without a key for it cannot take a rejected server.
func TestImportOfRejectedWhereNothingIsOff(t *testing.T) {
	source := newKodeHome(t, func(project string) string { return decidedInKode(t, project) })
	plan := assert.Value(PlanImport(source, filepath.Join(t.TempDir(), ".vscode", "mcp.json"), &ImportOptions{Names: []string{"no"}}))(t)
	if got := plan.Servers[0].Skipped; got == nil || !strings.Contains(got.Error(), "switched off") {
		t.Errorf("got %v, want that it is left out because it is switched off", got)
	}
}

// What Kode cannot read either decides nothing, and the plan says so.
func TestImportOfUnreadableKodeDecisions(t *testing.T) {
	for _, text := range []string{`{"projects": `, `{"projects": {"PROJECT": {"rejectedMcprcServers": "no"}}}`, `{"projects": []}`} {
		source := newKodeHome(t, func(project string) string {
			return strings.ReplaceAll(text, "PROJECT", filepath.ToSlash(project))
		})
		plan := assert.Value(PlanImport(source, filepath.Join(t.TempDir(), "mcp.json"), nil))(t)
		for _, s := range plan.Servers {
			if len(s.Remarks) != 1 || !s.Remarks[0].Lost || s.Remarks[0].Key != "approval" {
				t.Errorf("%s, %s: got the remarks %v, want that approvals are lost", text, s.Name, s.Remarks)
			}
		}
	}
}

// A .mcprc of somebody without Kode, and other files, are imported as they are.
func TestImportWithoutKodeDecisions(t *testing.T) {
	source := newKodeHome(t, func(project string) string { return decidedInKode(t, project) })
	other := filepath.Join(filepath.Dir(source), ".mcp.json")
	assert.OK(t, os.Rename(source, other))
	for _, prepare := range []func(){
		func() { source = other },
		func() {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("USERPROFILE", os.Getenv("HOME"))
			source = filepath.Join(filepath.Dir(other), ".mcprc")
			assert.OK(t, os.Rename(other, source))
		},
	} {
		prepare()
		plan := assert.Value(PlanImport(source, filepath.Join(t.TempDir(), "mcp.json"), nil))(t)
		for _, s := range plan.Servers {
			if len(s.Remarks) > 0 || s.Decided != "" {
				t.Errorf("%s, %s: got %q and %v, want no decision", source, s.Name, s.Decided, s.Remarks)
			}
		}
	}
}
