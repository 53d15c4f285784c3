package layers

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// fileOrder begins the comment of a doc.go that lists the files of the package.
const fileOrder = "Order of the files, from the bottom:"

// TestOrder holds the order that a room declares in its doc.go: no file names a function, a
// method or a type of a file above it.
func TestOrder(t *testing.T) {
	for _, p := range repository(t).sorted() {
		if doc := p.file("doc.go"); doc != nil && strings.Contains(string(doc.src), fileOrder) {
			report(t, checkOrder(t, repository(t), p, doc))
		}
	}
}

func checkOrder(t *testing.T, tr *tree, p *pkg, doc *file) (problems []string) {
	place := map[string]int{}
	for _, group := range doc.ast.Comments {
		if _, list, found := strings.Cut(group.Text(), fileOrder); found {
			for i, name := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(" ,.\n", r) }) {
				place[p.folder+"/"+name+".go"] = i + 1
			}
		}
	}
	var files []*ast.File
	for _, name := range goList(t, ".", "", "./"+p.folder)[0].GoFiles {
		f := p.file(name)
		files = append(files, f.ast)
		if place[f.path] == 0 && f != doc {
			problems = append(problems, f.path+" is missing in the order of "+doc.path)
		}
	}
	c := &checker{goos: runtime.GOOS, fset: tr.fset, loaded: map[string]map[string]*types.Package{}}
	imports := c.load(t, ".", []*pkg{p})
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importerFunc(func(path string) (*types.Package, error) { return imports[path], nil })}
	room := assert.Value(conf.Check(module+"/"+p.folder, tr.fset, files, info))(t)
	for id, used := range info.Uses {
		fn, isFunc := used.(*types.Func)
		if _, isType := used.(*types.TypeName); !isFunc && !isType || used.Pkg() != room {
			continue
		}
		name := used.Name()
		if isFunc {
			name = strings.ReplaceAll(fn.FullName(), module+"/", "")
		} else if used.Parent() != room.Scope() {
			continue
		}
		from, to := tr.fset.Position(id.Pos()).Filename, tr.fset.Position(used.Pos()).Filename
		if place[from] < place[to] {
			problems = append(problems, fmt.Sprintf("%s names %s of %s, which stands above it", from, name, path.Base(to)))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}
