package toolname

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFold(t *testing.T) {
	for name, want := range map[string]string{
		"GitHub__Create-Issue": "github|create|issue", "githubCreateIssue": "github|createissue", "GithubCreateIssue": "githubcreateissue",
		"a1_2b": "a1_|2b", "a_1": "a|1", "__a__": "a", " a . b ": "a|b", "": "", "_": "", "ÄÖ/ü": "äö|ü", "x\ty": "x\ty", "1_٢": "1_|٢",
	} {
		f := Fold(name)
		got := f.Folded
		for i := len(f.Cuts) - 1; i >= 0; i-- {
			got = got[:f.Cuts[i].Next] + "|" + got[f.Cuts[i].Next:]
		}
		assert.Equal(t, got, want, "%q is folded to", name)
	}
}

func TestSplits(t *testing.T) {
	for name, want := range map[string][]string{
		"github__create_issue": {"github|createissue"},
		"a__b__c":              {"a|bc", "ab|c"},
		"git_hub_fetch":        {"git|hubfetch", "github|fetch"},
		"notesCreate":          {"notes|create"},
		"notes":                nil,
	} {
		var got []string
		for server, tool := range Fold(name).Splits() {
			got = append(got, server+"|"+tool)
		}
		assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want), "%q", name)
	}
}

func TestWithoutMCP(t *testing.T) {
	for name, want := range map[string]string{
		"mcp__git__fetch": "gitfetch [git|fetch]", "functions.fetch": "fetch []", "defaultApi:git_fetch": "gitfetch [git|fetch]",
		"default_api_fetch": "fetch []", "mcp": " []", "git_mcp_fetch": " []", "fetch": " []",
	} {
		var splits []string
		rest := Fold(name).WithoutMCP()
		for server, tool := range rest.Splits() {
			splits = append(splits, server+"|"+tool)
		}
		assert.Equal(t, fmt.Sprint(rest.Folded, " ", splits), want, "of %q is left", name)
	}
}

func TestCheck(t *testing.T) {
	for name, want := range map[string]string{
		"aZ0_-.": "<nil>", strings.Repeat("a", 128): "<nil>", "": "has 0 characters, want 1 to 128",
		strings.Repeat("a", 129): "has 129 characters, want 1 to 128",
		"a b":                    "contains ' ', allowed are letters, digits, '_', '-' and '.'",
		"ä":                      "contains 'ä', allowed are letters, digits, '_', '-' and '.'",
	} {
		assert.Equal(t, fmt.Sprint(Check(name)), want, "%q", name)
	}
}
