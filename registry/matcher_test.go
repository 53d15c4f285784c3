package registry

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// A definedTool is a tool that is nothing but its definition.
type definedTool struct{ def *Definition }

func (t definedTool) Definition() *Definition { return t.def }

func (t definedTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return nil, nil
}

// snapshotOf lists tools, given as "server/tool", as "server/tool=alias" or, if
// native, as "name".
func snapshotOf(t testing.TB, n names.Scheme, tools ...string) *Snapshot {
	t.Helper()
	var order []*entry
	for _, tool := range tools {
		def := &Definition{Name: tool, InputSchema: json.RawMessage(`{}`)}
		if server, tool, ok := strings.Cut(tool, "/"); ok {
			tool, def.Alias, _ = strings.Cut(tool, "=")
			def.Origin = Origin{Server: server, Tool: tool}
		}
		order = append(order, &entry{tool: definedTool{def}, def: def})
	}
	for _, e := range order {
		if e.def.Origin.Server != "" {
			e.def.Name = n.Name(e.def.Origin.Server, e.def.localName())
		}
	}
	slices.SortFunc(order, func(a, b *entry) int { return strings.Compare(a.def.Name, b.def.Name) })
	return &Snapshot{entries: order}
}

// forgiven returns what snapshotOf was given for the tool that fits, or "".
func forgiven(s *Snapshot, name string) string {
	e := s.matcher.of(s.entries).resolve(name)
	switch {
	case e == nil:
		return ""
	case e.def.Origin.Server == "":
		return e.def.Name
	case e.def.Alias != "":
		return e.def.Origin.Server + "/" + e.def.Origin.Tool + "=" + e.def.Alias
	}
	return e.def.Origin.Server + "/" + e.def.Origin.Tool
}

// Whatever the scheme is, a tool is found by what models make of its name.
func TestForgivenSpellings(t *testing.T) {
	tools := []string{
		"github/create_issue", "github/list_issues", "gitlab/list_issues", "google-drive/list", "files/page_1_2",
		"notion/admin.users-list", "notion/" + strings.Repeat("very_long_", 12) + "name", "1password/getItem",
		"日本/検索", "web2/3d", "mail/send_message=dispatch", "mcp-notes/write", "shell", "run_tests", "Größe",
	}
	want := map[string]string{
		// Case and separators.
		"GITHUB__CREATE_ISSUE": "github/create_issue", "GitHub__CreateIssue": "github/create_issue",
		"github-create-issue": "github/create_issue", "github__create-issue": "github/create_issue",
		"Github Create Issue": "github/create_issue", "githubCreateIssue": "github/create_issue",
		"google_drive__list": "google-drive/list", "google_drive_list": "google-drive/list",
		"RunTests": "run_tests", "run-tests": "run_tests", "RUN.TESTS": "run_tests", "runtests": "run_tests", "Shell": "shell",
		"größe": "Größe", "files__page-1-2": "files/page_1_2", "web2_3D": "web2/3d", "1Password__get_item": "1password/getItem",
		"日本::検索": "日本/検索",
		//report: Models | respawn-llc/kent#45, google-gemini/gemini-cli#25952, lbjlaq/Antigravity-Manager#938 | models write functions., tools. or default_api: before the name of a tool | the prefix is forgiven
		"functions.github__create_issue": "github/create_issue", "default_api:github__create_issue": "github/create_issue", "default_api.github__create_issue": "github/create_issue", "tools.github__create_issue": "github/create_issue",
		//report: Models | RooCodeInc/Roo-Code#10642, anthropics/claude-code#80065, NousResearch/hermes-agent#82876, cloudflare/agents#806 | models write underscores for the hyphens of a server or tool, or hyphens where the client made underscores | both are forgiven
		"mcp__google_drive__list": "google-drive/list", "mcp--google-drive--list": "google-drive/list", "google-drive-list": "google-drive/list",
		//report: Models | github/copilot-sdk#861, archestra-ai/archestra#2216 | other clients call a server by its title, such as github-mcp-server, and a model writes that before the name of a tool | it is forgiven, unless there is a server of that name
		"github-mcp-server__create_issue": "github/create_issue", "GitHub MCP Server: create_issue": "github/create_issue", "github_mcp_server_create_issue": "github/create_issue", "mcp__github_mcp_server__create_issue": "github/create_issue",
		"github-server__create_issue": "", "mcp_server__create_issue": "", "other-mcp-server__create_issue": "",
		//report: Models | anomalyco/opencode#31506 | the name of a server has a capital, and the model or a client writes it without | case does not count
		"Github_create_issue": "github/create_issue",
		// Other schemes.
		"github:create_issue": "github/create_issue", "github.create_issue": "github/create_issue",
		"github/create_issue": "github/create_issue", "github_create_issue": "github/create_issue",
		"github__create_issue": "github/create_issue", "mcp__github__create_issue": "github/create_issue",
		"mcp_github_create_issue": "github/create_issue", "MCP:github:createIssue": "github/create_issue",
		"mcp__github_create_issue": "github/create_issue", "mcp__mcp_notes__write": "mcp-notes/write",
		"mcp_notes_write": "mcp-notes/write",
		// The name that the tool has at its server, and its alias.
		"notion__admin.users-list": "notion/admin.users-list", "notion:admin_users_list": "notion/admin.users-list",
		"1password__getItem": "1password/getItem", "日本__検索": "日本/検索",
		"mail__send_message": "mail/send_message=dispatch", "mail_dispatch": "mail/send_message=dispatch", "Dispatch": "mail/send_message=dispatch",
		// Without the server.
		"create_issue": "github/create_issue", "CreateIssue": "github/create_issue", "__create_issue": "github/create_issue",
		"getitem": "1password/getItem", "検索": "日本/検索", "write": "mcp-notes/write",
		// Several tools, or none.
		"list_issues": "", "List-Issues": "", "": "", "_": "", "__": "", ":": "", "mcp__": "", "mcp": "",
		"github": "", "github__": "", "create": "", "issue": "", "create_issues": "", "github__issue": "",
		"files__page_12": "", "page_12": "", "gitlab__create_issue": "", "unknown__create_issue": "", "unknown.create_issue": "",
		"gitlab_create_issue": "", "mcp__gitlab__create_issue": "", "mcp__create_issue": "", "git__hub_create_issue": "",
		"github__create_issue\n": "", "github__create_issue\x00": "", "create_issue()": "", "github__github__create_issue": "",
		"shel": "", "shells": "", "github__create_issue\xff": "", "mcp__shell": "",
		strings.Repeat("github__create_issue", 1000): "", strings.Repeat("_", 1<<20): "", strings.Repeat("a_", 256): "",
	}
	for _, n := range []names.Scheme{names.ServerTool, names.MCPServerTool, names.ColonTool} {
		s := snapshotOf(t, n, tools...)
		for name, want := range want {
			assert.Equal(t, forgiven(s, name), want, "%s: %.60q is forgiven as", n, name)
		}
		// Names as they are listed, and as models write them.
		for _, e := range s.entries {
			name := e.def.Name
			for _, asked := range []string{name, strings.ToUpper(name), strings.ReplaceAll(name, "__", ":"), strings.ReplaceAll(name, "-", "_")} {
				assert.Equal(t, s.matcher.of(s.entries).resolve(asked), e, "%s", n)
			}
		}
	}
}

