//go:build release

package release

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

// A program of a module that is nothing but programs prints an output, among other lines,
// when it has these arguments. It is not run if the output is empty. VERSION in it stands
// for the version of the module.
var programs = map[string]struct{ args, output string }{
	"bench":       {}, // takes minutes
	"cmd/mcpbelt": {"--version", "mcpbelt version VERSION"},
}

// TestStrangers gets each module as a user of it does, and builds and runs programs of some.
func TestStrangers(t *testing.T) {
	all := allModules(t)
	wanted := namedModules(t, "MODULES", all)
	if len(wanted) == 0 {
		wanted = all
	}
	env, version := publish(t, all)
	for _, folder := range wanted {
		t.Run(folder, func(t *testing.T) {
			flags := "GOFLAGS=-mod=mod -buildvcs=false " + command{}.run(t, root+"/.ci/goflags", folder)
			s := stranger{command{t.TempDir(), append(slices.Clone(env), flags)}, path.Join(module, folder), version}
			if p, ok := programs[folder]; ok {
				s.tryProgram(t, p.args, strings.ReplaceAll(p.output, "VERSION", version))
			} else {
				s.tryLibrary(t, folder)
			}
			if folder == "cmd/mcpbelt" {
				s.tryBinaries(t)
				s.tryPackages(t)
			}
		})
	}
}

// publish makes a proxy of the files of this repository, and returns the variables with which the go
// command gets the modules from there. What it keeps of them goes when the test ends.
func publish(t *testing.T, all []string) (env []string, version string) {
	t.Helper()
	proxy, version := newProxy(t, all)
	cache := command{}.run(t, "go", "env", "GOMODCACHE")
	t.Cleanup(func() { assert.OK(t, forget(cache, version)) })
	return []string{
		"GOWORK=off",
		"GOPROXY=file://" + filepath.ToSlash(proxy) + "," + command{}.run(t, "go", "env", "GOPROXY"),
		"GONOSUMDB=" + path.Dir(module) + "/*," + command{}.run(t, "go", "env", "GONOSUMDB"),
		"GOPRIVATE=", "GONOPROXY=", // the proxy is asked for every module
	}, version
}

