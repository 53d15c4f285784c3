package layers

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

var revisionName = regexp.MustCompile(`^"?(Revision)?20\d\d-?\d\d-?\d\d"?$`)

// compareRevisions returns the places of production code other than internal/protocol that compare a revision of
// the protocol: what a revision has is said in its table alone.
func compareRevisions(tr *tree) (places []string) {
	isRevision := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.BasicLit:
			return revisionName.MatchString(e.Value)
		case *ast.Ident:
			return revisionName.MatchString(e.Name)
		case *ast.SelectorExpr:
			return revisionName.MatchString(e.Sel.Name)
		}
		return false
	}
	for _, p := range tr.sorted() {
		for _, f := range p.production() {
			if p.folder == "internal/protocol" {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if n.Op != token.ADD && (isRevision(n.X) || isRevision(n.Y)) {
						places = append(places, tr.at(n.Pos()))
					}
				case *ast.CaseClause:
					for _, e := range n.List {
						if isRevision(e) {
							places = append(places, tr.at(e.Pos()))
						}
					}
				}
				return true
			})
		}
	}
	return places
}

func TestRevisionsAreComparedInOnePlace(t *testing.T) {
	expect(t, compareRevisions(repository(t)))
	expect(t, compareRevisions(sketch(t, map[string]string{
		"internal/protocol/a.go": "package protocol\nfunc f(v string) bool { return v < Revision20260728 }\n",
		"mcp/a.go":               "package mcp\nfunc f(v string) bool {\n\tswitch v {\n\tcase \"2025-11-25\":\n\t}\n\treturn v >= protocol.Revision20260728\n}\n",
	})), "mcp/a.go:4: ", "mcp/a.go:6: ")
}
