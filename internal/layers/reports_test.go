package layers

import (
	"cmp"
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	reportsPage     = "docs/compatibility.md"
	reportDirective = "//report:"
)

const reportsHead = `# Look up what real servers, providers and clients do

<!-- Written by ` + "`go test ./internal/layers -run TestReports -update`" + ` from the tests. -->

Each row is a public report about a client, a server, a gateway or a provider, named as
owner/name#number, or a page of a provider's documentation. The test in its last column
rebuilds it with a fake peer. What cannot do harm is taken as it comes. Where the
specification asks for something else than the report, the row says so.
`

// reportSource is how a row names where it comes from.
var reportSource = regexp.MustCompile(`^([\w.-]+/[\w.-]+#\d+|[\w.' -]+ https://\S+)$`)

// TestReports holds docs/compatibility.md against the directives of the tests:
//
//	//report: SECTION | SOURCE, SOURCE | what the peer does | what comes of it
//
// stands in the test that rebuilds the report, or outside of functions before it. With
// -update it writes the page.
func TestReports(t *testing.T) {
	page, problems := reportsPageOf(repository(t))
	report(t, problems)
	file := filepath.Join(root, reportsPage)
	if *update {
		assert.OK(t, os.WriteFile(file, []byte(page), 0o644))
		return
	}
	assert.Equal(t, string(assert.Value(os.ReadFile(file))(t)), page, "%s, which -update writes", reportsPage)
}

// reportSections are the sections of the page, in their order.
func reportSections() []string {
	return []string{"Logins", "Transports", "Revisions", "Schemas", "Results", "Processes", "Files", "Models", "Gateway", "Command", "Config files"}
}

// A reportRow is a line of the page.
type reportRow struct {
	section, sources, peer, outcome string

	tests []string // with their folders
}

func (r *reportRow) order() string { return r.sources + "|" + r.peer }

func reportsPageOf(tr *tree) (page string, problems []string) {
	var rows []*reportRow
	for _, p := range tr.sorted() {
		for _, f := range p.files {
			for _, group := range f.ast.Comments {
				for _, c := range group.List {
					text, ok := strings.CutPrefix(c.Text, reportDirective)
					if !ok {
						continue
					}
					at := tr.fset.Position(c.Pos())
					row, problem := readReport(text)
					test := testAround(f.ast, c)
					if test == "" {
						problem = cmp.Or(problem, "belongs to no test")
					}
					if problem != "" {
						problems = append(problems, fmt.Sprintf("%s:%d: the report %s", f.path, at.Line, problem))
						continue
					}
					row.tests = []string{path.Dir(f.path) + ": `" + test + "`"}
					i := slices.IndexFunc(rows, func(r *reportRow) bool {
						return r.section == row.section && r.order() == row.order() && r.outcome == row.outcome
					})
					switch {
					case i < 0:
						rows = append(rows, row)
					case !slices.Contains(rows[i].tests, row.tests[0]):
						rows[i].tests = append(rows[i].tests, row.tests[0])
					}
				}
			}
		}
	}
	var text strings.Builder
	text.WriteString(reportsHead)
	for _, section := range reportSections() {
		of := slices.DeleteFunc(slices.Clone(rows), func(r *reportRow) bool { return r.section != section })
		slices.SortFunc(of, func(a, b *reportRow) int {
			return cmp.Or(cmp.Compare(strings.ToLower(a.order()), strings.ToLower(b.order())), cmp.Compare(a.outcome, b.outcome))
		})
		if len(of) == 0 {
			continue
		}
		fmt.Fprintf(&text, "\n## %s\n\nRows: %d.\n\n| report | what the peer does | what comes of it | test |\n|---|---|---|---|\n", section, len(of))
		for _, r := range of {
			fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", r.sources, r.peer, r.outcome, strings.Join(r.tests, ", "))
		}
	}
	return text.String(), problems
}

// readReport reads a directive without its prefix, or says what is wrong with it.
func readReport(text string) (row *reportRow, problem string) {
	fields := strings.Split(text, "|")
	if len(fields) != 4 {
		return nil, fmt.Sprintf("has %d fields, not 4", len(fields))
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
		if fields[i] == "" {
			return nil, "has an empty field"
		}
	}
	if !slices.Contains(reportSections(), fields[0]) {
		return nil, fmt.Sprintf("is in a section %q, which there is not", fields[0])
	}
	for source := range strings.SplitSeq(fields[1], ",") {
		if !reportSource.MatchString(strings.TrimSpace(source)) {
			return nil, fmt.Sprintf("has a source %q", source)
		}
	}
	return &reportRow{section: fields[0], sources: fields[1], peer: fields[2], outcome: fields[3]}, ""
}

// testAround returns the test that a comment belongs to: the one around it or, outside of
// functions, the next one.
func testAround(f *ast.File, c *ast.Comment) string {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Recv == nil && c.Pos() < fn.End() && testName.MatchString(fn.Name.Name) {
			return fn.Name.Name
		}
	}
	return ""
}

func TestReportsAreRead(t *testing.T) {
	tr := sketch(t, map[string]string{"a/a_test.go": `package a

func TestA() {
	//report: Logins | x/y#2 | it hangs | an error
	//report: Logins | x/y#1, Okta https://okta.example/doc | it ends | nothing
	//report: Logins | y#1 | it ends | nothing
	//report: Lagoons | x/y#1 | it ends | nothing
	//report: Logins | x/y#1 | it ends
}

//report: Logins | x/y#2 | it hangs | an error
func TestB() {}

//report: Models | x/y#3 | it ends | nothing
`})
	page, problems := reportsPageOf(tr)
	rows := page[len(reportsHead):]
	assert.Equal(t, rows, "\n## Logins\n\nRows: 2.\n\n| report | what the peer does | what comes of it | test |\n|---|---|---|---|\n"+
		"| x/y#1, Okta https://okta.example/doc | it ends | nothing | a: `TestA` |\n| x/y#2 | it hangs | an error | a: `TestA`, a: `TestB` |\n", "rows")
	expect(t, problems,
		`a/a_test.go:6: the report has a source "y#1"`,
		`a/a_test.go:7: the report is in a section "Lagoons", which there is not`,
		"a/a_test.go:8: the report has 3 fields, not 4",
		"a/a_test.go:14: the report belongs to no test")
}
