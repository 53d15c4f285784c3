package layers

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// The size of a package: lines without tests, and exported names at its top level.
const (
	maxPackageLines = 6000
	maxPackageNames = 60
)

// A size is what a package may have beyond those limits, and why. Zero is the limit
// that all have.
type size struct {
	lines, names int
	reason       string
}

// large lists the packages that may have more.
var large = map[string]size{
	"host/doctor": {names: 65, reason: "each hint is a name"},
	"mcp":         {lines: 11_550, names: 113, reason: "the types of the protocol are in it, and the client that speaks it"},
}

// exportedNames returns the exported names that a package declares at its top level,
// for any operating system.
func exportedNames(p *pkg) map[string]bool {
	names := map[string]bool{}
	add := func(ident *ast.Ident) {
		if ident.IsExported() {
			names[ident.Name] = true
		}
	}
	for _, f := range p.production() {
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							add(name)
						}
					}
				}
			}
		}
	}
	return names
}

// checkRooms finds packages that are larger than they may be.
func checkRooms(tr *tree, large map[string]size) []string {
	var problems []string
	for _, p := range tr.sorted() {
		lines := 0
		for _, f := range p.production() {
			lines += bytes.Count(f.src, []byte("\n"))
		}
		names := 0
		if p.isPublic() {
			names = len(exportedNames(p))
		}
		may := large[p.folder]
		if most := max(maxPackageLines, may.lines); lines > most {
			problems = append(problems, fmt.Sprintf("%s has %d lines without tests, at most %d: cut it along its nouns", p.folder, lines, most))
		}
		if most := max(maxPackageNames, may.names); names > most {
			problems = append(problems, fmt.Sprintf("%s exports %d names, at most %d", p.folder, names, most))
		}
		if may.lines > 0 && lines <= maxPackageLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines: it needs no exception any more", p.folder, lines))
		}
		if may.names > 0 && names <= maxPackageNames {
			problems = append(problems, fmt.Sprintf("%s exports %d names: it needs no exception any more", p.folder, names))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(large)) {
		if tr.pkgs[folder] == nil || large[folder].reason == "" {
			problems = append(problems, folder+": an exception is of a package that exists, and has a reason")
		}
	}
	return problems
}

func TestRooms(t *testing.T) { report(t, checkRooms(repository(t), large)) }

func TestRoomsSeeProblems(t *testing.T) {
	file := func(lines, names int) string {
		src := []byte("package p\n\nfunc hidden() {}\n\ntype T struct{}\n\nfunc (T) Method() {}\n")
		for i := range names - 1 {
			src = fmt.Appendf(src, "const N%d = 0\n", i)
		}
		return string(append(src, bytes.Repeat([]byte("\n"), lines-bytes.Count(src, []byte("\n")))...))
	}
	tr := sketch(t, map[string]string{
		"a/a.go":          file(6000, 60),
		"b/b1.go":         file(6000, 60),
		"b/b2.go":         "package p\n\nvar A, B int\n",
		"b/b_test.go":     file(100, 90),
		"c/c.go":          file(6100, 61),
		"d/d.go":          file(6100, 61),
		"e/e.go":          file(100, 10),
		"internal/f/f.go": file(100, 61),
	})
	got := checkRooms(tr, map[string]size{
		"c":    {lines: 6100, names: 61, reason: "one"},
		"d":    {lines: 6099, reason: "two"},
		"e":    {lines: 7000, names: 70, reason: "three"},
		"gone": {lines: 7000, reason: "four"},
	})
	expect(t, got,
		"b has 6003 lines without tests, at most 6000: cut it along its nouns",
		"b exports 62 names, at most 60",
		"d has 6100 lines without tests, at most 6099: cut it along its nouns",
		"d exports 61 names, at most 60",
		"e has 100 lines: it needs no exception any more",
		"e exports 10 names: it needs no exception any more",
		"gone: an exception is of a package that exists, and has a reason",
	)
}
