// Tests of find.go, merge.go and network.go: where the files are, and what counts of them.

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// places returns the locations as lines, without those of other clients.
func places(list []Location, clients ...string) []string {
	var lines []string
	for _, l := range list {
		if slices.Contains(clients, l.Client) {
			lines = append(lines, l.Client+" "+l.Format+" "+string(l.Scope)+" "+l.Path)
		}
	}
	return lines
}

// TestFindOnEachSystem has the places of the user on Linux, and how they differ on other
// systems and with variables.
func TestFindOnEachSystem(t *testing.T) {
	const linux = `Claude Desktop mcpServers user /home/ann/.config/Claude/claude_desktop_config.json
Claude Code mcpServers user /home/ann/.claude.json
Cursor mcpServers user /home/ann/.cursor/mcp.json
Windsurf mcpServers user /home/ann/.codeium/windsurf/mcp_config.json
VS Code vscode user /home/ann/.config/Code/User/mcp.json
VS Code vscode user /home/ann/.config/Code/User/settings.json
Cline mcpServers user /home/ann/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json
Gemini CLI mcpServers user /home/ann/.gemini/settings.json
Zed zed user /home/ann/.config/zed/settings.json
Codex codex user /home/ann/.codex/config.toml
Goose goose user /home/ann/.config/goose/config.yaml
OpenCode opencode user /home/ann/.config/opencode/opencode.json
OpenCode opencode user /home/ann/.config/opencode/opencode.jsonc
Crush crush user /home/ann/.config/crush/crush.json
Kiro mcpServers user /home/ann/.kiro/settings/mcp.json
Junie mcpServers user /home/ann/.junie/mcp/mcp.json
Roo Code mcpServers user /home/ann/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json
Kilo Code mcpServers user /home/ann/.config/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json
Amazon Q mcpServers user /home/ann/.aws/amazonq/mcp.json
Factory mcpServers user /home/ann/.factory/mcp.json
Warp mcpServers user /home/ann/.warp/.mcp.json
Continue continue user /home/ann/.continue/config.yaml
Kode mcpServers user /home/ann/.kode.json
IronClaw ironclaw user /home/ann/.ironclaw/mcp-servers.json`
	var clients []string
	for line := range strings.Lines(linux) {
		client, _, _ := strings.Cut(line, " user ")
		clients = append(clients, client[:strings.LastIndexByte(client, ' ')])
	}
	for _, test := range []struct {
		name    string
		opts    FindOptions
		env     map[string]string
		differs []string // what replaces what
	}{
		{"linux", FindOptions{GOOS: "linux", Home: "/home/ann"}, nil, nil},
		{"darwin", FindOptions{GOOS: "darwin"}, map[string]string{"HOME": "/Users/ann", "XDG_CONFIG_HOME": ""}, []string{
			"/home/ann/.config/Claude", "/Users/ann/Library/Application Support/Claude", "/home/ann/.config/Code", "/Users/ann/Library/Application Support/Code",
			"/home/ann", "/Users/ann"}},
		{"windows", FindOptions{GOOS: "windows"}, map[string]string{"USERPROFILE": "/Users/ann", "APPDATA": "/Roaming", "LOCALAPPDATA": "/Local"}, []string{
			"/home/ann/.config/Claude", "/Roaming/Claude", "/home/ann/.config/Code", "/Roaming/Code", "/home/ann/.config/zed", "/Roaming/Zed",
			"/home/ann/.config/goose", "/Roaming/Block/goose/config", "/home/ann/.config/crush", "/Local/crush", "/home/ann", "/Users/ann"}},
		{"moved", FindOptions{GOOS: "linux", Home: "/h"}, map[string]string{"XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/k", "OPENCODE_CONFIG": "/o/my.json"}, []string{
			"OpenCode opencode user /home/ann/.config/opencode/opencode.json\n", "OpenCode opencode user /o/my.json\nOpenCode opencode user /x/opencode/opencode.json\n",
			"/home/ann/.config", "/x", "/home/ann/.codex", "/c", "/home/ann/.claude.json", "/k/.claude.json", "/home/ann", "/h"}},
	} {
		test.opts.Lookup = func(name string) (string, bool) { value, ok := test.env[name]; return value, ok }
		got := strings.Join(places(Find(&test.opts), clients...), "\n")
		assert.Equal(t, got, strings.NewReplacer(test.differs...).Replace(linux), "%s", test.name)
	}
	nobody := Find(&FindOptions{GOOS: "linux", Lookup: func(string) (string, bool) { return "", false }})
	assert.Equal(t, len(places(nobody, clients...)), 0, "places of nobody")
}

