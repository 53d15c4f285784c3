//go:build unix

package host_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

var updatePage = flag.Bool("update", false, "write the tables of docs/security.md")

// fieldTable lists what a change of an entry means.
func fieldTable() string {
	var b strings.Builder
	b.WriteString("| field | what changes | what happens |\n|---|---|---|\n")
	for _, change := range fieldChanges() {
		means := "it is asked about again"
		if !change.asks {
			means = "does not ask: " + change.why
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", change.field, change.what, means)
	}
	return b.String()
}

// readingTable lists what reads an entry again.
func readingTable() string {
	var b strings.Builder
	b.WriteString("| how an entry is read again | its scope |\n|---|---|\n")
	for _, way := range readings() {
		fmt.Fprintf(&b, "| %s | the project's |\n", way.how)
	}
	return b.String()
}

// TestSecurityPage holds docs/security.md against the tables that
// TestAnAllowedEntryThatChangesIsAskedAbout and TestScopeStays check. With -update it
// writes them.
func TestSecurityPage(t *testing.T) {
	const file = "../docs/security.md"
	data := assert.Value(os.ReadFile(file))(t)
	page := string(data)
	for name, table := range map[string]string{"fields": fieldTable(), "readings": readingTable()} {
		begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
		before, rest, ok := strings.Cut(page, begin)
		_, after, ends := strings.Cut(rest, end)
		if !ok || !ends {
			t.Fatalf("%s has no place for the table %q", file, name)
		}
		page = before + begin + table + end + after
	}
	switch {
	case page == string(data):
	case *updatePage:
		assert.OK(t, os.WriteFile(file, []byte(page), 0o644))
	default:
		t.Errorf("%s is not what the tests check: run go test ./host -run TestSecurityPage -update", file)
	}
}
