package layers

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	readme     = "README.md"
	configPage = "docs/configuration.md"
	trustPage  = "docs/security.md"
	// recipesPage is the page of docs/adapters for drafts, which nothing compiles.
	recipesPage = "recipes"
)

// A snippet is a block of Go in a page.
type snippet struct {
	line int // where it begins
	code string
}

// snippets returns the blocks of Go of a page, and what is wrong with its blocks.
func snippets(name, text string) ([]snippet, []string) {
	var all []snippet
	var problems []string
	begin, fence, lang := 0, "", ""
	var code strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		bare := strings.TrimSpace(line)
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		switch {
		case begin == 0 && len(ticks) >= 3:
			begin, fence, lang = n, ticks, strings.TrimSpace(strings.TrimPrefix(bare, ticks))
			code.Reset()
		case begin > 0 && len(ticks) >= len(fence) && bare == ticks:
			if lang == "go" {
				all = append(all, snippet{begin, code.String()})
			} else if strings.EqualFold(lang, "go") || strings.HasPrefix(lang, "go ") || lang == "golang" || lang == "" {
				problems = append(problems, fmt.Sprintf("%s:%d: a block of %q: write go, or what else it is", name, begin, lang))
			}
			begin = 0
		case begin > 0:
			code.WriteString(line)
		}
	}
	if begin > 0 {
		problems = append(problems, fmt.Sprintf("%s:%d: the block has no end", name, begin))
	}
	return all, problems
}

// lean returns code without its indentation and blank lines.
func lean(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// homes returns the folders where the code of a page has to stand.
func homes(name string) []string {
	folder, base := path.Split(name)
	switch base = strings.TrimSuffix(base, ".md"); {
	case name == readme, name == readmeInChinese:
		return []string{"examples/first/"}
	case folder == "docs/":
		return []string{"adapters/", "auth/", "examples/", "host/", "mcp/", "registry/", "sqlstore/"}
	}
	return []string{"adapters/" + base + "/"}
}

// checkSnippets finds blocks of Go in a page that do not stand, line by line, in a
// Go file of the page's folders, where the compiler and the tests see them.
func checkSnippets(tr *tree, name, text string) []string {
	blocks, problems := snippets(name, text)
	for _, s := range blocks {
		if lean(s.code) == "" {
			problems = append(problems, fmt.Sprintf("%s:%d: the block is empty", name, s.line))
		} else if !tr.says(homes(name), lean(s.code)) {
			problems = append(problems, fmt.Sprintf("%s:%d: the code stands in no Go file in %s", name, s.line, strings.Join(homes(name), " or ")))
		}
	}
	return problems
}

// says reports whether the lines stand in a file below one of the folders.
func (tr *tree) says(folders []string, code string) bool {
	for _, p := range tr.pkgs {
		for _, folder := range folders {
			if !strings.HasPrefix(p.folder+"/", folder) {
				continue
			}
			for _, f := range p.files {
				if strings.Contains("\n"+lean(string(f.src)), "\n"+code) {
					return true
				}
			}
		}
	}
	return false
}

// TestSnippets holds the code in all pages against the examples.
func TestSnippets(t *testing.T) {
	tr := repository(t)
	fsys := os.DirFS(root)
	for _, name := range linkedPages(t, fsys) {
		if name == "docs/adapters/"+recipesPage+".md" {
			continue
		}
		text := assert.Value(fs.ReadFile(fsys, name))(t)
		report(t, checkSnippets(tr, name, string(text)))
	}
}

// TestFirstConfig holds the config file in the README against that of the example.
func TestFirstConfig(t *testing.T) {
	page := assert.Value(os.ReadFile(filepath.Join(root, readme)))(t)
	file := assert.Value(os.ReadFile(filepath.Join(root, "examples", "first", "mcp.json")))(t)
	assert.Contains(t, string(page), "```json\n"+string(file)+"```\n", "README.md shows examples/first/mcp.json as it is")
}

func TestSnippetsSeeProblems(t *testing.T) {
	tr := sketch(t, map[string]string{
		"adapters/a/example_test.go":     "package a\n\nfunc Example() {\n\tone()\n\n\tif two {\n\t\tthree()\n\t}\n}\n",
		"adapters/ab/example_test.go":    "package ab\n\nfunc Example() {\n\tfour()\n}\n",
		"examples/other/other.go":        "package other\n\nfunc six() {}\n",
		"adapters/a/inner/other_test.go": "package inner\n\nfunc seven() {}\n",
	})
	block := func(lang, code string) string { return "text\n\n```" + lang + "\n" + code + "\n```\n" }
	good := block("go", "one()\nif two {\n\n    three()\n}") + block("sh", "nothing") + "````go\nfunc seven() {}\n````\n"
	expect(t, checkSnippets(tr, "docs/adapters/a.md", good))
	expect(t, checkSnippets(tr, "docs/adapters.md", block("go", "one()")+block("go", "four()")))

	const gone = ": the code stands in no Go file in adapters/a/"
	expect(t, checkSnippets(tr, "docs/adapters/a.md",
		block("go", "one()\nthree()")+block("go", "four()")+block("go", "ne()")+block("go", "one()\nif two")+block("Go", "one()")+block("", "one()")+block("go", "")+"```go\none()\n"),
		"docs/adapters/a.md:3"+gone, "docs/adapters/a.md:9"+gone, "docs/adapters/a.md:14"+gone, "docs/adapters/a.md:19"+gone,
		`docs/adapters/a.md:25: a block of "Go": write go, or what else it is`,
		`docs/adapters/a.md:30: a block of "": write go, or what else it is`,
		"docs/adapters/a.md:35: the block is empty",
		"docs/adapters/a.md:38: the block has no end",
	)
	expect(t, checkSnippets(tr, "README.md", block("go", "func six() {}")),
		"README.md:3: the code stands in no Go file in examples/first/")
}
