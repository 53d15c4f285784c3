package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"testing"
)

// checkDocs finds packages without a package comment and exported identifiers
// without a comment. Fields and interface methods need theirs, before or behind
// them, in packages that users import.
func checkDocs(tr *tree) []string {
	var problems []string
	for _, p := range tr.sorted() {
		if !p.hasDoc() {
			place := "one of its files"
			if p.isPublic() {
				place = "doc.go"
			}
			problems = append(problems, fmt.Sprintf("package %s has no package comment in %s", p.folder, place))
		}
		for _, f := range p.production() {
			d := docs{tree: tr, members: p.isPublic()}
			for _, decl := range f.ast.Decls {
				d.decl(decl)
			}
			problems = append(problems, d.problems...)
		}
	}
	return problems
}

// hasDoc reports whether the package has its comment: in doc.go if users import
// it, in any file otherwise.
func (p *pkg) hasDoc() bool {
	for _, f := range p.production() {
		if f.ast.Doc != nil && (!p.isPublic() || path.Base(f.path) == "doc.go") {
			return true
		}
	}
	return false
}

// docs collects what is missing in one file.
type docs struct {
	tree     *tree
	members  bool // fields and interface methods count
	problems []string
}

func (d *docs) missing(id *ast.Ident, kind, name string) {
	d.problems = append(d.problems, fmt.Sprintf("%sexported %s %s has no comment", d.tree.at(id.Pos()), kind, name))
}

func (d *docs) decl(decl ast.Decl) {
	switch x := decl.(type) {
	case *ast.FuncDecl:
		name := x.Name.Name
		if x.Recv == nil {
			if x.Name.IsExported() && x.Doc == nil {
				d.missing(x.Name, "func", name)
			}
			return
		}
		typ := receiver(x)
		if x.Name.IsExported() && ast.IsExported(typ) && x.Doc == nil && !speaksForItself(name) {
			d.missing(x.Name, "method", typ+"."+name)
		}
	case *ast.GenDecl:
		group := x.Doc != nil
		for _, spec := range x.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				if s.Doc == nil && s.Comment == nil && (!group || x.Lparen.IsValid()) {
					d.missing(s.Name, "type", s.Name.Name)
				}
				if d.members {
					d.member(s)
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if id.IsExported() && !group && s.Doc == nil && s.Comment == nil {
						d.missing(id, kindOf(x.Tok), id.Name)
					}
				}
			}
		}
	}
}

func kindOf(tok token.Token) string {
	if tok == token.CONST {
		return "const"
	}
	return "var"
}

// member looks at the fields of a struct and the methods of an interface.
func (d *docs) member(s *ast.TypeSpec) {
	var list *ast.FieldList
	kind := "field"
	switch t := s.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		if len(t.Methods.List) == 1 {
			return // the comment of the interface is that of its method
		}
		list, kind = t.Methods, "method"
	default:
		return
	}
	for _, f := range list.List {
		if f.Doc != nil || f.Comment != nil {
			continue
		}
		for _, id := range f.Names {
			if id.IsExported() {
				d.missing(id, kind, s.Name.Name+"."+id.Name)
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// speaksForItself reports whether a method's name says all, since the standard
// library gives it its meaning.
func speaksForItself(method string) bool {
	switch method {
	case "Error", "Unwrap", "String", "GoString", "LogValue",
		"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText":
		return true
	}
	return false
}

func TestComments(t *testing.T) { report(t, checkDocs(repository(t))) }

func TestCommentsSeeProblems(t *testing.T) {
	tr := sketch(t, map[string]string{
		"mcp/doc.go": "// Package mcp has a comment.\npackage mcp\n",
		"mcp/a.go": `package mcp
func Bare() {}
// Said is said.
func Said() {}
type T struct {
	A, B int
	C int // the third
	d int
}
func (t *T) Do() {}
func (t *T) Error() string { return "" }
func (t *hidden) Do() {}
func (g G[K, V]) Do() {}
// These are constants.
const (
	X = 1
	Y = 2
)
const Z = 3
var (
	ErrA error // when A
	ErrB error
)
// Both need one.
type (
	U int
	// V has one.
	V interface {
		M()
		N() // so
	}
	// W does what its one method does.
	W interface { M() }
)
`,
		"mcp/a_test.go":         "package mcp\nfunc ExampleT() {}\nfunc Exported() {}\n",
		"internal/x/x.go":       "// Package x is a brick.\npackage x\ntype T struct { A int }\n",
		"auth/auth.go":          "// Package auth has its comment in the wrong file.\npackage auth\n",
		"cmd/a/main.go":         "// A is a program.\npackage main\n",
		"cmd/b/main.go":         "package main\n",
		"internal/y/y_test.go":  "package y\n",
		"internal/y/y2_test.go": "// Package y is not here.\npackage y\n",
	})
	expect(t, checkDocs(tr),
		"mcp/a.go:2: exported func Bare has no comment",
		"mcp/a.go:5: exported type T has no comment",
		"mcp/a.go:6: exported field T.A has no comment",
		"mcp/a.go:6: exported field T.B has no comment",
		"mcp/a.go:10: exported method T.Do has no comment",
		"mcp/a.go:13: exported method G.Do has no comment",
		"mcp/a.go:19: exported const Z has no comment",
		"mcp/a.go:22: exported var ErrB has no comment",
		"mcp/a.go:26: exported type U has no comment",
		"mcp/a.go:29: exported method V.M has no comment",
		"package auth has no package comment in doc.go",
		"internal/x/x.go:3: exported type T has no comment",
		"package cmd/b has no package comment in one of its files",
		"package internal/y has no package comment in one of its files",
	)
}
