package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
	"time"
)

// processWide lists the variables that belong to the process, with the reason.
var processWide = map[string]string{
	"transport/watchdog.go: lent":              "one shell watches all children of this process",
	"internal/proc/poller_linux.go: poller":    "one goroutine waits for all children of this process",
	"internal/proc/marked_linux.go: looks":     "children that end at the same time share a look",
	"internal/proc/vitals_linux.go: statRoom":  "memory that is used again",
	"transport/events.go: eventRooms":          "memory that is used again",
	"transport/line.go: rooms":                 "memory that is used again",
	"transport/line.go: unusedPieces":          "memory that is used again",
	"registry/codemode/process.go: canBeChild": "main says once what this program can be",
	"internal/protocol/revision.go: revisions": "a test adds the revision that it speaks",
	"internal/hosttest/main.go: Schemas":       "the servers of all tests of a process share one cache",
}

// checkState finds init functions and package-level variables that a person
// could write. Variables that are allowed: error values, compiled regular
// expressions, embedded files, assertions that a type has an interface, limits of
// time that tests alone set, before they start, and unexported tables and values of
// sync.OnceValue, which nothing changes.
func checkState(tr *tree) []string {
	var problems []string
	for _, p := range tr.sorted() {
		known := p.durations()
		for _, f := range p.production() {
			for _, decl := range f.ast.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						problems = append(problems, tr.at(d.Pos())+"init function: do the work where it is asked for")
					}
				case *ast.GenDecl:
					if d.Tok != token.VAR {
						continue
					}
					for _, spec := range d.Specs {
						v := spec.(*ast.ValueSpec)
						if !f.allowedVar(d, v) && !p.isLimit(f, v, known) && !p.isTable(f, v) && processWide[f.path+": "+v.Names[0].Name] == "" {
							problems = append(problems, fmt.Sprintf(
								"%svar %s: package-level state; make it a constant, a function, or a field of what owns it", tr.at(v.Pos()), v.Names[0].Name))
						}
					}
				}
			}
		}
	}
	return problems
}

func (f *file) allowedVar(d *ast.GenDecl, v *ast.ValueSpec) bool {
	if embeds(v.Doc) || !d.Lparen.IsValid() && embeds(d.Doc) {
		return true
	}
	if v.Names[0].Name == "_" && v.Type != nil {
		return true
	}
	for _, value := range v.Values {
		if !f.isCall(value, "errors", "New") && !f.isCall(value, "fmt", "Errorf") && !f.isCall(value, "regexp", "MustCompile") {
			return false
		}
	}
	return len(v.Values) > 0
}

// isLimit reports whether variables are unexported durations that production code does not
// assign.
func (p *pkg) isLimit(of *file, v *ast.ValueSpec, known map[string]time.Duration) bool {
	names := map[string]bool{}
	for i, name := range v.Names {
		if i >= len(v.Values) || name.IsExported() || !strings.Contains(of.text(v.Values[i]), "time.") {
			return false
		}
		if _, ok := of.duration(v.Values[i], known); !ok {
			return false
		}
		names[name.Name] = true
	}
	return !p.changes(names)
}

// isTable reports whether variables are unexported tables with a content that production code
// does not change, or are made once.
func (p *pkg) isTable(of *file, v *ast.ValueSpec) bool {
	names := map[string]bool{}
	for i, name := range v.Names {
		if i >= len(v.Values) || name.IsExported() {
			return false
		}
		table, ok := v.Values[i].(*ast.CompositeLit)
		if !(ok && len(table.Elts) > 0) && !of.isCall(v.Values[i], "sync", "OnceValue") {
			return false
		}
		names[name.Name] = true
	}
	return !p.changes(names)
}

// changes reports whether production code assigns one of these variables or an element of it, or
// takes its address, clears it or deletes from it.
func (p *pkg) changes(names map[string]bool) (changed bool) {
	is := func(e ast.Expr) {
		for {
			switch at := e.(type) {
			case *ast.IndexExpr:
				e = at.X
				continue
			case *ast.SelectorExpr:
				e = at.X
				continue
			case *ast.Ident:
				changed = changed || names[at.Name]
			}
			return
		}
	}
	for _, f := range p.production() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if n.Tok != token.DEFINE {
						is(left)
					}
				}
			case *ast.IncDecStmt:
				is(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					is(n.X)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
					is(n.Args[0])
				}
			}
			return true
		})
	}
	return changed
}

func embeds(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

func TestNoGlobalState(t *testing.T) { report(t, checkState(repository(t))) }

func TestStateSeesProblems(t *testing.T) {
	const cure = ": package-level state; make it a constant, a function, or a field of what owns it"
	tr := sketch(t, map[string]string{
		"mcp/a.go": `package mcp
import ("errors"; fmt2 "fmt"; "regexp"; "sync")
var errA = errors.New("a")
var ErrB = fmt2.Errorf("b")
var (
	re = regexp.MustCompile("c")
	_ error = (*T)(nil)
	//go:embed page.html
	page string
	cache = map[string]int{}
)
//go:embed other.html
var other string
var mu sync.Mutex
var errC, count = errors.New("c"), 1
type T struct{}
func (T) init() {}
func init() {}
`,
		"mcp/b.go": `package mcp
import "time"
var limit = 2 * time.Second
var Limit = 2 * time.Second
var moved = time.Second
func move() { moved = 0 }
var table = map[string]int{"a": 1}
var written = map[string]int{"a": 1}
func write() { written["b"] = 2 }
`,
		"mcp/a_test.go":      "package mcp\nvar update = 1\nfunc f() { limit = 0 }\n",
		"examples/x/main.go": "package main\nvar flagged = new(int)\nfunc main() {}\n",
		"cmd/x/main.go":      "package main\nimport errors \"example.com/errors\"\nvar e = errors.New(1)\n",
	})
	expect(t, checkState(tr),
		"mcp/a.go:10: var cache"+cure,
		"mcp/a.go:14: var mu"+cure,
		"mcp/a.go:15: var errC"+cure,
		"mcp/b.go:4: var Limit"+cure,
		"mcp/b.go:5: var moved"+cure,
		"mcp/b.go:8: var written"+cure,
		"mcp/a.go:18: init function: do the work where it is asked for",
		"examples/x/main.go:2: var flagged"+cure,
		"cmd/x/main.go:3: var e"+cure,
	)
}
