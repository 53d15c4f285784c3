package layers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	// obligations is how many there are. A row is never dropped.
	obligations = 87

	conformanceFolder = "internal/conformance"
	scenarioTest      = "TestScenarios"
)

// An obligation is what the protocol demands of a client, and the tests that
// prove that ours keeps it: one row of docs/obligations.json.
type obligation struct {
	Row        int      `json:"row"`
	Obligation string   `json:"obligation"`
	Revisions  string   `json:"revisions"`
	Tests      []string `json:"tests"`   // as "folder.TestName" or "folder.TestName/subtest"
	Pending    string   `json:"pending"` // the package or file, without .go, that will hold the rest
	Rest       string   `json:"rest"`    // what that is
}

// A conformanceTable is what internal/conformance/scenarios.json says of the
// official suite: how many checks of a scenario must succeed.
type conformanceTable struct {
	Scenarios []struct {
		Name   string
		Checks int
	}
}

func (c *conformanceTable) runs(scenario string) bool {
	for _, s := range c.Scenarios {
		if s.Name == scenario {
			return s.Checks > 0
		}
	}
	return false
}

// checkObligations finds rows that are missing, and what is wrong with others.
func checkObligations(tr *tree, suite *conformanceTable, rows []obligation) []string {
	var problems []string
	for i, r := range rows {
		say := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("row %d: ", r.Row)+fmt.Sprintf(format, args...))
		}
		if r.Row != i+1 {
			say("stands at place %d", i+1)
		}
		if r.Obligation == "" || r.Revisions == "" {
			say("needs an obligation and its revisions")
		}
		switch {
		case len(r.Tests) == 0 && r.Pending == "":
			say("has no test")
		case (r.Pending == "") != (r.Rest == ""):
			say("must say both what is pending and where")
		case r.Pending != "" && tr.holds(r.Pending):
			say("is pending although there is %s: name the tests", r.Pending)
		}
		for j, name := range r.Tests {
			if err := tr.findTest(suite, name); err != "" {
				say("%s: %s", name, err)
			}
			if slices.Contains(r.Tests[:j], name) {
				say("%s: named twice", name)
			}
		}
	}
	if len(rows) != obligations {
		problems = append(problems, fmt.Sprintf("%d rows, must be %d", len(rows), obligations))
	}
	return problems
}

// holds reports whether there is a package in a folder of the given path or
// below it, or a Go file of that path, but for its ending.
func (tr *tree) holds(name string) bool {
	for folder := range tr.pkgs {
		if folder == name || strings.HasPrefix(folder, name+"/") {
			return true
		}
	}
	p := tr.pkgs[path.Dir(name)]
	return p != nil && slices.ContainsFunc(p.files, func(f *file) bool { return f.path == name+".go" })
}

// findTest returns what is wrong with the name of a test, or "".
func (tr *tree) findTest(suite *conformanceTable, name string) string {
	folder, rest, _ := strings.Cut(name, ".")
	test, sub, hasSub := strings.Cut(rest, "/")
	f := tr.testFile(folder, test)
	switch {
	case f == nil:
		return "no such test"
	case !hasSub:
		return ""
	case folder == conformanceFolder && test == scenarioTest:
		if !suite.runs(sub) {
			return "no scenario that runs"
		}
	case !f.hasLiteral(sub):
		return "no such subtest"
	}
	return ""
}

// testFile returns the file with the function of a test, or nil.
func (tr *tree) testFile(folder, test string) *file {
	p := tr.pkgs[folder]
	if p == nil || !strings.HasPrefix(test, "Test") && !strings.HasPrefix(test, "Fuzz") {
		return nil
	}
	for _, f := range p.tests() {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == test {
				return f
			}
		}
	}
	return nil
}

// hasLiteral reports whether the file writes a string, as it does the names of
// its subtests.
func (f *file) hasLiteral(text string) bool {
	found := false
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, err := strconv.Unquote(lit.Value)
			found = found || err == nil && value == text
		}
		return !found
	})
	return found
}

// obligationTable writes docs/obligations.md.
func obligationTable(rows []obligation) string {
	var b strings.Builder
	pending, body := 0, ""
	for _, r := range rows {
		var cell []string
		for _, name := range r.Tests {
			cell = append(cell, "`"+name+"`")
		}
		if r.Pending != "" {
			pending++
			cell = append(cell, fmt.Sprintf("*pending, in `%s`:* %s", r.Pending, r.Rest))
		}
		body += fmt.Sprintf("| %d | %s | %s | %s |\n", r.Row, r.Obligation, r.Revisions, strings.Join(cell, "<br>"))
	}
	b.WriteString(`# What the protocol asks of a client

Written by ` + "`make obligations`" + ` from docs/obligations.json. Do not edit.

Each row is an obligation of the Model Context Protocol on a client, of the
revisions in which it stands, and the tests that prove that this module keeps
it. ` + "`make test`" + ` fails when a row has no test or names one that is gone. It runs
the tests, except those of internal/conformance (` + "`make conformance`" + `: scenarios of
the official suite, of which a least number of checks must succeed) and of
internal/integration (` + "`make integration`" + `: real servers).

`)
	if pending > 0 {
		fmt.Fprintf(&b, "%d rows are pending, wholly or in part: what they ask for belongs to packages that do not\n"+
			"exist yet. The check fails as soon as such a package has code and the row has not been\nbrought up to date.\n\n", pending)
	}
	b.WriteString("| | a client | revisions | proven by |\n|--:|---|---|---|\n" + body)
	return b.String()
}

