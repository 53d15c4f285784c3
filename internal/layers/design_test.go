package layers

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var (
	tableRow  = regexp.MustCompile(`(?m)^\|.*\|$`)
	inQuotes  = regexp.MustCompile("`([^`]+)`")
	testName  = regexp.MustCompile(`^Test[A-Z]\w*$`)
	goFile    = regexp.MustCompile(`^[\w/]+\.go$`)
	designDoc = filepath.Join("..", "..", "docs", "design.md")
)

// TestDesignNamesWhatIsThere holds the tables of the design document against
// the code: the files and tests that they name exist.
func TestDesignNamesWhatIsThere(t *testing.T) {
	tr := repository(t)
	text, err := os.ReadFile(designDoc)
	if err != nil {
		t.Fatal(err)
	}
	problems, named := checkDesign(tr, string(text))
	for _, p := range problems {
		t.Error(p)
	}
	if named == 0 {
		t.Error("docs/design.md names no test: the check has nothing to do")
	}
}

func checkDesign(tr *tree, text string) (problems []string, named int) {
	var tests, files []string
	for _, p := range tr.sorted() {
		for _, f := range p.files {
			files = append(files, f.path)
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					tests = append(tests, fn.Name.Name)
				}
			}
		}
	}
	for _, row := range tableRow.FindAllString(text, -1) {
		for _, m := range inQuotes.FindAllStringSubmatch(row, -1) {
			switch name := m[1]; {
			case testName.MatchString(name):
				named++
				if !slices.Contains(tests, name) {
					problems = append(problems, fmt.Sprintf("docs/design.md names %s, which is no test", name))
				}
			case goFile.MatchString(name) && !slices.Contains(files, name):
				problems = append(problems, fmt.Sprintf("docs/design.md names %s, which is no file", name))
			}
		}
	}
	return problems, named
}

func TestDesignNamesAreMissed(t *testing.T) {
	tr := sketch(t, map[string]string{"a/a_test.go": "package a\n\nfunc TestHere() {}\n"})
	text := "Only tables count: `TestElsewhere`.\n\n| a | `a/a_test.go` | `TestHere` |\n| b | `a/b.go` | `TestGone`, `x` |\n"
	problems, named := checkDesign(tr, text)
	if len(problems) != 2 || named != 2 {
		t.Errorf("%d names, problems %q", named, problems)
	}
}
