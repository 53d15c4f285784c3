package layers

import (
	"errors"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/modulelist"
)

// TestDocCode type-checks the Go code in the doc comments of packages that users import:
// its calls, fields and methods have to exist as they are written. What the code leaves
// out, such as variables that it does not declare, is not looked at.
//
// It looks at the modules of the flag -modules.
func TestDocCode(t *testing.T) {
	c := checkerFor(runtime.GOOS)
	modules, blocks := allModules(t), 0
	for _, folder := range loadedModules(t) {
		var pkgs []*pkg
		for _, p := range repository(t).sorted() {
			if modulelist.Holder(modules, p.folder) == folder && p.isPublic() {
				pkgs = append(pkgs, p)
			}
		}
		if len(pkgs) == 0 {
			continue
		}
		checked := c.load(t, folder, pkgs)
		common := commonNames(t, checked)
		for _, p := range pkgs {
			byName := namesIn(checked[module+"/"+p.folder], common)
			for _, f := range p.production() {
				for _, code := range codeInComments(f.ast) {
					file, problem := codeFile(code)
					assert.Equal(t, problem, "", "%s: the code of a comment cannot be read: %s", f.path, code)
					if file == "" {
						continue // it is not Go
					}
					blocks++
					for _, err := range c.checkCode(file, byName) {
						t.Errorf("%s: in the code of a comment: %s\n%s", f.path, err, code)
					}
				}
			}
		}
	}
	assert.True(t, !slices.Contains(loadedModules(t), ".") || blocks >= 10, "%d blocks of code, of at least 10", blocks)
}

// commonNames returns the packages that code in all comments can mean: those of the
// standard library that are common in examples, and those of this repository.
func commonNames(t *testing.T, checked map[string]*types.Package) map[string]*types.Package {
	t.Helper()
	byName := map[string]*types.Package{}
	for _, path := range []string{"context", "encoding/json", "errors", "fmt", "net/http", "os", "testing", "time", "log/slog", "slices"} {
		if p := checked[path]; p != nil {
			byName[path[strings.LastIndex(path, "/")+1:]] = p
		}
	}
	for _, p := range repository(t).sorted() {
		top, _, _ := strings.Cut(p.folder, "/")
		if pkg := checked[module+"/"+p.folder]; p.isPublic() && pkg != nil && top != "examples" && top != "adapters" {
			byName[pkg.Name()] = pkg
		}
	}
	return byName
}

// namesIn returns the packages that code in the comments of a package can mean: the common
// ones, its imports, and, as belt, itself, since an adapter often has the name of its SDK.
func namesIn(in *types.Package, common map[string]*types.Package) map[string]*types.Package {
	byName := map[string]*types.Package{}
	if in != nil {
		byName["belt"] = in
		for _, p := range in.Imports() {
			byName[p.Name()] = p
		}
	}
	maps.Copy(byName, common)
	return byName
}

// codeInComments returns the blocks of code in the doc comments of a file.
func codeInComments(file *ast.File) []string {
	var blocks []string
	add := func(doc *ast.CommentGroup) {
		for _, b := range new(comment.Parser).Parse(doc.Text()).Content {
			if code, ok := b.(*comment.Code); ok {
				blocks = append(blocks, code.Text)
			}
		}
	}
	add(file.Doc)
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			add(x.Doc)
		case *ast.GenDecl:
			add(x.Doc)
		case *ast.TypeSpec:
			add(x.Doc)
		case *ast.Field:
			add(x.Doc)
		}
		return true
	})
	return blocks
}

var (
	leftOut = regexp.MustCompile(`(?m)^\s*\.\.\.$|\{ ?\.\.\. ?\}`)
	// looksLikeGo finds what no table, command or JSON has.
	looksLikeGo = regexp.MustCompile(`(?m):= |^\s*func [\w(]|^\s*type \w+ (struct|interface)\b|^\s*import ["(]|^package \w+$|\berr != nil\b`)
)

