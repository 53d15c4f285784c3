package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

const repository = "github.com/mcpbelt/mcpbelt"

// checks are the files that say how a module is checked.
func checks() []string { return []string{".ci/goflags", ".ci/module", ".ci/tool"} }

// A source is a repository whose files are hashed.
type source struct {
	modules  []string        // folders, the core's "." among them
	files    map[string]file // all that may be committed
	packages map[string]bool // folders with Go files
	golden   []string        // lines of the golden files
}

// A file is one as far as it matters here.
type file struct {
	hash    [sha256.Size]byte
	imports []string // folders of this repository
	embeds  bool     // files of a testdata folder
}

// hashModules returns the hash of each module but the core.
func hashModules(fsys fs.FS, release string) (hashes, error) {
	modules, err := modulelist.Read(fsys)
	if err != nil {
		return nil, err
	}
	s := &source{modules: modules, files: map[string]file{}, packages: map[string]bool{}}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (base == "node_modules" || base == ".git"):
			return fs.SkipDir
		case d.Type().IsRegular() && !strings.HasSuffix(name, ".out") && !strings.HasSuffix(name, ".test"):
			text, err := fs.ReadFile(fsys, name)
			if err == nil {
				s.add(name, text)
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	h := hashes{}
	for _, folder := range modules {
		if folder != "." {
			h[folder] = s.hash(folder, release)
		}
	}
	return h, nil
}

// add adds a file. One that cannot be parsed, such as one in testdata, imports nothing.
func (s *source) add(name string, text []byte) {
	f := file{hash: sha256.Sum256(text)}
	if strings.HasSuffix(name, ".go") {
		s.packages[path.Dir(name)] = true
		if parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly); err == nil {
			for _, spec := range parsed.Imports {
				imported, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
				if folder, ok := strings.CutPrefix(imported, repository+"/"); ok {
					f.imports = append(f.imports, folder)
				}
			}
		}
		for line := range strings.Lines(string(text)) {
			f.embeds = f.embeds || strings.HasPrefix(strings.TrimSpace(line), "//go:embed ") && strings.Contains(line, "testdata")
		}
	}
	if ok, _ := path.Match("internal/layers/testdata/*.golden", name); ok { // the pattern is well-formed
		s.golden = append(s.golden, slices.Collect(strings.Lines(string(text)))...)
	}
	s.files[name] = f
}

// inputs returns the files that the result of checking a module depends on. Files behind any
// build tag count: too many inputs cost time, too few hide a failure.
func (s *source) inputs(module string) map[string]bool {
	inputs := map[string]bool{}
	var queue []string // folders of imported packages
	add := func(name string) {
		if f, ok := s.files[name]; ok && !inputs[name] {
			inputs[name] = true
			queue = append(queue, f.imports...)
		}
	}
	for _, name := range checks() {
		add(name)
	}
	stranger := "internal/release/testdata/" + strings.ReplaceAll(module, "/", "_") + "/"
	for name := range s.files {
		if modulelist.Holder(s.modules, path.Dir(name)) == module || strings.HasPrefix(name, stranger) {
			add(name)
		}
	}
	seen := map[string]bool{}
	for len(queue) > 0 {
		folder := queue[0]
		if queue = queue[1:]; seen[folder] {
			continue
		}
		seen[folder] = true
		add(path.Join(modulelist.Holder(s.modules, folder), "go.mod"))
		own, data, embeds := s.packageFiles(folder)
		if embeds {
			own = append(own, data...)
		}
		for _, name := range own {
			add(name)
		}
	}
	return inputs
}

// packageFiles returns the files of an imported package: what is compiled, and what may
// be embedded. Tests do not count, nor does testdata, unless the package embeds some.
func (s *source) packageFiles(folder string) (own, data []string, embeds bool) {
	for name, f := range s.files {
		rest, below := strings.CutPrefix(name, folder+"/")
		if !below {
			continue
		}
		inData, other, at := false, false, folder
		steps := strings.Split(rest, "/")
		for _, step := range steps[:len(steps)-1] {
			at += "/" + step
			inData = inData || step == "testdata" && !other
			other = other || !inData && s.packages[at]
		}
		switch {
		case inData:
			data = append(data, name)
		case !other && !strings.HasSuffix(name, "_test.go") && path.Base(name) != "go.sum":
			own, embeds = append(own, name), embeds || f.embeds
		}
	}
	return own, data, embeds
}

// hash returns the hash of the inputs of a module, their names, what the golden files say of
// the module, and the release of Go.
func (s *source) hash(module, release string) string {
	sum := sha256.New()
	fmt.Fprintln(sum, release)
	for _, line := range s.golden {
		// A line begins with the folder of a package, or with the name of an adapter.
		what, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		what = strings.TrimSuffix(what, ":")
		if what == path.Base(module) || modulelist.Holder(s.modules, what) == module {
			fmt.Fprint(sum, line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.inputs(module))) {
		fmt.Fprintf(sum, "%x %s\n", s.files[name].hash, name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
