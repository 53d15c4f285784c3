package layers

import (
	"errors"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestDocCode type-checks the Go code in the doc comments of the core's packages: its
// calls, fields and methods have to exist as they are written. What the code leaves
// out, such as variables that it does not declare, is not looked at.
func TestDocCode(t *testing.T) {
	c := checkerFor(runtime.GOOS)
	checked := c.check(t, ".", "./...")
	byName := map[string]*types.Package{} // those that code in comments can mean
	for _, path := range []string{"context", "encoding/json", "errors", "fmt", "net/http", "os", "time", "log/slog", "slices"} {
		byName[path[strings.LastIndex(path, "/")+1:]] = checked[path]
	}
	for _, p := range repository(t).sorted() {
		if pkg := checked[module+"/"+p.folder]; p.isPublic() && pkg != nil && !strings.HasPrefix(p.folder, "examples/") {
			byName[pkg.Name()] = pkg
		}
	}
	blocks := 0
	for _, p := range repository(t).sorted() {
		if !p.isPublic() || checked[module+"/"+p.folder] == nil {
			continue
		}
		for _, f := range p.production() {
			for _, code := range codeInComments(f.ast) {
				file := codeFile(code)
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
	if blocks < 10 {
		t.Errorf("found %d blocks of code, want at least 10", blocks)
	}
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

var leftOut = regexp.MustCompile(`(?m)^\s*\.\.\.$|\{ \.\.\. \}`)

// codeFile returns a file with the code in a function; nil if it is not Go, or too little
// to say so: a single word, a table.
func codeFile(code string) string {
	code = leftOut.ReplaceAllStringFunc(code, func(s string) string {
		if strings.HasPrefix(s, "{") {
			return "{}"
		}
		return ""
	})
	text := "package p\n\nfunc _() error {\n" + code + "\n}\n"
	if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil || !strings.Contains(code, "(") {
		return ""
	}
	return text
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
		strings.Contains(problem, "imported and not used") ||
		strings.HasPrefix(problem, "no new variables") ||
		strings.HasSuffix(problem, "is not used")
}

func TestDocCodeSeesProblems(t *testing.T) {
	c := checkerFor(runtime.GOOS)
	byName := map[string]*types.Package{"os": c.check(t, ".", "os")["os"]}
	for code, want := range map[string]int{
		"f, err := os.Open(path)\nif err != nil { ... }": 0,
		"...\nos.Remove(path)":                           0,
		"f, err := os.Open(ctx, path, nil)":              1,
		"err := os.Opened(path)":                         1,
		"l := &os.LinkError{Path: path()}":               1,
		"go run .":                                       -1,
		"command, args   a local server (stdio)":         -1,
	} {
		file := codeFile(code)
		if want < 0 {
			if file != "" {
				t.Errorf("%q: took it for Go", code)
			}
			continue
		}
		if file == "" {
			t.Errorf("%q: did not take it for Go", code)
		} else if wrong := c.checkCode(file, byName); len(wrong) != want {
			t.Errorf("%q: got %v, want %d problems", code, wrong, want)
		}
	}
}
