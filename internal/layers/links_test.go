package layers

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// namedFuncs are the functions that a page names behind a link to their file.
	namedFuncs = regexp.MustCompile("\\]\\(([^()\\s]+\\.go)\\): ((?:`\\w+`(?:, )?)+)")
)

// checkLinks finds links within the repository that lead to no file or heading, in the
// pages of fsys, which holds the repository.
func checkLinks(fsys fs.FS, pages []string) ([]string, error) {
	var problems []string
	headings := map[string][]string{} // by page
	for _, page := range pages {
		text, err := fs.ReadFile(fsys, page)
		if err != nil {
			return nil, err
		}
		headings[page] = anchors(string(text))
	}
	for _, page := range pages {
		text, err := fs.ReadFile(fsys, page)
		if err != nil {
			return nil, err
		}
		for _, m := range pageLink.FindAllStringSubmatch(withoutBlocks(string(text)), -1) {
			link := m[1]
			if strings.Contains(link, "://") {
				continue
			}
			to, anchor, _ := strings.Cut(link, "#")
			target := path.Join(path.Dir(page), to)
			if to == "" {
				target = page
			}
			if _, err := fs.Stat(fsys, target); err != nil {
				problems = append(problems, fmt.Sprintf("%s: the link %s leads to no file", page, link))
			} else if known, isPage := headings[target]; anchor != "" && isPage && !slices.Contains(known, anchor) {
				problems = append(problems, fmt.Sprintf("%s: the link %s leads to no heading", page, link))
			}
		}
	}
	return problems, nil
}

// withoutBlocks returns a page without its fenced blocks.
func withoutBlocks(text string) string {
	var b strings.Builder
	inBlock := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inBlock = !inBlock
		} else if !inBlock {
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors returns the names by which the headings of a page can be linked to.
func anchors(text string) []string {
	var names []string
	for line := range strings.Lines(withoutBlocks(text)) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(title))))
	}
	return names
}

// checkNamedFuncs finds functions that a page names behind a link to a file, and that are
// not in it.
func checkNamedFuncs(tr *tree, page, text string) (problems []string, named int) {
	funcs := map[string][]string{} // by file
	for _, p := range tr.sorted() {
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					funcs[f.path] = append(funcs[f.path], fn.Name.Name)
				}
			}
		}
	}
	for _, m := range namedFuncs.FindAllStringSubmatch(text, -1) {
		file := path.Join(path.Dir(page), m[1])
		for _, name := range inQuotes.FindAllStringSubmatch(m[2], -1) {
			named++
			if !slices.Contains(funcs[file], name[1]) {
				problems = append(problems, fmt.Sprintf("%s: there is no func %s in %s", page, name[1], file))
			}
		}
	}
	return problems, named
}

// linkedPages returns the pages whose links are looked at.
func linkedPages(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	pages := []string{readme, readmeInChinese, "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"}
	for _, folder := range []string{"docs", "bench"} {
		assert.OK(t, fs.WalkDir(fsys, folder, func(name string, d fs.DirEntry, err error) error {
			if err == nil && path.Ext(name) == ".md" {
				pages = append(pages, name)
			}
			return err
		}))
	}
	return pages
}

// TestLinks follows the links of the pages to files and headings of this repository.
func TestLinks(t *testing.T) {
	fsys := os.DirFS(root)
	problems := assert.Value(checkLinks(fsys, linkedPages(t, fsys)))(t)
	report(t, problems)
}

// TestDesignIndex holds the index of the design against the code: the functions that it
// names are in the files that it links to.
func TestDesignIndex(t *testing.T) {
	const page = "docs/design/README.md"
	text := assert.Value(fs.ReadFile(os.DirFS(root), page))(t)
	problems, named := checkNamedFuncs(repository(t), page, string(text))
	report(t, problems)
	assert.True(t, named >= 5, "%s names %d functions behind links to files, of at least 5", page, named)
}

func TestLinksSeeProblems(t *testing.T) {
	fsys := fstest.MapFS{
		"README.md":   {Data: []byte("# A title\n\n[a](docs/a.md#one-two), [b](docs/b.md), [c](#a-title), [d](#no-title), [e](https://example.com/x)\n")},
		"docs/a.md":   {Data: []byte("## One, `two`\n\n[a](../README.md), [b](../x/y.go), [c](../x), [d](#three)\n```\n# Three\n[a](nowhere.md)\n```\n")},
		"x/y.go":      {Data: []byte("package x\n")},
		"other/no.md": {Data: []byte("[a](nowhere.md)\n")},
	}
	problems := assert.Value(checkLinks(fsys, []string{"README.md", "docs/a.md"}))(t)
	expect(t, problems,
		"README.md: the link docs/b.md leads to no file",
		"README.md: the link #no-title leads to no heading",
		"docs/a.md: the link #three leads to no heading",
	)
	tr := sketch(t, map[string]string{"x/y.go": "package x\n\nfunc F() {}\n\nfunc (t T) m() {}\n"})
	text := "| a | [y](../x/y.go): `F`, `m` | | [y](../x/y.go): `g`; [z](../x/z.go): `F` |\n"
	problems, named := checkNamedFuncs(tr, "docs/a.md", text)
	assert.Equal(t, named, 4, "names of functions")
	expect(t, problems, "docs/a.md: there is no func g in x/y.go", "docs/a.md: there is no func F in x/z.go")
}
