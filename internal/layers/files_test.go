package layers

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The length of a file in lines: above wantLines it is named in the log of the
// test, above maxLines it is an error. The tests of a file stand in one file.
const (
	wantLines    = 500
	maxLines     = 600
	maxTestLines = 1000
)

// checkFiles finds Go files that are too long or whose name says nothing.
// Files that should become shorter go to logf.
func checkFiles(tr *tree, logf func(string, ...any)) []string {
	var problems []string
	for _, p := range tr.sorted() {
		for _, f := range p.files {
			n := bytes.Count(f.src, []byte("\n"))
			most, want := maxLines, wantLines
			if f.isTest() {
				most, want = maxTestLines, maxTestLines
			}
			if n > most {
				problems = append(problems, fmt.Sprintf("%s has %d lines, at most %d: one noun per file", f.path, n, most))
			} else if n > want {
				logf("%s has %d lines, should have at most %d", f.path, n, wantLines)
			}
			base := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
			switch base {
			case "util", "utils", "helper", "helpers", "common", "misc", "types":
				problems = append(problems, fmt.Sprintf("%s: name the file after the noun that it holds", f.path))
			}
		}
	}
	return problems
}

// checkText finds paths of one machine in any file that is text. In an
// example of a user's folder the user is called me, user, you, alice, ann or bob.
func checkText(fsys fs.FS) ([]string, error) {
	const before = `(?:^|[^\w.~}/-])`
	machine := regexp.MustCompile(before + `(?:/wor[k]\b|/roo[t]/|/(?:hom[e]|User[s])/(\w+))`)
	var problems []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if skipFolder(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // a worktree has a file .git
		}
		if !d.Type().IsRegular() || strings.HasSuffix(name, ".out") || strings.HasSuffix(name, ".test") {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil || bytes.IndexByte(data, 0) >= 0 {
			return err
		}
		if !mayNameMachine(data) {
			return nil
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if !mayNameMachine(line) {
				continue
			}
			for _, m := range machine.FindAllSubmatch(line, -1) {
				switch string(m[1]) {
				case "me", "user", "you", "alice", "ann", "bob", "node", "nonroot": // the last two in images
					continue
				}
				found := strings.TrimLeft(string(m[0]), " \t\"'`(=:")
				problems = append(problems, fmt.Sprintf("%s:%d: %s is a path of one machine", name, n, found))
			}
		}
		return nil
	})
	return problems, err
}

// mayNameMachine reports whether text holds the beginning of a path that checkText
// looks for. It spares nearly every line the regular expression, which takes seconds.
func mayNameMachine(text []byte) bool {
	for _, root := range []string{"/wor" + "k", "/roo" + "t/", "/hom" + "e/", "/User" + "s/"} {
		if bytes.Contains(text, []byte(root)) {
			return true
		}
	}
	return false
}

func TestFiles(t *testing.T) { report(t, checkFiles(repository(t), t.Logf)) }

func TestText(t *testing.T) {
	problems := assert.Value(checkText(os.DirFS(root)))(t)
	report(t, problems)
}

func TestFilesSeeProblems(t *testing.T) {
	long := func(lines int) string { return "package mcp\n" + strings.Repeat("\n", lines-1) }
	tr := sketch(t, map[string]string{
		"mcp/a.go":            long(500),
		"mcp/b.go":            long(501),
		"mcp/c.go":            long(600),
		"mcp/d.go":            long(601),
		"mcp/d_test.go":       long(1000),
		"mcp/e_test.go":       long(1001),
		"mcp/utils.go":        long(1),
		"mcp/helpers_test.go": long(1),
		"mcp/util_linux.go":   long(1),
	})
	var log []string
	got := checkFiles(tr, func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) })
	expect(t, got,
		"mcp/d.go has 601 lines, at most 600: one noun per file",
		"mcp/e_test.go has 1001 lines, at most 1000: one noun per file",
		"mcp/utils.go: name the file after the noun that it holds",
		"mcp/helpers_test.go: name the file after the noun that it holds",
	)
	expect(t, log, "mcp/b.go has 501 lines, should have at most 500", "mcp/c.go has 600 lines, should have at most 500")
}

func TestTextSeesProblems(t *testing.T) {
	text := strings.ReplaceAll(`fine: ./W/x a/W b.W https://example.com/W /Wers $(DIR)/x /H/me/x "/H/alice"
cd /W
path="/W/main" and '/H/carol/x'
file /R/go
`, "/W", "/wor"+"k")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "/H/", "/hom"+"e/"), "/R/", "/roo"+"t/")
	got := assert.Value(checkText(fstest.MapFS{
		"a.md":                  {Data: []byte(text)},
		"b/testdata/picture":    {Data: []byte("\x00 " + text)},
		"b/node_modules/x.json": {Data: []byte(text)},
	}))(t)
	const is = " is a path of one machine"
	expect(t, got,
		"a.md:2: /wor"+"k"+is,
		"a.md:3: /wor"+"k"+is,
		"a.md:3: /hom"+"e/carol"+is,
		"a.md:4: /roo"+"t/"+is,
	)
}

// tested are the packages in which each file leads to its tests.
var tested = []string{"mcp", "transport", "registry", "session", "host", "host/gateway"}

// checkTested finds production files without a file of tests: that of the same name, or
// one whose first line names them.
func checkTested(tr *tree, folders []string) []string {
	var problems []string
	for _, folder := range folders {
		p := tr.pkgs[folder]
		if p == nil {
			continue
		}
		named := map[string]bool{"doc.go": true}
		for _, f := range p.tests() {
			named[strings.TrimSuffix(path.Base(f.path), "_test.go")+".go"] = true
			first, _, _ := strings.Cut(string(f.src), "\n")
			for _, word := range strings.FieldsFunc(first, func(r rune) bool { return strings.ContainsRune(" ,:;()", r) }) {
				named[word] = strings.HasPrefix(first, "// Tests of ")
			}
		}
		for _, f := range p.production() {
			if base := path.Base(f.path); !named[base] {
				problems = append(problems, fmt.Sprintf("%s has no %s_test.go, and no test file begins with \"// Tests of %s\"", f.path, strings.TrimSuffix(base, ".go"), base))
			}
		}
	}
	return problems
}

func TestFilesLeadToTheirTests(t *testing.T) { report(t, checkTested(repository(t), tested)) }

func TestFilesLeadToTheirTestsSeesProblems(t *testing.T) {
	tr := sketch(t, map[string]string{
		"mcp/doc.go":        "package mcp\n",
		"mcp/a.go":          "package mcp\n",
		"mcp/b.go":          "package mcp\n",
		"mcp/c.go":          "package mcp\n",
		"mcp/a_test.go":     "// b.go is not tested here.\n\npackage mcp\n",
		"mcp/other_test.go": "// Tests of c.go: what it does.\n\npackage mcp\n",
		"auth/a.go":         "package auth\n",
	})
	expect(t, checkTested(tr, []string{"mcp", "transport"}), `mcp/b.go has no b_test.go, and no test file begins with "// Tests of b.go"`)
}
