package layers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

// direct are the modules that the core module may require; anything heavier
// belongs in a module of its own.
var direct = []string{
	"github.com/gofrs/flock",
	"github.com/google/jsonschema-go",
	"github.com/modelcontextprotocol/go-sdk",
	"github.com/pelletier/go-toml/v2", // links where the config of Codex is read
	"github.com/santhosh-tekuri/jsonschema/v6",
	"go.uber.org/goleak", // tests only
	"go.yaml.in/yaml/v4", // links where YAML is read
	"golang.org/x/crypto",
	"golang.org/x/oauth2",
	"golang.org/x/sync",
	"golang.org/x/sys",
	"golang.org/x/time",
}

// allModules returns the folders that the file allmodules lists.
func allModules(t *testing.T) []string {
	t.Helper()
	return assert.Value(modulelist.Read(os.DirFS(root)))(t)
}

// TestLinkedModules keeps the list of what a program links that uses the
// library: the packages of the core module, less the roof and the test kits.
func TestLinkedModules(t *testing.T) {
	var roots []string
	modules := allModules(t)
	for _, p := range repository(t).sorted() {
		if modulelist.Holder(modules, p.folder) != "." || len(p.production()) == 0 {
			continue
		}
		if r, ok := roomOf(p.folder); ok && r.floor < roof && !r.kit {
			roots = append(roots, "./"+p.folder)
		}
	}
	linked := map[string]bool{}
	for _, goos := range systems() {
		for _, p := range goList(t, ".", goos, append([]string{"-deps"}, roots...)...) {
			assert.False(t, forTests(p.ImportPath), "for %s the library links %s", goos, p.ImportPath)
			if p.Module != nil && p.Module.Path != module {
				linked[p.Module.Path+" "+p.Module.Version] = true
			}
		}
	}
	var lines []string
	for l := range linked {
		lines = append(lines, l)
	}
	golden(t, "deps.golden", "Modules that the library links.", lines, nil)
}

// TestLibraryModulesUsePublicAPI finds imports of packages in folders called internal by
// libraries of other modules than the core. The go command may join a newer core with an older
// module, and those packages keep no promise. Programs are released with their core.
func TestLibraryModulesUsePublicAPI(t *testing.T) {
	modules := allModules(t)
	for _, p := range repository(t).sorted() {
		holder := modulelist.Holder(modules, p.folder)
		if holder == "." || !p.isPublic() {
			continue
		}
		for _, f := range p.production() {
			for imported := range f.names {
				foreign := strings.HasPrefix(imported, module+"/") && !strings.HasPrefix(imported, module+"/"+holder+"/")
				assert.False(t, foreign && strings.Contains(imported+"/", "/internal/"), "%s: the import %s is no public API of another module", f.path, imported)
			}
		}
	}
}

// A goMod is what `go mod edit -json` tells of a go.mod file.
type goMod struct {
	Module  struct{ Path string }
	Require []required
	Replace []replaced
}

type replaced struct {
	Old, New struct{ Path, Version string }
}

type required struct {
	Path, Version string
	Indirect      bool
}

func readGoMod(t *testing.T, folder string) goMod {
	t.Helper()
	var mod goMod
	assert.OK(t, json.Unmarshal(goTool(t, folder, "", "mod", "edit", "-json"), &mod))
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
	assert.OK(t, json.Unmarshal([]byte(text), &mod))
	expect(t, checkRequirements(mod),
		"go.mod requires example.com/heavy: the core module stays small; use it in a module of its own, or add it to internal/layers/modules_test.go")
}

// ours reports whether the path is that of a module of this repository.
func ours(modulePath string) bool {
	return modulePath == module || strings.HasPrefix(modulePath, module+"/")
}

