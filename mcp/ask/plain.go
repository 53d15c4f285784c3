package ask

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// line makes everything visible in a text that could deceive a reader, and keeps it on one
// line, and short.
func line(text string) string { return plain.Line(text) }

// quoted returns a text of a server, each line behind a mark that nothing of the
// console's own has.
func quoted(text string) string {
	const most = 20_000
	more := ""
	if n := utf8.RuneCountInString(text); n > most {
		text, more = string([]rune(text)[:most]), fmt.Sprintf("  (%d more characters are not shown)\n", n-most)
	}
	var out strings.Builder
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		out.WriteString("  | " + plain.Text(part) + "\n")
	}
	return out.String() + more
}
