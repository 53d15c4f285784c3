package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

const repository = "github.com/mcpbelt/mcpbelt"

// checks are the files that say how a module is checked.
func checks() []string { return []string{".ci/goflags", ".ci/module", ".ci/staticcheck"} }

// A source is a repository whose files are hashed.
type source struct {
	fsys    fs.FS
	modules []string            // folders, the core's "." among them
	imports map[string][]string // by file: folders of this repository
	embeds  map[string]bool     // by file: whether it embeds files of a testdata folder
}

// hashModules returns the hash of each module but the core.
func hashModules(fsys fs.FS, release string) (hashes, error) {
	modules, err := modulelist.Read(fsys)
	if err != nil {
		return nil, err
	}
	s := &source{fsys: fsys, modules: modules, imports: map[string][]string{}, embeds: map[string]bool{}}
	h := hashes{}
	for _, folder := range modules {
		if folder == "." {
			continue
		}
		files, err := s.inputs(folder)
		if err != nil {
			return nil, fmt.Errorf("inputs of %s: %w", folder, err)
		}
		if h[folder], err = s.hash(folder, files, release); err != nil {
			return nil, fmt.Errorf("inputs of %s: %w", folder, err)
		}
	}
	return h, nil
}

// inputs returns the files that the result of checking a module depends on, in order.
// Files behind any build tag count: too many inputs cost time, too few hide a failure.
func (s *source) inputs(module string) ([]string, error) {
	files := map[string]bool{}
	for _, name := range checks() {
		files[name] = true
	}
	own, err := s.below(module, func(folder string) bool { return modulelist.Holder(s.modules, folder) != module })
	if err != nil {
		return nil, err
	}
	stranger := "internal/release/testdata/" + strings.ReplaceAll(module, "/", "_")
	if _, err := fs.Stat(s.fsys, stranger); err == nil {
		program, err := s.below(stranger, func(string) bool { return false })
		if err != nil {
			return nil, err
		}
		own = append(own, program...)
	}
	var queue []string // folders of imported packages
	seen := map[string]bool{}
	follow := func(name string) error {
		folders, err := s.importsOf(name)
		for _, f := range folders {
			if !seen[f] {
				seen[f] = true
				queue = append(queue, f)
			}
		}
		return err
	}
	for _, name := range own {
		files[name] = true
		if err := follow(name); err != nil {
			return nil, err
		}
	}
	for len(queue) > 0 {
		folder := queue[0]
		queue = queue[1:]
		files[path.Join(modulelist.Holder(s.modules, folder), "go.mod")] = true
		imported, err := s.packageFiles(folder)
		if err != nil {
			return nil, err
		}
		for _, name := range imported {
			files[name] = true
			if err := follow(name); err != nil {
				return nil, err
			}
		}
	}
	var sorted []string
	for name := range files {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted, nil
}

// packageFiles returns the files of an imported package: what is compiled, and what may
// be embedded. Tests do not count, nor does testdata, unless the package embeds some.
func (s *source) packageFiles(folder string) ([]string, error) {
	var data []string // folders named testdata
	names, err := s.below(folder, func(sub string) bool {
		if path.Base(sub) == "testdata" {
			data = append(data, sub)
			return true
		}
		return s.isPackage(sub)
	})
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.HasSuffix(name, "_test.go") || path.Base(name) == "go.sum"
	})
	embeds := false
	for _, name := range names {
		if _, err := s.importsOf(name); err != nil {
			return nil, err
		}
		embeds = embeds || s.embeds[name]
	}
	if !embeds {
		return names, nil
	}
	for _, sub := range data {
		more, err := s.below(sub, func(string) bool { return false })
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

// below returns the files in a folder and below it, less the folders that skip names and
// those that hold nothing that is committed.
func (s *source) below(folder string, skip func(folder string) bool) ([]string, error) {
	var names []string
	err := fs.WalkDir(s.fsys, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		switch {
		case d.IsDir() && name != folder && (base == "node_modules" || base == ".git" || skip(name)):
			return fs.SkipDir
		case d.Type().IsRegular() && !strings.HasSuffix(name, ".out") && !strings.HasSuffix(name, ".test"):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// isPackage reports whether a folder holds Go files.
func (s *source) isPackage(folder string) bool {
	found, _ := fs.Glob(s.fsys, folder+"/*.go") // the pattern is well-formed
	return len(found) > 0
}

// importsOf returns the folders of this repository that a Go file imports; other files
// import none. A file that cannot be parsed, such as one in testdata, imports none.
func (s *source) importsOf(name string) ([]string, error) {
	if folders, ok := s.imports[name]; ok || !strings.HasSuffix(name, ".go") {
		return folders, nil
	}
	text, err := fs.ReadFile(s.fsys, name)
	if err != nil {
		return nil, err
	}
	folders := []string{}
	if parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly); err == nil {
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
			if folder, ok := strings.CutPrefix(imported, repository+"/"); ok {
				folders = append(folders, folder)
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), "//go:embed ") && strings.Contains(line, "testdata") {
			s.embeds[name] = true
		}
	}
	s.imports[name] = folders
	return folders, nil
}

// hash returns the hash of files, their names, what the golden files say of the module,
// and the release of Go.
func (s *source) hash(module string, files []string, release string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, release)
	golden, _ := fs.Glob(s.fsys, "internal/layers/testdata/*.golden") // the pattern is well-formed
	for _, name := range golden {
		text, err := fs.ReadFile(s.fsys, name)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			// A line begins with the folder of a package, or with the name of an adapter.
			what, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			what = strings.TrimSuffix(what, ":")
			if what == path.Base(module) || modulelist.Holder(s.modules, what) == module {
				fmt.Fprint(sum, line)
			}
		}
	}
	for _, name := range files {
		text, err := fs.ReadFile(s.fsys, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%x %s\n", sha256.Sum256(text), name)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
