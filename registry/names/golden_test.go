package names_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/names"
)

// nameCases are tools with names of every kind.
func nameCases() [][2]string {
	return [][2]string{
		{"github", "create_issue"}, {"github", "search_repository"}, {"github", "create_issue_abcdefghi2"},
		{"notion", "admin.users-list_all"}, {"fs", "files/read"}, {"a_b", "c"}, {"a__b", "c"}, {"a", "b__c"}, {"a_", "b"},
		{"a", "_b"}, {"1password", "get-item"}, {"-x", "y"}, {"日本", "検索"}, {"café", "crème brûlée"}, {"s", ""}, {"", "t"},
		{"s", "a\nb\x00\u202e\xff"}, {"mcp", "mcp__x"}, {"google-drive-of-the-whole-marketing-department-of-emea", "list"},
		{"github", strings.Repeat("get_pull_request_review_comment_", 4)}, {"github", strings.Repeat("n", 128)},
		{strings.Repeat("s", 64), strings.Repeat("t", 64)},
		{"github", "getPullRequestReviewCommentsOfEveryContributorOfTheRepository"},
	}
}

// nameList is the name of each case in each scheme, a line each.
func nameList() string {
	var list strings.Builder
	for _, scheme := range []names.Scheme{names.ServerTool, names.MCPServerTool, names.ColonTool, names.BareTool} {
		for _, c := range nameCases() {
			fmt.Fprintf(&list, "%s\t%q\t%q\t%s\n", scheme, c[0], c[1], scheme.Name(c[0], c[1]))
		}
	}
	return list.String()
}

const printNames = "REGISTRY_TEST_PRINT_NAMES"

// Names stay what they are: people write them into their policies, and models
// remember them. The file is never changed, only added to.
func TestNamesNeverChange(t *testing.T) {
	got := nameList()
	if os.Getenv(printNames) != "" {
		fmt.Print(got)
		return
	}
	file := filepath.Join("testdata", "names.golden")
	want := assert.Value(os.ReadFile(file))(t)
	if got != string(want) {
		for i, line := range strings.Split(got, "\n") {
			assert.Contains(t, string(want), line+"\n", "line %d of %s is now %s", i+1, file, line)
		}
		t.Errorf("%s is not what the names are", file)
	}
}

// Other processes, with other seeds of their maps, give the same names.
func TestNamesInOtherProcesses(t *testing.T) {
	exe := assert.Value(os.Executable())(t)
	want := nameList()
	for _, procs := range []string{"1", "2"} {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestNamesNeverChange$")
		cmd.Env = append(os.Environ(), printNames+"=1", "GOMAXPROCS="+procs, "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
		out := assert.Value(cmd.Output())(t)
		assert.True(t, strings.HasPrefix(string(out), want), "with GOMAXPROCS=%s the names are\n%s", procs, out)
	}
}