// Forgiveness never leads to another tool than the one that is meant, whatever a
// hostile server calls its tools.
func TestForgivenessIsNotMisled(t *testing.T) {
	for _, test := range []struct {
		about  string
		listed names.Scheme
		tools  []string
		asked  map[string]string
	}{
		{"a part of a name", names.ServerTool, []string{"db/delete_all", "db/undelete", "fs/delete_file"}, map[string]string{
			"delete": "", "db__delete": "", "DELETE": "", "all": "", "delete_al": "", "file": "",
		}},
		{"the server went away", names.ServerTool, []string{"git/hub__create_issue", "evil/github__create_issue", "other/github_create_issue"}, map[string]string{
			"github__create_issue": "", "GitHub__create_issue": "", "github:create_issue": "", "github.create_issue": "",
			"mcp__github__create_issue": "", "GitHubCreateIssue": "", "githubcreateissue": "",
		}},
		{"a server has the name of another's title", names.ServerTool, []string{"github/list", "github-mcp-server/other"}, map[string]string{
			"github-mcp-server__list": "", "github_mcp_server_list": "", "github-mcp-server__other": "github-mcp-server/other",
		}},
		{"the tool went away", names.ServerTool, []string{"github/list", "evil/github_create_issue"}, map[string]string{
			"github__create_issue": "", "github_create_issue": "", "github-create-issue": "", "githubCreateIssue": "",
			"mcp__github__create_issue": "", "mcp_github_create_issue": "", "evil_github_create_issue": "evil/github_create_issue",
		}},
		{"the server went away, and there are bare names", names.BareTool, []string{"evil/github__list", "evil/mcp__github__list"}, map[string]string{
			"GitHub__list": "", "github:list": "", "mcp__github:list": "",
		}},
		{"a tool is called like that of another server", names.ServerTool, []string{"github/create", "evil/github_create"}, map[string]string{
			"GitHub__create": "github/create", "github:create": "github/create", "github_create": "", "github-create": "",
		}},
		{"tools that differ in case or separators", names.ServerTool, []string{"docs/search", "docs/Search", "docs/list_all", "docs/list-all", "docs/x"}, map[string]string{
			"search": "", "Search": "", "docs:search": "", "DOCS__SEARCH": "", "list_all": "", "docs_list_all": "", "docs.X": "docs/x",
		}},
		{"native tools and those of servers", names.ServerTool, []string{"notes_create", "notes/create", "notes_drop", "search", "docs/search", "notes__list"}, map[string]string{
			"Notes_Create": "", "notes:create": "notes/create", "notes__drop": "", "NOTES_DROP": "notes_drop", "Search": "", "docs.search": "docs/search",
		}},
		{"a server called mcp", names.ServerTool, []string{"mcp/list", "a/read", "a/list"}, map[string]string{
			"mcp__read": "", "mcp:list": "mcp/list", "mcp__a__read": "", "MCP_LIST": "mcp/list", "mcp__mcp__list": "",
		}},
		{"servers that begin alike", names.ServerTool, []string{"mcp-notes/list", "notes/create", "google/drive_list", "google-drive/read"}, map[string]string{
			"mcp-notes-create": "", "mcp_notes__create": "", "mcp__notes__create": "", "google-drive__list": "", "google_drive:list": "", "google__drive_list": "google/drive_list",
		}},
		{"servers that fold to the same", names.ServerTool, []string{"my-notes/list", "my_notes/list", "my_notes/read"}, map[string]string{
			"my.notes__list": "", "MY-NOTES__LIST": "", "MY-NOTES__READ": "my_notes/read",
		}},
		{"a tool that has the name of its server too", names.ServerTool, []string{"github/github_search", "git/list"}, map[string]string{
			"github_search": "github/github_search", "GITHUB-SEARCH": "github/github_search", "git_github_search": "",
		}},
		{"names that are not UTF-8, or too long", names.ServerTool, []string{"odd\ufffd"}, map[string]string{
			"ODD\ufffd": "odd\ufffd", "ODD\xff": "", strings.Repeat("_", 500) + "Odd\ufffd": "odd\ufffd", strings.Repeat("_", 600) + "Odd\ufffd": "",
		}},
		{"numbers", names.ServerTool, []string{"a/page_1_2", "a/page_12x", "a/v2"}, map[string]string{
			"page_12": "", "page-1.2": "", "page-1-2": "a/page_1_2", "page_12_x": "a/page_12x", "page_1_2x": "", "V_2": "a/v2",
		}},
	} {
		s := snapshotOf(t, test.listed, test.tools...)
		for name, want := range test.asked {
			assert.Equal(t, forgiven(s, name), want, "%s: %q is forgiven as", test.about, name)
		}
	}
}

