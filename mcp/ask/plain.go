package ask

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// Plain returns text with everything made visible that could deceive a reader:
// control characters, escape sequences, marks that turn the direction of writing,
// characters without width, and what is not UTF-8. Such a character becomes its number,
// as in <U+202E>. Only line feeds stay.
func Plain(text string) string { return plain.Text(text) }

// line is Plain for what has to stay on one line, and short.
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
		out.WriteString("  | " + Plain(part) + "\n")
	}
	return out.String() + more
}