// TestInstallLines runs the lines with go get of each page in a new module, with no flag and no further step:
// afterwards all is there that the page's program needs, or one with a host where the page has none.
func TestInstallLines(t *testing.T) {
	env, _ := publish(t, allModules(t))
	pages := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/adapters/*.md"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, page := range found {
			pages = append(pages, strings.TrimPrefix(filepath.ToSlash(page), root+"/"))
		}
	}
	tried := 0
	for _, page := range pages {
		text := string(assert.Value(os.ReadFile(filepath.Join(root, page)))(t))
		line := regexp.MustCompile(`(?m)^    (go get [^#\n]*)`).FindStringSubmatch(text)
		if line == nil {
			continue
		}
		tried++
		t.Run(page, func(t *testing.T) {
			source := "package main\n\nimport (\n\t_ \"" + module + "/host\"\n"
			for _, name := range strings.Fields(line[1])[2:] {
				source += "\t_ \"" + name + "\"\n"
			}
			source += ")\n\nfunc main() {}\n"
			if _, program, ok := strings.Cut(text, "\n```go\npackage main\n"); ok {
				program, _, _ = strings.Cut(program, "\n```")
				source = "package main\n" + program + "\n"
			}
			c := command{t.TempDir(), append(slices.Clone(env), "GOFLAGS=")}
			c.run(t, "go", "mod", "init", "example.com/stranger")
			c.run(t, "go", strings.Fields(line[1])[1:]...)
			write(t, c.dir, map[string]string{"main.go": source})
			c.run(t, "go", "list", "-deps", ".")
		})
	}
	assert.True(t, tried > 10, "%d pages with such a line", tried)
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
		want := "tag " + path.Join(folder, version)
		assert.True(t, slices.Contains(strings.Split(out, "\n"), want))
	}
	c := command{t.TempDir(), []string{"GOPROXY=file://" + filepath.ToSlash(proxy), "GONOSUMDB=" + path.Dir(module) + "/*", "GOPRIVATE=", "GONOPROXY="}}
	for _, folder := range all {
		m := path.Join(module, folder)
		assert.Equal(t, c.run(t, "go", "list", "-m", m+"@latest"), m+" "+version)
	}
	return proxy, version
}

// A stranger is a module that uses a module of this repository.
type stranger struct {
	command
	module, version string
}

// start runs a program with folders of its own.
func (s *stranger) start(t *testing.T, program string, args ...string) string {
	t.Helper()
	own := t.TempDir()
	c := command{own, []string{"TMPDIR=" + own, "HOME=" + own, "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_STATE_HOME="}}
	return c.run(t, filepath.Join(s.dir, program), args...)
}

// tryLibrary builds and runs the program in testdata that imports the module. If there is none, it
// loads all packages of the module, with all that they import and embed, and compiles nothing: what
// is compiled is the same as in the tests of the module, whose requirements are these.
func (s *stranger) tryLibrary(t *testing.T, folder string) {
	t.Helper()
	name := strings.ReplaceAll(folder, "/", "_")
	if folder == "." {
		name = path.Base(module)
	}
	s.run(t, "go", "mod", "init", "example.com/stranger")
	source, err := os.ReadFile(filepath.Join("testdata", name, "main.go"))
	if errors.Is(err, fs.ErrNotExist) {
		list := command{filepath.Join(root, folder), nil}.run(t, "go", "list", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./...")
		var b strings.Builder
		b.WriteString("package main\n\nimport (\n")
		for imported := range strings.FieldsSeq(list) {
			if !strings.Contains(imported+"/", "/internal/") {
				fmt.Fprintf(&b, "\t_ %q\n", imported)
			}
		}
		write(t, s.dir, map[string]string{"main.go": b.String() + ")\n\nfunc main() {}\n"})
		s.run(t, "go", "get", s.module+"@"+s.version)
		s.run(t, "go", "list", "-deps", ".")
		s.checkGoMod(t)
		return
	}
	assert.OK(t, err)
	_, want, ok := strings.Cut(string(source), "\n// Output: ")
	if !ok {
		t.Fatalf("testdata/%s/main.go does not end in a comment that begins with Output:", name)
	}
	write(t, s.dir, map[string]string{"main.go": string(source)})
	s.run(t, "go", "get", s.module+"@"+s.version)
	s.run(t, "go", "build", "-o", "stranger.exe", ".")
	assert.Equal(t, s.start(t, "stranger.exe"), strings.TrimSpace(want), "the output")
	s.checkGoMod(t)
}

// tryProgram installs the programs of the module, and runs the one that it is named after.
func (s *stranger) tryProgram(t *testing.T, args, output string) {
	t.Helper()
	command{s.dir, append(slices.Clone(s.env), "GOBIN="+s.dir)}.run(t, "go", "install", s.module+"/...@"+s.version)
	if output == "" {
		return
	}
	program := path.Base(s.module)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	assert.Contains(t, s.start(t, program, strings.Fields(args)...), output, "the output")
}

// tryBinaries makes the archive for this system, and runs the program that is in it.
func (s *stranger) tryBinaries(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	tool := filepath.Join(dir, "binaries.exe")
	command{}.run(t, "go", "build", "-o", tool, "./binaries")
	command{dir, s.env}.run(t, tool, "-targets", runtime.GOOS+"/"+runtime.GOARCH, s.version, "out")
	archives, _ := filepath.Glob(filepath.Join(dir, "out", "mcpbelt_*"))
	assert.Equal(t, len(archives), 1)
	data := assert.Value(os.ReadFile(archives[0]))(t)
	sums := string(assert.Value(os.ReadFile(filepath.Join(dir, "out", "SHA256SUMS")))(t))
	assert.Equal(t, sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), filepath.Base(archives[0])), "the checksums")
	s.run(t, "tar", "-xf", archives[0])
	assert.Equal(t, s.start(t, "mcpbelt", "--version"), "mcpbelt version "+s.version, "the output")
	for _, name := range []string{"LICENSE", "LICENSES-of-others"} {
		assert.Value(os.Stat(filepath.Join(s.dir, name)))(t)
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
	assert.OK(t, json.Unmarshal([]byte(s.run(t, "go", "mod", "edit", "-json")), &mod))
	for _, r := range mod.Replace {
		t.Errorf("go.mod replaces %s", r.Old.Path)
	}
	required := false
	for _, r := range mod.Require {
		if r.Path != module && !strings.HasPrefix(r.Path, module+"/") {
			continue
		}
		required = required || r.Path == s.module
		assert.Equal(t, r.Version, s.version, "go.mod requires %s", r.Path)
	}
	assert.True(t, required, "go.mod does not require %s: required", s.module)
}

// allModules returns the folders that the file allmodules lists.
func allModules(t *testing.T) []string {
	t.Helper()
	return assert.Value(modulelist.Read(os.DirFS(root)))(t)
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