// TestFindGoesUpToTheRepository and no further.
func TestFindGoesUpToTheRepository(t *testing.T) {
	//report: Config files | google-gemini/gemini-cli#13765 | a project has its servers in the `.mcp.json` of another program | that of the folder and of those above it, up to the repository, is read, beside the user's files
	for _, test := range []struct {
		goos, project, root string
		want                []string
	}{
		{"linux", "/src/repo/a/b", "/src/repo", []string{"/src/repo/a/b/.mcp.json", "/src/repo/a/.mcp.json", "/src/repo/.mcp.json"}},
		{"linux", "/src/repo", "/src/repo", []string{"/src/repo/.mcp.json"}},
		{"linux", "/src/repo/a", "", []string{"/src/repo/a/.mcp.json"}},
		{"linux", "/", "", []string{"/.mcp.json"}},
		{"linux", "", "", nil},
	} {
		f := newFinder(&FindOptions{GOOS: test.goos, Home: "/home/ann", Project: test.project, Lookup: func(string) (string, bool) { return "", false }})
		f.exists = func(string) bool { return true }
		f.isRoot = func(folder string) bool { return folder == test.root }
		found := f.find()
		var got []string
		for _, l := range found {
			if l.Client == "Claude Code" && l.Scope == ScopeProject {
				got = append(got, l.Path)
			}
			assert.True(t, l.Client == "Claude Desktop" || strings.HasSuffix(l.Path, ".mcprc") == (l.Scope == ScopeRC), "%+v", l)
			assert.True(t, l.Exists && l.Project == test.project, "%+v", l)
		}
		assert.Equal(t, fmt.Sprint(got), fmt.Sprint(test.want), "%s", test.project)
	}
	// A folder that is both: its file is the user's.
	for _, l := range Find(&FindOptions{GOOS: "linux", Home: "/home/ann", Project: "/home/ann", Lookup: func(string) (string, bool) { return "", false }}) {
		assert.True(t, l.Path != "/home/ann/.cursor/mcp.json" || l.Scope == ScopeUser, "%+v", l)
	}
}

// TestLoadAll goes over real files of a user and a project.
func TestLoadAll(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		assert.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
	}
	write("mcp.json", `not read: above the repository`)
	write("repo/.git/HEAD", "")
	write("repo/.mcp.json", `{"mcpServers": {"github": {"command": "root"}, "a.b": {"command": "root"}, "trusted": {"command": "x", "trust": true}}}`)
	write("repo/sub/.mcp.json", `{"mcpServers": {"github": {"command": "${workspaceFolder}/near"}}}`)
	write("repo/sub/.vscode/settings.json", `{"editor.tabSize": 4}`)
	write("repo/sub/.zed/settings.json", `{broken`)
	write("repo/sub/.mcprc", `{"github": {"command": "rc"}, "rc": {"command": "rc", "enabled": false}}`)
	write("home/.cursor/mcp.json", `{"mcpServers": {"github": {"command": "user"}, "a b": {"command": "user"}, "rc": {"command": "user"}, "mine": {"command": "user"}}}`)
	write("home/.gemini/settings.json", `{"mcpServers": {"mine": {"command": "gemini"}}}`)
	assert.OK(t, os.Mkdir(filepath.Join(dir, "home", ".kode.json"), 0o700))
	locations := Find(&FindOptions{Home: filepath.Join(dir, "home"), GOOS: "linux", Project: filepath.Join(dir, "repo", "sub"),
		Lookup: func(string) (string, bool) { return "", false }})
	configs, err := LoadAll(t.Context(), locations, &Options{Lookup: lookup})
	assert.Fails(t, err, "LoadAll")
	assert.Equal(t, strings.Count(err.Error(), "\n"), 0, "LoadAll")
	assert.Contains(t, err.Error(), filepath.Join(".zed", "settings.json")+":1:2: ", "LoadAll")
	merged := Merge(configs...)
	var got []string
	for _, s := range merged.Servers {
		rel, _ := filepath.Rel(dir, s.Source.File)
		command, _ := filepath.Rel(dir, s.Command)
		if !filepath.IsAbs(s.Command) {
			command = s.Command
		}
		got = append(got, strings.Join([]string{s.Name, s.Title, filepath.ToSlash(command), filepath.ToSlash(rel), string(s.Source.Scope)}, ","))
	}
	assert.Equal(t, strings.Join(got, "\n"), `github,github,repo/sub/near,repo/sub/.mcp.json,project
a_b,a.b,root,repo/.mcp.json,project
trusted,trusted,x,repo/.mcp.json,project
rc,rc,rc,repo/sub/.mcprc,rc
mine,mine,user,home/.cursor/mcp.json,user`, "servers")
	assert.False(t, merged.Servers[2].Trust, "merged.Servers[2].Trust")
	assert.True(t, merged.Servers[3].Disabled, "merged.Servers[3].Disabled")
	got = nil
	for _, s := range merged.Shadowed {
		got = append(got, strings.ReplaceAll(filepath.ToSlash(s.String()), filepath.ToSlash(dir)+"/", ""))
	}
	assert.Equal(t, strings.Join(got, "\n"), `github (repo/.mcp.json:1) is hidden by repo/sub/.mcp.json:1
github (repo/sub/.mcprc:1) is hidden by repo/sub/.mcp.json:1
github (home/.cursor/mcp.json:1) is hidden by repo/sub/.mcp.json:1
a_b (home/.cursor/mcp.json:1) is hidden by repo/.mcp.json:1
rc (home/.cursor/mcp.json:1) is hidden by repo/sub/.mcprc:1
mine (home/.gemini/settings.json:1) is hidden by home/.cursor/mcp.json:1`, "hidden")
	assert.Equal(t, [...]any{len(merged.Warnings), merged.Path}, [...]any{1, ""})
}

