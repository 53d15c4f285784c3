package layers

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// checkTests finds packages with tests that do not look for leaked goroutines,
// and tests that sleep. A sleep is allowed on the fake clock of synctest, and
// where a comment on its line gives the reason: "// sleep: ...".
func checkTests(tr *tree) []string {
	var problems []string
	for _, p := range tr.sorted() {
		tests := p.tests()
		looks := len(tests) == 0
		for _, f := range tests {
			looks = looks || f.looksForLeaks()
			problems = append(problems, tr.sleeps(f)...)
		}
		if !looks {
			problems = append(problems, fmt.Sprintf(
				"package %s has tests but no leak check: func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }", p.folder))
		}
	}
	return problems
}

// looksForLeaks reports whether the file has a TestMain that calls goleak.
func (f *file) looksForLeaks() bool {
	found := false
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || fn.Name.Name != "TestMain" {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			found = found || f.isCall(n, "go.uber.org/goleak", "VerifyTestMain") || f.isCall(n, "go.uber.org/goleak", "Find")
			return !found
		})
	}
	return found
}

// sleeps finds the calls of time.Sleep in a test that give no reason.
func (tr *tree) sleeps(f *file) []string {
	reasons := map[int]bool{} // by line
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if reason, ok := strings.CutPrefix(c.Text, "// sleep:"); ok && strings.TrimSpace(reason) != "" {
				reasons[tr.fset.Position(c.Pos()).Line] = true
			}
		}
	}
	var problems []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if n != nil && f.isCall(n, "testing/synctest", "Test") {
			return false
		}
		if n != nil && f.isCall(n, "time", "Sleep") && !reasons[tr.fset.Position(n.Pos()).Line] {
			problems = append(problems, tr.at(n.Pos())+"a test sleeps: wait for the event, or use testing/synctest")
		}
		return true
	})
	return problems
}

func TestTests(t *testing.T) { report(t, checkTests(repository(t))) }

func TestTestsSeeProblems(t *testing.T) {
	const advice = " has tests but no leak check: func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }"
	tr := sketch(t, map[string]string{
		"mcp/main_test.go": `package mcp
import ("testing"; "go.uber.org/goleak"; "time"; "testing/synctest")
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
func f(t *testing.T) {
	time.Sleep(1)
	time.Sleep(1) // sleep: the tick is what is tested
	time.Sleep(1) // sleep:
	synctest.Test(t, func(t *testing.T) { time.Sleep(1) })
}
`,
		"auth/a_test.go":     "package auth\nimport \"testing\"\nfunc TestMain(m *testing.M) { m.Run() }\n",
		"registry/a_test.go": "package registry\nimport \"go.uber.org/goleak\"\nfunc TestA() { goleak.VerifyTestMain(nil) }\n",
		"transport/a.go":     "package transport\nimport \"time\"\nfunc f() { time.Sleep(1) }\n",
	})
	expect(t, checkTests(tr),
		"mcp/main_test.go:5: a test sleeps: wait for the event, or use testing/synctest",
		"mcp/main_test.go:7: a test sleeps: wait for the event, or use testing/synctest",
		"package auth"+advice,
		"package registry"+advice,
	)
}