// Lookup forgives nothing.
func TestLookupIsExact(t *testing.T) {
	s := snapshotOf(t, names.ServerTool, "github/create_issue", "shell")
	for _, name := range []string{"github_create_issue", "GITHUB__create_issue", "create_issue", "Shell", "shell "} {
		assert.False(t, s.matcher.of(s.entries).resolve(name) == nil, "%q is not forgiven", name)
		_, listed := s.Lookup(name)
		assert.False(t, listed, "%q is listed", name)
	}
}

// Many calls may be the first that need forgiveness.
func TestForgiveAtOnce(t *testing.T) {
	s := snapshotOf(t, names.ServerTool, "github/create_issue", "shell")
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { assert.Equal(t, forgiven(s, "createIssue"), "github/create_issue", "found") })
	}
	wg.Wait()
}

// A forgiven name has the letters of the tool it leads to and, but for those of
// the server and "mcp", no others.
func FuzzForgive(f *testing.F) {
	f.Add("github__create_issue", "github", "create_issue", "git", "hub_create_issue", "shell")
	f.Add("mcp__a__b", "mcp", "a__b", "a", "b", "mcp_a_b")
	f.Add("a_b_c", "a", "b_c", "a_b", "c", "abc")
	f.Add("1_2", "1", "2", "", "_", "12")
	f.Fuzz(func(t *testing.T, name, server, tool, server2, tool2, native string) {
		var entries []*entry
		for _, def := range []*Definition{
			{Origin: Origin{server, tool}}, {Origin: Origin{server2, tool2}}, {Name: native},
		} {
			if def.Origin.Server != "" {
				def.Name = names.ServerTool.Name(def.Origin.Server, def.Origin.Tool)
			}
			entries = append(entries, &entry{def: def})
		}
		s := &Snapshot{entries: entries}
		e := s.matcher.of(s.entries).resolve(name)
		assert.Equal(t, s.matcher.of(s.entries).resolve(name), e)
		if e == nil {
			return
		}
		assert.True(t, utf8.ValidString(name), "a name that is forgiven is UTF-8")
		letters := func(s string) string { return strings.ReplaceAll(toolname.Fold(s).Folded, "_", "") }
		asked := letters(name)
		for _, prefix := range []string{"", letters(e.def.Origin.Server), "mcp" + letters(e.def.Origin.Server)} {
			if rest, ok := strings.CutPrefix(asked, prefix); ok &&
				(rest == letters(e.def.Origin.Tool) || strings.HasSuffix(letters(e.def.Name), rest)) {
				return
			}
		}
		t.Fatalf("%q is forgiven as %+v", name, e.def)
	})
}

// TestResolveNames has Meant name the tool that Call calls.
func TestResolveNames(t *testing.T) {
	native := MustFunc("show_it", "", func(context.Context, struct{}) (string, error) { return "", nil })
	r := New(nil)
	assert.OK(t, r.Add(native))
	for name, want := range map[string]bool{"show_it": true, "Show_It": true, "nobody": false, "": false} {
		def, ok := r.Resolve(name)
		_, err := r.Call(t.Context(), name, nil)
		assert.Equal(t, ok, want, "%q", name)
		assert.Equal(t, ok, err == nil, "%q", name)
		assert.True(t, !ok || def.Name == "show_it", "%q is %v", name, def)
	}
}
