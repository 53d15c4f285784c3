package layers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// direct are the modules that the core module may require; anything heavier
// belongs in a module of its own.
var direct = []string{
	"github.com/gofrs/flock",
	"github.com/google/jsonschema-go",
	"github.com/modelcontextprotocol/go-sdk",
	"github.com/santhosh-tekuri/jsonschema/v6",
	"go.uber.org/goleak", // tests only
	"golang.org/x/crypto",
	"golang.org/x/oauth2",
	"golang.org/x/sync",
	"golang.org/x/sys",
	"golang.org/x/time",
}

// allModules returns the folders that the file allmodules lists.
func allModules(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "allmodules"))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 0 {
			folders = append(folders, fields[0])
		}
	}
	return folders
}

// TestLinkedModules keeps the list of what a program links that uses the
// library: the packages of the core module, less the roof and the test kits.
func TestLinkedModules(t *testing.T) {
	var roots []string
	modules := allModules(t)
	for _, p := range repository(t).sorted() {
		if moduleOf(modules, p.folder) != "." || len(p.production()) == 0 {
			continue
		}
		if r, ok := roomOf(p.folder); ok && r.floor < roof && !r.kit {
			roots = append(roots, "./"+p.folder)
		}
	}
	linked := map[string]bool{}
	for _, goos := range systems() {
		for _, p := range goList(t, ".", goos, append([]string{"-deps"}, roots...)...) {
			if forTests(p.ImportPath) {
				t.Errorf("for %s the library links %s", goos, p.ImportPath)
			}
			if p.Module != nil && p.Module.Path != module {
				linked[p.Module.Path+" "+p.Module.Version] = true
			}
		}
	}
	var lines []string
	for l := range linked {
		lines = append(lines, l)
	}
	golden(t, "deps.golden", "Modules that the library links.", lines)
}

// moduleOf returns which of the modules, given by folder, holds a package.
func moduleOf(modules []string, folder string) string {
	best := "."
	for _, m := range modules {
		if (folder == m || strings.HasPrefix(folder, m+"/")) && (best == "." || len(m) > len(best)) {
			best = m
		}
	}
	return best
}

// A goMod is what `go mod edit -json` tells of a go.mod file.
type goMod struct {
	Module  struct{ Path string }
	Require []required
}

type required struct {
	Path, Version string
	Indirect      bool
}

func readGoMod(t *testing.T, folder string) goMod {
	t.Helper()
	var mod goMod
	if err := json.Unmarshal(goTool(t, folder, "", "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	return mod
}

func checkRequirements(mod goMod) []string {
	var problems []string
	for _, r := range mod.Require {
		if !r.Indirect && !slices.Contains(direct, r.Path) {
			problems = append(problems, fmt.Sprintf(
				"go.mod requires %s: the core module stays small; use it in a module of its own, or add it to internal/layers/modules_test.go", r.Path))
		}
	}
	return problems
}

func TestDirectRequirements(t *testing.T) { report(t, checkRequirements(readGoMod(t, "."))) }

func TestRequirementsSeeProblems(t *testing.T) {
	var mod goMod
	text := `{"Require": [{"Path": "golang.org/x/sys"}, {"Path": "example.com/heavy"}, {"Path": "example.com/far", "Indirect": true}]}`
	if err := json.Unmarshal([]byte(text), &mod); err != nil {
		t.Fatal(err)
	}
	expect(t, checkRequirements(mod),
		"go.mod requires example.com/heavy: the core module stays small; use it in a module of its own, or add it to internal/layers/modules_test.go")
}

// TestAllModules checks that allmodules lists every module, under the path
// that its folder gives it.
func TestAllModules(t *testing.T) {
	var found []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (skipFolder(name) || path.Base(name) == "testdata") {
			return fs.SkipDir
		}
		if path.Base(name) == "go.mod" {
			found = append(found, path.Dir(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	listed := slices.Sorted(slices.Values(allModules(t)))
	if diff := diffSorted(listed, found); len(diff) > 0 {
		t.Errorf("allmodules differs from the tree (- listed, + found):\n\t%s", strings.Join(diff, "\n\t"))
	}
	for _, folder := range found {
		if got, want := readGoMod(t, folder).Module.Path, path.Join(module, folder); got != want {
			t.Errorf("%s/go.mod: the module is %s, want %s", folder, got, want)
		}
	}
}