// TestMergeKeepsFaultyNamesApart: what has no name of its own takes none from others.
func TestMergeKeepsFaultyNamesApart(t *testing.T) {
	parse := func(scope Scope, text string) *Config {
		return assert.Value(Parse(t.Context(), "f", []byte(`{"mcpServers": `+text+`}`), &Options{Scope: scope}))(t)
	}
	merged := Merge(parse(ScopeProject, `{"a b": {"command": "x"}, "a.b": {"command": "x"}, "": {"command": "x"}}`), nil,
		parse(ScopeUser, `{"a_b_2": {"command": "good"}, "server_2": {"command": "good"}, "": {"command": "x"}}`))
	var got []string
	seen := map[string]bool{}
	for _, s := range merged.Servers {
		assert.False(t, seen[s.Name], "%s is there twice", s.Name)
		seen[s.Name] = true
		got = append(got, s.Name+"="+s.Title)
	}
	assert.Equal(t, strings.Join(got, " "), "a_b=a b a_b_2=a_b_2 server_2=server_2 a_b_2_2=a.b server_2_2= server_3=")
	assert.Equal(t, len(merged.Shadowed), 0)
}

// TestFindIgnoresRelativeVariables: a variable that is no absolute path makes no file of
// the folder that the program runs in the user's.
func TestFindIgnoresRelativeVariables(t *testing.T) {
	for _, test := range []struct {
		goos, home string
		relative   []string
	}{
		{"linux", "/home/ann", []string{".", "cfg", "./cfg", "../cfg", `C:\cfg`}},
		{"darwin", "/Users/ann", []string{".", "cfg"}},
		{"windows", "/Users/ann", []string{".", "cfg"}},
	} {
		want := Find(&FindOptions{GOOS: test.goos, Home: test.home, Lookup: func(string) (string, bool) { return "", false }})
		for _, value := range test.relative {
			lookup := func(string) (string, bool) { return value, true }
			assert.Equal(t, fmt.Sprint(Find(&FindOptions{GOOS: test.goos, Home: test.home, Lookup: lookup})), fmt.Sprint(want), "%s, variables that are %s", test.goos, value)
			assert.Equal(t, len(Find(&FindOptions{GOOS: test.goos, Lookup: lookup})), 0, "%s, variables and the user's folder that are %s", test.goos, value)
		}
	}
}

// A file of another machine is not touched for a project's file before its approval.
func TestElsewhere(t *testing.T) {
	for path, want := range map[string]bool{`\\host\share\f`: true, `//host/share/f`: true, `\/host/f`: true, `\\?\UNC\host\f`: true, `C:\p\f`: false, `\p`: false} {
		assert.Equal(t, [...]bool{elsewhere("windows", path), elsewhere("linux", path)}, [...]bool{want, false})
	}
}

// A sandbox that is not there is told.
func TestSandboxTold(t *testing.T) {
	c := assert.Value(Parse(t.Context(), "mcp.json", []byte(`{"servers":{"a":{"command":"c","sandboxEnabled":true,"sandbox":{"network":{}}},"b":{"command":"c","sandboxEnabled":false}}}`), nil))(t)
	assert.Equal(t, len(c.Warnings), 1)
	assert.Equal(t, c.Warnings[0].Key, "servers.a.sandboxEnabled")
	assert.Contains(t, c.Warnings[0].Error(), "isolation")
	assert.OK(t, c.Servers[0].Err)
	assert.Equal(t, len(c.Servers[0].Extra), 2)
}

// What lies in a usual place is a regular file.
func TestLoadIrregular(t *testing.T) {
	for _, scope := range []Scope{ScopeProject, ScopeRC, ScopeUser} {
		assert.Is(t, assert.Err(Load(t.Context(), t.TempDir(), &Options{Scope: scope})), errNotRegular, "%s", scope)
	}
}
