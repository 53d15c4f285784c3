// Tests of the exported errors, and of docs/errors.md.

package layers

import (
	"cmp"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const errorsHead = `# Look up what an error means

<!-- Written by ` + "`go test ./internal/layers -run TestErrors -update`" + ` from the comments of the errors. -->

` + "```go" + `
	res, err := b.host.Registry().Call(ctx, r.PathValue("tool"), []byte(args))
	var login *auth.LoginRequiredError
	switch {
	case errors.As(err, &login):
		http.Error(w, "Log in at "+login.Server+" first.", http.StatusUnauthorized)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		fmt.Fprint(w, result.Text(res))
	}
` + "```" + `

The program is [examples/webbackend](../examples/webbackend). Errors are wrapped: ask for a type with
` + "`errors.AsType`" + `, for a value with ` + "`errors.Is`" + `, and never compare texts. ` + "`mcp.OutcomeOf`" + ` says of each
error of a call whether it was answered, was not sent, or may have run. At a terminal and on the
admin page an error says its cure itself.
`

// TestErrors holds docs/errors.md against the exported errors. Each has the directive "//cure:"
// below its comment. With -update it writes the page.
func TestErrors(t *testing.T) {
	page, problems := errorsPage(repository(t))
	report(t, problems)
	checkWritten(t, "docs/errors.md", page)
}

var inLinks = regexp.MustCompile(`\[\*?([\w.]+)\]`)

func errorsPage(tr *tree) (page string, problems []string) {
	var b strings.Builder
	b.WriteString(errorsHead)
	for _, p := range tr.sorted() {
		if !p.isPublic() {
			continue
		}
		var rows []string
		add := func(f *file, spec ast.Spec, doc *ast.CommentGroup, name string) {
			meaning, cure := doc.Text(), ""
			for _, c := range doc.List {
				cure = cmp.Or(cure, strings.TrimPrefix(c.Text, "//cure:"))
				if cure == c.Text {
					cure = ""
				}
			}
			if cure == "" {
				problems = append(problems, fmt.Sprintf("%s%s has no cure: say what helps in a line //cure: below its comment", tr.at(spec.Pos()), name))
			}
			meaning, _, _ = strings.Cut(meaning, "\n\n")
			meaning = inLinks.ReplaceAllString(strings.Join(strings.Fields(meaning), " "), "`$1`")
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", name, strings.ReplaceAll(meaning, "|", `\|`), cure))
		}
		for _, f := range p.production() {
			for _, d := range f.ast.Decls {
				decl, ok := d.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, spec := range decl.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() && p.hasError(s.Name.Name) {
							add(f, s, cmp.Or(s.Doc, decl.Doc), s.Name.Name)
						}
					case *ast.ValueSpec:
						if name := s.Names[0].Name; strings.HasPrefix(name, "Err") {
							add(f, s, cmp.Or(s.Doc, decl.Doc), name)
						}
					}
				}
			}
		}
		if len(rows) > 0 {
			slices.Sort(rows)
			fmt.Fprintf(&b, "\n## %s\n\n| error | what it means | what helps |\n|---|---|---|\n%s", p.folder, strings.Join(rows, ""))
		}
	}
	return b.String(), problems
}

// hasError reports whether a type of the package is an error.
func (p *pkg) hasError(name string) bool {
	return slices.ContainsFunc(p.production(), func(f *file) bool {
		return slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Recv != nil && fn.Name.Name == "Error" && fn.Type.Params.NumFields() == 0 && receiver(fn) == name
		})
	})
}

func TestErrorsSeeProblems(t *testing.T) {
	tr := sketch(t, map[string]string{"mcp/a.go": `package mcp
// ErrA reports
// [B].
//
// More.
//
//cure:wait
var ErrA error
// A BError has none.
type BError struct{}
func (*BError) Error() string { return "" }
// A C is none.
type C struct{}
`})
	page, problems := errorsPage(tr)
	assert.Equal(t, page[len(errorsHead):], "\n## mcp\n\n| error | what it means | what helps |\n|---|---|---|\n| `BError` | A BError has none. |  |\n| `ErrA` | ErrA reports `B`. | wait |\n", "rows")
	expect(t, problems, "mcp/a.go:10: BError has no cure: say what helps in a line //cure: below its comment")
}