// checkReleasable finds what keeps modules, given by folder, from a release, or from work
// in one clone: all modules of this repository are required in one version, and each that
// is required is replaced by its folder. Who gets a module does not get what it replaces.
func checkReleasable(mods map[string]goMod) []string {
	var problems []string
	versions := map[string]string{} // the first go.mod file that requires each
	for _, folder := range slices.Sorted(maps.Keys(mods)) {
		file := path.Join(folder, "go.mod")
		add := func(format string, args ...any) {
			problems = append(problems, file+" "+fmt.Sprintf(format, args...))
		}
		missing := map[string]string{} // what has to replace each module
		for _, r := range mods[folder].Require {
			if !ours(r.Path) {
				continue
			}
			if versions[r.Version] == "" {
				versions[r.Version] = file
			}
			other := strings.TrimPrefix(strings.TrimPrefix(r.Path, module), "/")
			rel, err := filepath.Rel(filepath.FromSlash(folder), filepath.FromSlash(other))
			if err != nil {
				add("requires %s: %v", r.Path, err)
				continue
			}
			missing[r.Path] = filepath.ToSlash(rel)
		}
		for _, r := range mods[folder].Replace {
			want, required := missing[r.Old.Path]
			delete(missing, r.Old.Path)
			switch {
			case !ours(r.Old.Path):
				add("replaces %s: users would get another module", r.Old.Path)
			case !required:
				add("replaces %s, which it does not require", r.Old.Path)
			case r.Old.Version != "":
				add("replaces one version of %s: leave the version out", r.Old.Path)
			case path.Clean(r.New.Path) != want:
				add("replaces %s by %s, want %s", r.Old.Path, r.New.Path, want)
			}
		}
		for _, other := range slices.Sorted(maps.Keys(missing)) {
			add("requires %s and does not replace it: add replace %s => %s", other, other, missing[other])
		}
	}
	if len(versions) > 1 {
		var list []string
		for _, v := range slices.Sorted(maps.Keys(versions)) {
			list = append(list, v+" ("+versions[v]+")")
		}
		problems = append(problems, "modules of this repository are required in versions "+strings.Join(list, ", ")+": run .ci/release -require with one")
	}
	return problems
}

func TestModulesAreReleasable(t *testing.T) {
	mods := map[string]goMod{}
	for _, folder := range allModules(t) {
		mods[folder] = readGoMod(t, folder)
	}
	report(t, checkReleasable(mods))
}

func TestReleasableSeesProblems(t *testing.T) {
	mods := map[string]goMod{}
	for folder, text := range map[string]string{
		".": `{}`,
		"a": `{"Require": [{"Path": "M", "Version": "v0.2.0"}, {"Path": "example.com/x", "Version": "v9.0.0"}],
			"Replace": [{"Old": {"Path": "M"}, "New": {"Path": "../"}}]}`,
		"b": `{"Require": [{"Path": "M", "Version": "v0.1.0", "Indirect": true}]}`,
		"c/d": `{"Require": [{"Path": "M", "Version": "v0.2.0"}, {"Path": "M/a", "Version": "v0.2.0"}, {"Path": "M/b", "Version": "v0.2.0"}], "Replace": [
			{"Old": {"Path": "M"}, "New": {"Path": ".."}},
			{"Old": {"Path": "M/a", "Version": "v0.2.0"}, "New": {"Path": "../../a"}},
			{"Old": {"Path": "M/b"}, "New": {"Path": "../../b"}},
			{"Old": {"Path": "M/e"}, "New": {"Path": "../../e"}},
			{"Old": {"Path": "example.com/x"}, "New": {"Path": "../../x"}}]}`,
	} {
		var mod goMod
		assert.OK(t, json.Unmarshal([]byte(strings.ReplaceAll(text, `"M`, `"`+module)), &mod))
		mods[folder] = mod
	}
	expect(t, checkReleasable(mods),
		"b/go.mod requires "+module+" and does not replace it: add replace "+module+" => ..",
		"c/d/go.mod replaces "+module+" by .., want ../..",
		"c/d/go.mod replaces one version of "+module+"/a: leave the version out",
		"c/d/go.mod replaces "+module+"/e, which it does not require",
		"c/d/go.mod replaces example.com/x: users would get another module",
		"modules of this repository are required in versions v0.1.0 (b/go.mod), v0.2.0 (a/go.mod): run .ci/release -require with one",
	)
}

// TestAllModules checks that allmodules lists every module, under the path
// that its folder gives it.
func TestAllModules(t *testing.T) {
	var found []string
	assert.OK(t, fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
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
	}))
	slices.Sort(found)
	listed := slices.Sorted(slices.Values(allModules(t)))
	assert.Equal(t, strings.Join(diffSorted(listed, found), "\n"), "", "the difference of allmodules and the tree (- listed, + found)")
	for _, folder := range found {
		assert.Equal(t, readGoMod(t, folder).Module.Path, path.Join(module, folder), "%s/go.mod: the module", folder)
	}
}
