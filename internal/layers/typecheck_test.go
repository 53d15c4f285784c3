package layers

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// tags are those of the files that make check looks at.
const tags = "conformance,integration,release"

// TestSystems type-checks all packages, with their tests, for each system. It takes
// seconds, where compiling them takes minutes: make long does that. Adapters are not
// among them: their SDKs are large, and they ask nothing of the system.
func TestSystems(t *testing.T) {
	if *systemsFlag == runtime.GOOS {
		t.Skip("the compiler and go vet have checked the system that tests run on")
	}
	for _, goos := range loadedSystems(t) {
		t.Run(goos, func(t *testing.T) {
			t.Parallel()
			c := checkerFor(goos)
			for _, folder := range loadedModules(t) {
				if !strings.HasPrefix(folder, "adapters/") && folder != "bench" {
					c.check(t, folder, "-test", "-tags", tags, "./...")
				}
			}
		})
	}
}

// A checker type-checks packages for a system from their source. What several tests or
// modules look at is checked once.
type checker struct {
	goos string
	fset *token.FileSet

	mu     sync.Mutex
	done   map[string][]*checkedPackage         // by folder
	loaded map[string]map[string]*types.Package // of a module, by path
}

// A checkedPackage is a package with the files that it was made of and the packages that
// it imports.
type checkedPackage struct {
	*types.Package
	files   []string
	imports []*types.Package
}

// checkers are those of all tests, by system.
var checkers struct {
	sync.Mutex
	of map[string]*checker
}

func checkerFor(goos string) *checker {
	checkers.Lock()
	defer checkers.Unlock()
	c := checkers.of[goos]
	if c == nil {
		c = &checker{goos: goos, fset: token.NewFileSet(), done: map[string][]*checkedPackage{}, loaded: map[string]map[string]*types.Package{}}
		if checkers.of == nil {
			checkers.of = map[string]*checker{}
		}
		checkers.of[goos] = c
	}
	return c
}

// check type-checks packages of a module, and returns them with all that they import.
// Only the bodies of functions of this repository are looked at.
func (c *checker) check(t *testing.T, folder string, args ...string) map[string]*types.Package {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	byPath := map[string]*types.Package{}
	for _, p := range goList(t, folder, c.goos, append([]string{"-deps"}, args...)...) { // what is imported comes first
		switch {
		case p.ImportPath == "unsafe":
			byPath[p.ImportPath] = types.Unsafe
		case strings.HasSuffix(p.ImportPath, ".test"):
			// The go command writes the main package of tests when it builds them.
		default:
			byPath[p.ImportPath] = c.checkPackage(t, p, byPath)
		}
	}
	return byPath
}

// load returns packages of a module and what their files import: as the compiler wrote
// them, where tests run on the system, since then it has; else as check does.
func (c *checker) load(t *testing.T, folder string, pkgs []*pkg) map[string]*types.Package {
	t.Helper()
	var paths []string
	wanted := map[string]bool{}
	for _, p := range pkgs {
		paths = append(paths, module+"/"+p.folder)
		for _, f := range p.production() {
			for path := range f.names {
				wanted[path] = true
			}
		}
	}
	if c.goos != runtime.GOOS {
		return c.check(t, folder, paths...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded[folder] != nil {
		return c.loaded[folder]
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(goTool(t, folder, "", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, paths...)...))) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	compiled := importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	byPath := map[string]*types.Package{}
	for path := range exports {
		if wanted[path] || slices.Contains(paths, path) {
			byPath[path] = assert.Value(compiled.Import(path))(t)
		}
	}
	c.loaded[folder] = byPath
	return byPath
}

func (c *checker) checkPackage(t *testing.T, p *listed, byPath map[string]*types.Package) *types.Package {
	t.Helper()
	resolve := func(path string) *types.Package {
		if mapped, ok := p.ImportMap[path]; ok {
			path = mapped
		}
		return byPath[path]
	}
	var imports []*types.Package
	for _, path := range p.Imports { // as the map has them
		imports = append(imports, byPath[path])
	}
	ours := p.Module != nil && strings.HasPrefix(p.Module.Path+"/", module+"/")
	for _, done := range c.done[p.Dir] {
		if slices.Equal(done.files, p.GoFiles) && slices.Equal(done.imports, imports) {
			return done.Package
		}
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		files = append(files, assert.Value(parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t))
	}
	conf := types.Config{
		Importer:         importerFunc(func(path string) (*types.Package, error) { return resolve(path), nil }),
		IgnoreFuncBodies: !ours,
		Sizes:            types.SizesFor("gc", "amd64"),
		Error:            func(err error) { assert.False(t, ours, "for %s: %v", c.goos, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // p [q.test] is p as the tests of q see it
	pkg, _ := conf.Check(path, c.fset, files, nil)
	c.done[p.Dir] = append(c.done[p.Dir], &checkedPackage{pkg, p.GoFiles, imports})
	return pkg
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
