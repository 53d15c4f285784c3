//go:build release

package release

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

// A program of a module that is nothing but programs prints this, among other lines. It
// is not run if that is empty.
var programs = map[string]string{
	"bench":         "", // takes minutes
	"bench/growth":  "", // as well
	"cmd/mcpbelt":   "mcpbelt works with MCP servers",
	"examples/rest": `ok: {"available":1,"sold":1}`,
}

// TestStrangers builds and runs a program for each module, as a user of it does.
func TestStrangers(t *testing.T) {
	all := allModules(t)
	wanted := namedModules(t, "MODULES", all)
	if len(wanted) == 0 {
		wanted = all
	}
	proxy, version := newProxy(t, all)
	env := []string{
		"GOWORK=off",
		"GOPROXY=file://" + filepath.ToSlash(proxy) + "," + command{}.run(t, "go", "env", "GOPROXY"),
		"GONOSUMDB=" + path.Dir(module) + "/*," + command{}.run(t, "go", "env", "GONOSUMDB"),
		"GOPRIVATE=", "GONOPROXY=", // the proxy is asked for every module
	}
	cache := command{}.run(t, "go", "env", "GOMODCACHE")
	t.Cleanup(func() {
		if err := forget(cache, version); err != nil {
			t.Error(err)
		}
	})
	for _, folder := range wanted {
		t.Run(folder, func(t *testing.T) {
			flags := "GOFLAGS=-mod=mod -buildvcs=false " + command{}.run(t, root+"/.ci/goflags", folder)
			s := stranger{command{t.TempDir(), append(slices.Clone(env), flags)}, path.Join(module, folder), version}
			s.run(t, "go", "mod", "init", "example.com/stranger")
			if output, ok := programs[folder]; ok {
				s.tryProgram(t, output)
			} else {
				s.tryLibrary(t, folder)
			}
			s.checkGoMod(t)
		})
	}
}

// newProxy has the script make a module proxy of the files of this repository, in a
// version that no module cache holds.
func newProxy(t *testing.T, all []string) (proxy, version string) {
	t.Helper()
	unique := make([]byte, 6)
	_, _ = rand.Read(unique) // never fails
	version = "v0.1.0-test.h" + hex.EncodeToString(unique)
	proxy = t.TempDir()
	out := command{}.run(t, root+"/.ci/release", "-proxy", proxy, "-trial", version)
	for _, folder := range all {
		if want := "tag " + path.Join(folder, version); !slices.Contains(strings.Split(out, "\n"), want) {
			t.Errorf("the release lacks the line %q:\n%s", want, out)
		}
	}
	c := command{t.TempDir(), []string{"GOPROXY=file://" + filepath.ToSlash(proxy), "GONOSUMDB=" + path.Dir(module) + "/*", "GOPRIVATE=", "GONOPROXY="}}
	for _, folder := range all {
		m := path.Join(module, folder)
		if got := c.run(t, "go", "list", "-m", m+"@latest"); got != m+" "+version {
			t.Errorf("got %s as the latest version, want %s", got, version)
		}
	}
	return proxy, version
}

// A stranger is a module that uses a module of this repository.
type stranger struct {
	command
	module, version string
}

func (s *stranger) build(t *testing.T, args ...string) {
	t.Helper()
	s.run(t, "go", slices.Concat([]string{"build"}, args)...)
}

// start runs the program that was built, with folders of its own.
func (s *stranger) start(t *testing.T) string {
	t.Helper()
	own := t.TempDir()
	c := command{own, []string{"TMPDIR=" + own, "HOME=" + own, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_STATE_HOME="}}
	return c.run(t, filepath.Join(s.dir, "stranger.exe"))
}

// tryLibrary builds and runs the program in testdata that imports the module.
func (s *stranger) tryLibrary(t *testing.T, folder string) {
	t.Helper()
	name := strings.ReplaceAll(folder, "/", "_")
	if folder == "." {
		name = path.Base(module)
	}
	source, err := os.ReadFile(filepath.Join("testdata", name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, want, ok := strings.Cut(string(source), "\n// Output: ")
	if !ok {
		t.Fatalf("testdata/%s/main.go does not end in a comment that begins with Output:", name)
	}
	write(t, s.dir, map[string]string{"main.go": string(source)})
	s.run(t, "go", "get", s.module+"@"+s.version)
	s.build(t, "-o", "stranger.exe", ".")
	if got := s.start(t); got != strings.TrimSpace(want) {
		t.Errorf("got the output %q, want %q", got, strings.TrimSpace(want))
	}
}

// tryProgram builds the programs of the module. The first is run. `go run` with a version
// would fail: the go command refuses that for modules which replace others.
func (s *stranger) tryProgram(t *testing.T, output string) {
	t.Helper()
	s.run(t, "go", "get", s.module+"@"+s.version)
	s.build(t, s.module+"/...")
	if output == "" {
		return
	}
	s.build(t, "-o", "stranger.exe", s.module)
	if got := s.start(t); !strings.Contains(got, output) {
		t.Errorf("got the output %q, want that it has %q", got, output)
	}
}

// checkGoMod checks that the stranger's module replaces nothing, and requires our modules
// in the version that was asked for.
func (s *stranger) checkGoMod(t *testing.T) {
	t.Helper()
	var mod struct {
		Require []struct{ Path, Version string }
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal([]byte(s.run(t, "go", "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Replace {
		t.Errorf("go.mod replaces %s", r.Old.Path)
	}
	required := false
	for _, r := range mod.Require {
		if r.Path != module && !strings.HasPrefix(r.Path, module+"/") {
			continue
		}
		required = required || r.Path == s.module
		if r.Version != s.version {
			t.Errorf("go.mod requires %s %s, want %s", r.Path, r.Version, s.version)
		}
	}
	if !required {
		t.Errorf("go.mod does not require %s", s.module)
	}
}

// allModules returns the folders that the file allmodules lists.
func allModules(t *testing.T) []string {
	t.Helper()
	folders, err := modulelist.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// namedModules returns the modules that a variable of the environment names.
func namedModules(t *testing.T, variable string, all []string) []string {
	t.Helper()
	named := strings.Fields(os.Getenv(variable))
	for _, folder := range named {
		if !slices.Contains(all, folder) {
			t.Fatalf("%s names %s, which the file allmodules does not list", variable, folder)
		}
	}
	return named
}
