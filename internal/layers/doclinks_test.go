package layers

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// bracketed is what is meant as a link of a doc comment, such as [Name] or [package.Name].
var bracketed = regexp.MustCompile(`\[\*?(?:[a-z][a-z0-9]*\.)?[A-Z][A-Za-z0-9]*(?:\.[A-Z][A-Za-z0-9]*)?\]`)

// TestDocLinks resolves the links of all doc comments, as pkg.go.dev does: what it cannot
// resolve, such as the name of a package that the file's package does not import, it shows in
// brackets.
func TestDocLinks(t *testing.T) {
	root := os.DirFS("../..")
	assert.OK(t, fs.WalkDir(root, ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || name == "internal" || name != "." && strings.HasPrefix(name, ".") {
			return fs.SkipDir
		}
		files := token.NewFileSet()
		var parsed []*ast.File
		names, _ := fs.Glob(root, filepath.Join(dir, "*.go"))
		for _, name := range names {
			text, err := fs.ReadFile(root, name)
			if err != nil || strings.HasSuffix(name, "_test.go") {
				continue
			}
			if f, err := parser.ParseFile(files, name, text, parser.ParseComments); err == nil {
				parsed = append(parsed, f)
			}
		}
		if len(parsed) == 0 || parsed[0].Name.Name == "main" {
			return nil
		}
		p, err := doc.NewFromFiles(files, parsed, "x/"+dir)
		if err != nil {
			return nil // files of several systems say one thing twice
		}
		check := func(what, text string) {
			for _, block := range p.Parser().Parse(text).Content {
				if code, ok := block.(*comment.Code); ok {
					code.Text = ""
				}
				for _, dead := range bracketed.FindAllString(string(p.Printer().Comment(&comment.Doc{Content: []comment.Block{unlinked(block)}})), -1) {
					t.Errorf("%s: %s: %s is no link: import the package, or write it without brackets", dir, what, dead)
				}
			}
		}
		check("package", p.Doc)
		values := func(all []*doc.Value) {
			for _, v := range all {
				check(v.Names[0], v.Doc)
			}
		}
		funcs := func(all []*doc.Func) {
			for _, f := range all {
				check(f.Name, f.Doc)
			}
		}
		values(p.Consts)
		values(p.Vars)
		funcs(p.Funcs)
		for _, typ := range p.Types {
			check(typ.Name, typ.Doc)
			values(typ.Consts)
			values(typ.Vars)
			funcs(typ.Funcs)
			funcs(typ.Methods)
		}
		return nil
	}))
}

// unlinked takes the links out of a block.
func unlinked(block comment.Block) comment.Block {
	if p, ok := block.(*comment.Paragraph); ok {
		var rest []comment.Text
		for _, text := range p.Text {
			if plain, ok := text.(comment.Plain); ok {
				rest = append(rest, plain)
			}
		}
		return &comment.Paragraph{Text: rest}
	}
	if l, ok := block.(*comment.List); ok {
		for _, item := range l.Items {
			for i := range item.Content {
				item.Content[i] = unlinked(item.Content[i])
			}
		}
	}
	return block
}