// strictJSON decodes a file of the repository, which may hold nothing unknown.
func strictJSON(t *testing.T, name string, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(assert.Value(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t)))
	dec.DisallowUnknownFields()
	assert.OK(t, dec.Decode(into), "%s", name)
}

// TestObligations holds docs/obligations.json against the tests that there are,
// and docs/obligations.md against both. With -update it writes the latter.
func TestObligations(t *testing.T) {
	var rows []obligation
	strictJSON(t, "docs/obligations.json", &rows)
	data := assert.Value(os.ReadFile(filepath.Join(root, filepath.FromSlash(conformanceFolder), "scenarios.json")))(t)
	var suite conformanceTable
	assert.OK(t, json.Unmarshal(data, &suite))
	for _, p := range checkObligations(repository(t), &suite, rows) {
		t.Error("docs/obligations.json: " + p)
	}
	name := filepath.Join(root, "docs", "obligations.md")
	want := obligationTable(rows)
	if *update {
		assert.OK(t, os.WriteFile(name, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(name)
	assert.True(t, err == nil && string(got) == want, "docs/obligations.md is what docs/obligations.json gives: run make obligations (%v)", err)
}

func TestObligationsSeeProblems(t *testing.T) {
	tr := sketch(t, map[string]string{
		"mcp/a_test.go":                  "package mcp\nfunc TestA() { _ = \"sub\" }\nfunc (T) TestMethod() {}\nfunc helper() {}\n",
		"mcp/a.go":                       "package mcp\nfunc TestInProduction() {}\n",
		"internal/conformance/a_test.go": "package conformance\nfunc TestScenarios() { _ = \"literal\" }\n",
		"registry/policy.go":             "package registry\n",
		"auth/flow/a.go":                 "package flow\n",
	})
	var suite conformanceTable
	assert.OK(t, json.Unmarshal([]byte(`{"scenarios":[{"name":"auth/x","checks":3},{"name":"auth/y","unsupported":"no"}]}`), &suite))
	good := func(row int) obligation {
		return obligation{Row: row, Obligation: "o", Revisions: "r", Tests: []string{"mcp.TestA", "mcp.TestA/sub", "internal/conformance.TestScenarios/auth/x"}}
	}
	var rows []obligation
	for i := range obligations {
		rows = append(rows, good(i+1))
	}
	rows[0].Pending, rows[0].Rest = "session", "storage"
	rows[1].Tests, rows[1].Pending, rows[1].Rest = nil, "host/consent", "consent"
	expect(t, checkObligations(tr, &suite, rows))

	rows[2].Tests = []string{"mcp.TestB", "mcp.TestMethod", "mcp.TestInProduction", "mcp.helper", "none.TestA", "mcp.TestA/other"}
	rows[3].Tests = []string{"internal/conformance.TestScenarios/auth/y", "internal/conformance.TestScenarios/literal"}
	rows[4].Tests = nil
	rows[5].Tests = []string{"mcp.TestA", "mcp.TestA"}
	rows[6].Pending, rows[6].Rest = "mcp", "x"
	rows[7].Pending, rows[7].Rest = "registry/policy", "x"
	rows[8].Pending = "sessions"
	rows[9].Row = 9
	rows[10].Revisions = ""
	rows[11].Pending, rows[11].Rest = "auth", "x"
	expect(t, checkObligations(tr, &suite, rows[:obligations-1]),
		"row 3: mcp.TestB: no such test",
		"row 3: mcp.TestMethod: no such test",
		"row 3: mcp.TestInProduction: no such test",
		"row 3: mcp.helper: no such test",
		"row 3: none.TestA: no such test",
		"row 3: mcp.TestA/other: no such subtest",
		"row 4: internal/conformance.TestScenarios/auth/y: no scenario that runs",
		"row 4: internal/conformance.TestScenarios/literal: no scenario that runs",
		"row 5: has no test",
		"row 6: mcp.TestA: named twice",
		"row 7: is pending although there is mcp: name the tests",
		"row 8: is pending although there is registry/policy: name the tests",
		"row 9: must say both what is pending and where",
		"row 9: stands at place 10",
		"row 11: needs an obligation and its revisions",
		"row 12: is pending although there is auth: name the tests",
		fmt.Sprintf("%d rows, must be %d", obligations-1, obligations),
	)
}
