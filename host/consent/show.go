package consent

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// String returns the command on a line, for the person who decides: never cut, quoted
// so that bash and shells like it take it for what it is,
// and with all characters escaped that hide or turn what is seen. What else there is to know follows in lines that
// begin with "# ", which no argument can look like. Of a remote server it is the URL as it is used, on one line.
//
// Values of variables and headers are shown as written, but for those that are secrets
// themselves, which are masked. Arguments and URL may hold secrets, and the decision is about them, so they are
// shown as well: keep the text out of logs.
func (l *Launch) String() string {
	if l.URL != "" || l.Path == "" {
		return l.connection()
	}
	var b strings.Builder
	if l.Dir != "" {
		b.WriteString("cd " + quoteOperand(l.Dir) + " && ")
	}
	b.WriteString(l.assignments())
	b.WriteString(quoteCommand(l.Path))
	for _, arg := range l.Args {
		b.WriteString(" " + quote(arg))
	}
	say := func(what, text string) {
		if text != "" {
			b.WriteString("\n# " + quoteUnless(what+text, visible, true))
		}
	}
	say("server ", l.Server)
	say("identity: ", l.Identity)
	say("tools: ", l.Tools)
	say("tools accepted: ", l.Accepted)
	say("confined by ", l.Isolation)
	for _, reference := range l.References {
		say("reads ", reference)
	}
	return b.String()
}

func (l *Launch) connection() string {
	text := "connect "
	if l.Server != "" {
		text += "server " + quote(l.Server) + " "
	}
	text += fmt.Sprintf("by %s to %s", quote(l.Transport), quoteASCII(l.URL))
	if len(l.Headers) > 0 {
		text += ", with the headers"
	}
	for _, header := range l.Headers {
		name, value, _ := strings.Cut(header, ": ")
		if shown, ok := mask.Value(name, ": ", value); ok {
			header = name + ": " + shown
		}
		text += " " + quoteASCII(header)
	}
	say := func(what, value string, quote func(string) string) {
		if value != "" {
			text += what + quote(value)
		}
	}
	say(", reached by ", l.Route, quoteASCII)
	say(", with the login ", l.Login, quoteASCII)
	secret := l.ClientSecret
	if inner, ok := strings.CutPrefix(secret, "${"); secret != "" && (!ok || strings.Index(inner, "}") != len(inner)-1 || strings.Contains(inner, ":-")) {
		secret = "****"
	}
	say(", with the client's secret ", secret, quoteASCII)
	say(", with the identity ", l.Identity, quoteASCII)
	say(", with the tools ", l.Tools, quote)
	say(", with the tools accepted ", l.Accepted, quote)
	for _, reference := range l.References {
		text += ", which reads " + quoteASCII(reference)
	}
	return text
}

// assignments returns the variables in front of the command.
func (l *Launch) assignments() string {
	plain, odd := "", ""
	for _, variable := range l.Env {
		name, value, _ := strings.Cut(variable, "=")
		if shown, ok := mask.Value(name, "=", value); ok {
			value = shown
		}
		if isIdentifier(name) {
			plain += name + "=" + quote(value) + " "
		} else {
			odd = cmp.Or(odd, "env ") + quote(name+"="+value) + " "
		}
	}
	return plain + odd
}

func isIdentifier(name string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"
	return name != "" && (name[0] < '0' || name[0] > '9') && strings.Trim(name, characters) == ""
}

// quote returns one word of a shell.
func quote(word string) string { return quoteUnless(word, visible, false) }

// quoteASCII quotes where all else than ASCII is out of place: in a URL, where
// letters of other alphabets pass for Latin ones.
func quoteASCII(word string) string {
	return quoteUnless(word, func(r rune) bool { return r >= ' ' && r < 0x7f }, false)
}

// quoteCommand quotes the first word of a command, which must be neither a reserved
// word nor an assignment.
func quoteCommand(word string) string {
	if q := quote(word); q != word || strings.HasPrefix(word, "/") {
		return q
	}
	return "'" + word + "'"
}

// quoteOperand quotes a folder, which must not look like an option.
func quoteOperand(word string) string {
	if strings.HasPrefix(word, "-") {
		return "-- " + quote(word)
	}
	return quote(word)
}

// visible reports whether a character shows itself as it is.
func visible(r rune) bool {
	s := string(r)
	return r != '\n' && plain.Text(s) == s
}

// quoteUnless quotes what has a meaning to a shell, unless it is a comment, or does not show itself.
func quoteUnless(word string, shows func(rune) bool, comment bool) string {
	bare, hidden := word != "", false
	for i, r := range word {
		if r == utf8.RuneError && !strings.HasPrefix(word[i:], "\ufffd") || !shows(r) {
			hidden = true
		}
		if !strings.ContainsRune(bareCharacters, r) {
			bare = false
		}
	}
	switch {
	case hidden:
		return escape(word, shows)
	case bare || comment:
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// bareCharacters mean nothing to a shell, wherever in a word they stand.
const bareCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,+@%"

// escape returns the word as $”, with the bytes of what does not show itself.
func escape(word string, shows func(rune) bool) string {
	var b strings.Builder
	b.WriteString("$'")
	for i, r := range word {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError && !strings.HasPrefix(word[i:], "\ufffd") {
			size, r = 1, 0
		}
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r != 0 && shows(r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(word[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
	}
	b.WriteString("'")
	return b.String()
}
