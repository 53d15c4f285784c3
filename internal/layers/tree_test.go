package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A tree is all Go source of the repository: every module, every build tag.
type tree struct {
	fset *token.FileSet
	pkgs map[string]*pkg // by folder
}

// A pkg is one folder with Go files, its external test package included.
type pkg struct {
	folder string // from the root, with slashes; "." is the root
	files  []*file
}

// A file is one parsed Go file.
type file struct {
	path string // from the root, with slashes
	src  []byte
	ast  *ast.File

	names map[string]string // of the packages that it imports, by their paths
}

func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// production yields the files that are not tests.
func (p *pkg) production() []*file {
	return slices.DeleteFunc(slices.Clone(p.files), (*file).isTest)
}

func (p *pkg) tests() []*file {
	return slices.DeleteFunc(slices.Clone(p.files), func(f *file) bool { return !f.isTest() })
}

// file returns the file of a name, or nil.
func (p *pkg) file(name string) *file {
	if i := slices.IndexFunc(p.files, func(f *file) bool { return path.Base(f.path) == name }); i >= 0 {
		return p.files[i]
	}
	return nil
}

func (p *pkg) isMain() bool {
	return slices.ContainsFunc(p.production(), func(f *file) bool { return f.ast.Name.Name == "main" })
}

// isPublic reports whether users of the library import the package.
func (p *pkg) isPublic() bool {
	parts := strings.Split(p.folder, "/")
	return !p.isMain() && len(p.production()) > 0 && !slices.Contains(parts, "internal") &&
		!slices.Contains([]string{"bench", "cmd", "examples"}, parts[0])
}

// sorted returns the packages in order of their folders.
func (tr *tree) sorted() []*pkg {
	return slices.SortedFunc(maps.Values(tr.pkgs), func(a, b *pkg) int { return strings.Compare(a.folder, b.folder) })
}

// at returns "file:line: " for a position.
func (tr *tree) at(p token.Pos) string {
	pos := tr.fset.Position(p)
	return fmt.Sprintf("%s:%d: ", pos.Filename, pos.Line)
}

// skipFolder reports whether a folder holds nothing that is committed as
// source; it agrees with .gitignore.
func skipFolder(p string) bool {
	return p == "bin" || path.Base(p) == "node_modules" || path.Base(p) == ".git"
}

// load parses every Go file below fsys, as the go command would find it.
func load(fsys fs.FS) (*tree, error) {
	tr := &tree{fset: token.NewFileSet(), pkgs: map[string]*pkg{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			hidden := base != "." && strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
			if hidden || base == "testdata" || base == "vendor" || skipFolder(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(tr.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		if tr.pkgs[folder] == nil {
			tr.pkgs[folder] = &pkg{folder: folder}
		}
		tr.pkgs[folder].files = append(tr.pkgs[folder].files, &file{path: name, src: src, ast: parsed, names: importNames(parsed)})
		return nil
	})
	return tr, err
}

// parseRepository parses this repository once for all checks, which only read it.
var parseRepository = sync.OnceValues(func() (*tree, error) { return load(os.DirFS(root)) })

// repository returns the tree of this repository.
func repository(t *testing.T) *tree {
	t.Helper()
	return assert.Value(parseRepository())(t)
}

// sketch returns a tree of the given files, path to source, for the tests that
// show that a check sees what it looks for.
func sketch(t *testing.T, files map[string]string) *tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, src := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(src)}
	}
	return assert.Value(load(fsys))(t)
}

// expect fails the test unless a check of a sketch found exactly want.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	diff := diffSorted(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
	assert.Equal(t, strings.Join(diff, "\n"), "", "what the check found (- wanted, + got)")
}

func astFiles(p *pkg) []*ast.File {
	var files []*ast.File
	for _, f := range p.files {
		files = append(files, f.ast)
	}
	return files
}

// importPath returns the path that an import declaration names.
func importPath(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return p
}

// importNames returns what a file calls the packages that it imports, by their paths.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		p := importPath(spec)
		names[p] = path.Base(p)
		if spec.Name != nil {
			names[p] = spec.Name.Name
		}
	}
	return names
}

// isRef reports whether e is pkgPath.name, whatever the file calls that package.
func (f *file) isRef(e ast.Expr, pkgPath, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || name != "" && sel.Sel.Name != name {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == f.names[pkgPath]
}

// isCall reports whether e calls pkgPath.name; an empty name is any.
func (f *file) isCall(e ast.Node, pkgPath, name string) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && f.isRef(call.Fun, pkgPath, name)
}
