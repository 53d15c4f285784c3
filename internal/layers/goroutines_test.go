package layers

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// countStarts returns, for each package that has any, the number of places in
// production code where a goroutine starts: go statements, calls of a method
// Go with one function (sync.WaitGroup, errgroup.Group), and AfterFunc.
func countStarts(tr *tree) []string {
	var lines []string
	for _, p := range tr.sorted() {
		n := 0
		for _, f := range p.production() {
			ast.Inspect(f.ast, func(node ast.Node) bool {
				if f.starts(node) {
					n++
				}
				return true
			})
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("%s %d", p.folder, n))
		}
	}
	return lines
}

func (f *file) starts(node ast.Node) bool {
	if _, ok := node.(*ast.GoStmt); ok {
		return true
	}
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return false
	}
	if f.isCall(call, "time", "AfterFunc") || f.isCall(call, "context", "AfterFunc") {
		return true
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Go" && len(call.Args) == 1
}

// TestGoroutines keeps the number of places where a goroutine starts. Each has
// an owner whose Close cancels it and waits: a new one is worth a look.
func TestGoroutines(t *testing.T) {
	golden(t, "goroutines.golden", "Places where production code starts a goroutine, by package.", countStarts(repository(t)), nil)
}

func TestGoroutinesAreSeen(t *testing.T) {
	tr := sketch(t, map[string]string{
		"mcp/a.go": `package mcp
import ("context"; "sync"; "time")
func f(wg *sync.WaitGroup) {
	go f(wg)
	wg.Go(func() { go f(wg) })
	time.AfterFunc(1, nil)
	context.AfterFunc(nil, nil)
	time.After(1)
	wg.Wait()
}
`,
		"mcp/a_test.go": "package mcp\nfunc g() { go g() }\n",
		"auth/a.go":     "package auth\n",
	})
	if got, want := countStarts(tr), []string{"mcp 5"}; !slices.Equal(got, want) {
		t.Errorf("counted %q, want %q", got, want)
	}
}