// codeFile returns a file with the code: statements in a function, or declarations. It is
// empty if the code is not Go, or too little to say so: a single word, a table. The
// problem says what is wrong with code that looks like Go and cannot be read.
func codeFile(code string) (file, problem string) {
	code = leftOut.ReplaceAllStringFunc(code, func(s string) string {
		if strings.HasPrefix(s, "{") {
			return "{}"
		}
		return ""
	})
	parse := func(text string) error {
		_, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
		return err
	}
	if strings.Contains(code, "(") {
		for _, text := range []string{
			"package p\n\nfunc _() error {\n" + code + "\n}\n",
			"package p\n\n" + code,
		} {
			if parse(text) == nil {
				return text, ""
			}
		}
	}
	if looksLikeGo.MatchString(code) {
		return "", parse("package p\n\nfunc _() error {\n" + code + "\n}\n").Error()
	}
	return "", ""
}

// checkCode returns what is wrong with code that uses the packages of the given names.
func (c *checker) checkCode(text string, byName map[string]*types.Package) []error {
	imports := ""
	for name := range byName {
		if strings.Contains(text, name+".") {
			imports += "import " + name + " \"" + name + "\"\n"
		}
	}
	file, err := parser.ParseFile(c.fset, "", strings.Replace(text, "package p\n", "package p\n"+imports, 1), 0)
	if err != nil {
		return []error{err}
	}
	var wrong []error
	conf := types.Config{
		Importer: importerFunc(func(path string) (*types.Package, error) { return byName[path], nil }),
		Error: func(err error) {
			var at types.Error
			if errors.As(err, &at) && !isLeftOut(at.Msg) {
				wrong = append(wrong, errors.New(at.Msg))
			}
		},
	}
	_, _ = conf.Check("p", c.fset, []*ast.File{file}, nil)
	return wrong
}

// isLeftOut reports whether an error only says that code is a part of a program.
func isLeftOut(problem string) bool {
	name, undefined := strings.CutPrefix(problem, "undefined: ")
	return undefined && !strings.Contains(name, ".") ||
		strings.HasPrefix(problem, "declared and not used") ||
		strings.HasPrefix(problem, "missing return") ||
		strings.Contains(problem, "imported ") && strings.HasSuffix(problem, " and not used") ||
		strings.HasPrefix(problem, "no new variables") ||
		strings.HasSuffix(problem, "is not used")
}

func TestDocCodeSeesProblems(t *testing.T) {
	c := checkerFor(runtime.GOOS)
	byName := map[string]*types.Package{"os": c.check(t, ".", "os")["os"]}
	for code, want := range map[string]int{ // -1: it is not Go; -2: it cannot be read
		"f, err := os.Open(path)\nif err != nil { ... }": 0,
		"...\nos.Remove(path)":                           0,
		"f, err := os.Open(ctx, path, nil)":              1,
		"err := os.Opened(path)":                         1,
		"l := &os.LinkError{Path: path()}":               1,
		"func f() {\n\tos.Open(path, 1)\n}":              1,
		"func f(l os.LinkError) {\n\tl.Gone()\n}":        1,
		"l := &os.LinkError{...}\nl.Unwrap()":            0,
		"go run .":                                       -1,
		"command, args   a local server (stdio)":         -1,
		"{\"name\": \"f(x)\"}":                           -1,
		"f, err := os.Open(\nif err != nil {":            -2,
		"f, err := os.Open(path, ...)":                   -2,
	} {
		file, problem := codeFile(code)
		assert.Equal(t, problem != "", want == -2, "%q: the problem %q", code, problem)
		assert.Equal(t, file != "", want >= 0, "%q: taken for Go", code)
		if file == "" {
			continue
		}
		wrong := c.checkCode(file, byName)
		assert.Equal(t, len(wrong), want, "%q: problems %v", code, wrong)
	}
}
