package layers

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var (
	tableRow = regexp.MustCompile(`(?m)^\|.*\|$`)
	inQuotes = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^Test[A-Z]\w*$`)
	goFile   = regexp.MustCompile(`^[\w/]+\.go$`)
)

const (
	hazardsPage = "docs/hazards.md"
	designPages = "docs/design/*.md"
	// maxDesignLines bounds a page about the design, so that it can be read in one go.
	maxDesignLines = 200
)

// TestDesignNamesWhatIsThere holds the tables of hazards.md and of the pages about the
// design against the code: the files and tests that they name exist.
func TestDesignNamesWhatIsThere(t *testing.T) {
	tr := repository(t)
	fsys := os.DirFS(root)
	pages := assert.Value(fs.Glob(fsys, designPages))(t)
	assert.False(t, len(pages) == 0, "got no page %s", designPages)
	for _, name := range append(pages, hazardsPage, trustPage) {
		text := assert.Value(fs.ReadFile(fsys, name))(t)
		problems, named := checkDesign(tr, name, string(text))
		report(t, problems)
		assert.True(t, strings.HasPrefix(name, "docs/design/") || named != 0, "%s names tests, which the check needs", name)
		lines := strings.Count(string(text), "\n")
		assert.True(t, !strings.HasPrefix(name, "docs/design/") || lines <= maxDesignLines, "%s: %d lines, of at most %d", name, lines, maxDesignLines)
	}
}

func checkDesign(tr *tree, page, text string) (problems []string, named int) {
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
					problems = append(problems, fmt.Sprintf("%s names %s, which is no test", page, name))
				}
			case goFile.MatchString(name) && !slices.Contains(files, name):
				problems = append(problems, fmt.Sprintf("%s names %s, which is no file", page, name))
			}
		}
	}
	return problems, named
}

func TestDesignNamesAreMissed(t *testing.T) {
	tr := sketch(t, map[string]string{"a/a_test.go": "package a\n\nfunc TestHere() {}\n"})
	text := "Only tables count: `TestElsewhere`.\n\n| a | `a/a_test.go` | `TestHere` |\n| b | `a/b.go` | `TestGone`, `x` |\n"
	problems, named := checkDesign(tr, hazardsPage, text)
	assert.Equal(t, named, 2, "names of tests")
	expect(t, problems, "docs/hazards.md names a/b.go, which is no file", "docs/hazards.md names TestGone, which is no test")
}
