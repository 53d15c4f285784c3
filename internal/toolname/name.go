// Package toolname tells names of tools apart as people and models write them: case and
// separators do not count, and a name may begin with that of a server.
package toolname

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Name is a name of a tool without its case and separators.
type Name struct {
	Folded string
	Cuts   []Cut // where the separators were
}

// A Cut is where a server's name may end.
type Cut struct {
	End    int  // where the words before it end in the folded name
	Next   int  // where the words after it begin
	Strong bool // it was a separator that is made to stand between server and tool
}

// Fold folds a name. Of its separators only those between two digits stay, as one
// underscore: "page_1_2" is not "page_12". In a name without any, as in
// "githubCreateIssue", the first word may be a server.
func Fold(name string) Name {
	var f Name
	folded := make([]byte, 0, len(name))
	var before rune // the last one that is no separator
	camel := 0
	strong, separated := false, false
	underscore := false // the rune before was one
	for _, r := range name {
		if separator(r) {
			strong = strong || r == '_' && underscore || r == '.' || r == ':' || r == '/'
			underscore = r == '_'
			separated = true
			continue
		}
		if separated && len(folded) > 0 {
			c := Cut{End: len(folded), Strong: strong}
			if unicode.IsDigit(before) && unicode.IsDigit(r) {
				folded = append(folded, '_')
			}
			c.Next = len(folded)
			f.Cuts = append(f.Cuts, c)
		}
		if camel == 0 && len(folded) > 0 && unicode.IsUpper(r) {
			camel = len(folded)
		}
		folded = utf8.AppendRune(folded, unicode.ToLower(r))
		before, strong, separated, underscore = r, false, false, false
	}
	f.Folded = string(folded)
	if len(f.Cuts) == 0 && camel > 0 && !startsUpper(name) {
		f.Cuts = append(f.Cuts, Cut{camel, camel, false})
	}
	return f
}

func separator(r rune) bool { return strings.ContainsRune("_-.:/ ", r) }

func startsUpper(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r)
}

// Strong reports whether any separator is a strong one.
func (n Name) Strong() bool {
	return slices.ContainsFunc(n.Cuts, func(c Cut) bool { return c.Strong })
}

// WithoutMCP returns what follows if the name begins with a word that models write before the
// names of tools, else nothing.
func (n Name) WithoutMCP() Name {
	for i, first := range n.Cuts {
		switch n.Folded[:first.End] {
		case "mcp", "functions", "tools", "defaultapi":
		default:
			continue
		}
		from := first.Next
		rest := Name{Folded: n.Folded[from:]}
		for _, c := range n.Cuts[i+1:] {
			rest.Cuts = append(rest.Cuts, Cut{c.End - from, c.Next - from, c.Strong})
		}
		return rest
	}
	return Name{}
}

// Splits yields the servers that the name may begin with, folded, and what of it is the
// tool then, from the shortest server to the longest. A server ends only where the
// strongest separators are: in "github__create_issue" no server "github_create" is named.
func (n Name) Splits() iter.Seq2[string, string] {
	return func(yield func(server, tool string) bool) {
		strong := n.Strong()
		for _, c := range n.Cuts {
			if (c.Strong || !strong) && !yield(n.Folded[:c.End], n.Folded[c.Next:]) {
				return
			}
		}
	}
}

// Check holds the name of a tool to the protocol's rule.
func Check(name string) error {
	if name == "" || len(name) > 128 {
		return fmt.Errorf("has %d characters, want 1 to 128", len(name))
	}
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.", r)) {
			return fmt.Errorf("contains %q, allowed are letters, digits, '_', '-' and '.'", r)
		}
	}
	return nil
}
