package layers

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// uncalled lists the exported names that stay without a caller, each with its reason.
var uncalled = map[string]string{
	"mcp.Annotations":        "the type of a field of each piece of content",
	"mcp.Role":               "the type of a field of prompts and annotations",
	"adapters/eino.Decision": "the data of a resume, which the program's handler makes",
}

// A declaration is what a package exports at its top level.
type declaration struct {
	mentions map[string]bool // names of the same package in what users see of it
}

// declarations returns the exported declarations of a package by name.
func declarations(p *pkg) map[string]*declaration {
	all := map[string]*declaration{}
	get := func(name string) *declaration {
		if all[name] == nil {
			all[name] = &declaration{mentions: map[string]bool{}}
		}
		return all[name]
	}
	for _, f := range p.production() {
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if !decl.Name.IsExported() {
					continue
				}
				name := decl.Name.Name
				if decl.Recv != nil {
					name = receiver(decl)
				}
				if ast.IsExported(name) {
					mention(decl.Type, get(name).mentions)
				}
			case *ast.GenDecl:
				of := ""    // the type of constants that are counted by iota
				first := "" // the first of a group of constants, which are used together
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if spec.Name.IsExported() {
							mention(spec.Type, get(spec.Name.Name).mentions)
						}
					case *ast.ValueSpec:
						if spec.Type != nil {
							of = typeName(spec.Type)
						} else if len(spec.Values) > 0 {
							of = ""
						}
						for _, name := range spec.Names {
							if !name.IsExported() {
								continue
							}
							d := get(name.Name)
							if spec.Type != nil {
								mention(spec.Type, d.mentions)
							}
							if ast.IsExported(of) {
								get(of).mentions[name.Name] = true // a value of a type that is used
							}
							if decl.Tok == token.CONST {
								if first == "" {
									first = name.Name
								}
								d.mentions[first], get(first).mentions[name.Name] = true, true
							}
						}
					}
				}
			}
		}
	}
	return all
}

func typeName(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// mention adds the exported names of the same package in a type, but for those of
// unexported fields.
func mention(n ast.Node, into map[string]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false // of another package
		case *ast.StructType:
			for _, field := range n.Fields.List {
				exported := len(field.Names) == 0
				for _, name := range field.Names {
					exported = exported || name.IsExported()
				}
				if exported {
					mention(field.Type, into)
				}
			}
			return false
		case *ast.Ident:
			if n.IsExported() {
				into[n.Name] = true
			}
		}
		return true
	})
}

// named returns which exported names of which packages others name: in production
// code, and in examples that are tests.
func named(tr *tree) map[string]map[string]bool {
	names := map[string]map[string]bool{}
	for _, p := range tr.sorted() {
		for _, f := range p.files {
			imports := map[string]string{}
			for _, spec := range f.ast.Imports {
				folder, ours := strings.CutPrefix(importPath(spec), module+"/")
				if !ours {
					continue
				}
				local := path.Base(folder)
				if spec.Name != nil {
					local = spec.Name.Name
				}
				imports[local] = folder
			}
			note := func(folder, name string) {
				if names[folder] == nil {
					names[folder] = map[string]bool{}
				}
				names[folder][name] = true
			}
			inside := f.isTest() && !strings.HasSuffix(f.ast.Name.Name, "_test")
			look := func(n ast.Node) {
				ast.Inspect(n, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && inside {
						note(p.folder, id.Name)
					}
					sel, ok := n.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					if x, ok := sel.X.(*ast.Ident); ok {
						if folder := imports[x.Name]; folder != "" && (folder != p.folder || f.isTest()) {
							note(folder, sel.Sel.Name)
						}
					}
					return true
				})
			}
			if !f.isTest() {
				look(f.ast)
				continue
			}
			for _, decl := range f.ast.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if of, ok := strings.CutPrefix(fn.Name.Name, "Example"); ok {
					name, _, _ := strings.Cut(of, "_")
					note(p.folder, name)
					look(fn)
				}
			}
		}
	}
	return names
}

// isError reports whether a name is that of an error: programs ask for it by errors.As
// or errors.Is, whether one of this repository does or not.
func isError(name string) bool {
	return strings.HasPrefix(name, "Err") || strings.HasSuffix(name, "Error")
}

// checkCallers finds exported names at the top level that only their own package and
// tests use: no other package and no example names them or a declaration that
// mentions them.
func checkCallers(tr *tree, uncalled map[string]string) []string {
	var problems []string
	names := named(tr)
	for _, p := range tr.sorted() {
		if !p.isPublic() {
			continue
		}
		if from, _ := roomOf(p.folder); from.kit {
			continue // called by tests
		}
		all := declarations(p)
		used := map[string]bool{}
		var use func(name string)
		use = func(name string) {
			d := all[name]
			if d == nil || used[name] {
				return
			}
			used[name] = true
			for other := range d.mentions {
				use(other)
			}
		}
		for name := range names[p.folder] {
			use(name)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			full := p.folder + "." + name
			switch {
			case !used[name] && uncalled[full] == "" && !isError(name):
				problems = append(problems, full+" has no caller outside its package and no example")
			case used[name] && uncalled[full] != "":
				problems = append(problems, full+" has a caller: it needs no exception any more")
			}
		}
	}
	return problems
}

func TestCallers(t *testing.T) { report(t, checkCallers(repository(t), uncalled)) }

func TestCallersSeeProblems(t *testing.T) {
	tr := sketch(t, map[string]string{
		"registry/registry.go": `package registry

type Used struct{ Field Mentioned }
type Mentioned int

const (
	Value Mentioned = iota
	Next
)

type Options struct{ hidden Hidden }
type Hidden struct{}
type ByExample struct{}
type ByTest struct{}
type NotFoundError struct{}

var Kept, Called, Inside, Outside int

const (
	Together = "a"
	Apart    = "b"
)

const Alone = "c"

func (Used) Method(in Argument) {}

type Argument struct{}
`,
		"registry/inside_test.go": "package registry\n" +
			"func ExampleInside() { _ = Inside }\n" +
			"func TestInside() { _ = Outside }\n",
		"registry/example_test.go": "package registry_test\n" +
			"import \"" + module + "/registry\"\n" +
			"func Example() { _ = registry.ByExample{} }\n" +
			"func TestX() { _ = registry.ByTest{} }\n",
		"host/host.go": "package host\n" +
			"import tools \"" + module + "/registry\"\n" +
			"var _ = []any{tools.Used{}, tools.Options{}, tools.Called, tools.Apart}\n",
	})
	got := checkCallers(tr, map[string]string{"registry.Kept": "a reason", "registry.Called": "another"})
	expect(t, got,
		"registry.Hidden has no caller outside its package and no example",
		"registry.Alone has no caller outside its package and no example",
		"registry.Outside has no caller outside its package and no example",
		"registry.ByTest has no caller outside its package and no example",
		"registry.Called has a caller: it needs no exception any more",
	)
}
