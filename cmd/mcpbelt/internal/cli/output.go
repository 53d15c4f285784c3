package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// An Out writes what a command has found to standard output. Everything that it writes
// as text is made safe for a terminal: control characters are shown as their numbers. With AsJSON
// text is left out.
// It is not safe for concurrent use.
type Out struct {
	// AsJSON says that the output is for a program: the flag --json.
	AsJSON bool

	env *Env
}

// NewOut returns the output of a command.
func NewOut(env *Env) *Out { return &Out{env: env} }

// Printf writes text.
func (o *Out) Printf(format string, args ...any) { o.text(plain.Text(fmt.Sprintf(format, args...))) }

// Result writes what a command has found if it is for a program: text is left out then.
func (o *Out) Result(value any) error {
	if !o.AsJSON {
		return nil
	}
	return o.JSON(value)
}

// JSON writes a value as indented JSON. Characters that could deceive a reader are
// written as escapes.
func (o *Out) JSON(value any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	o.write(string(visible(b.Bytes())))
	return nil
}

// JSONLine writes a value as JSON on one line, for output that has no end.
func (o *Out) JSONLine(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	o.write(string(visible(data)) + "\n")
	return o.Err()
}

// Err returns the first error of a write, if standard output remembers it.
func (o *Out) Err() error {
	if w, ok := o.env.Stdout.(*Writer); ok {
		return w.Err
	}
	return nil
}

// Exactly writes text as it is. It is not for terminals.
func (o *Out) Exactly(text string) { o.write(text) }

// Style writes text in a style, where the terminal has colours.
func (o *Out) Style(s Style, text string) { o.text(o.styled(s, plain.Text(text))) }

// StyleLine is Style for a line.
func (o *Out) StyleLine(s Style, text string) {
	o.Style(s, text)
	o.text("\n")
}

// Width returns how many columns there are; 0 without a terminal, where lines may be of
// any length.
func (o *Out) Width() int {
	if !o.env.OutTerminal {
		return 0
	}
	return o.env.Width
}

// text writes text, unless the output is for a program.
func (o *Out) text(text string) {
	if !o.AsJSON {
		o.write(text)
	}
}

func (o *Out) write(text string) {
	_, _ = io.WriteString(o.env.Stdout, text) // the Writer of a run remembers the error
}

// A Writer remembers the first error of a write, and writes nothing after it.
type Writer struct {
	To  io.Writer
	Err error
}

// Write writes to w.To.
func (w *Writer) Write(p []byte) (int, error) {
	if w.Err != nil {
		return 0, w.Err
	}
	n, err := w.To.Write(p)
	w.Err = err
	return n, err
}

// A Style says what a text means.
type Style int

// The styles.
const (
	Normal Style = iota
	Heading
	Good
	Warning
	Bad
	Faint
)

// styled puts the sequences of a style around text that is safe.
func (o *Out) styled(s Style, text string) string {
	if s == Normal || !o.env.OutTerminal || !o.env.colors() || strings.TrimSpace(text) == "" {
		return text
	}
	// The numbers of ECMA-48: bold, green, yellow, red, faint.
	number := map[Style]int{Heading: 1, Good: 32, Warning: 33, Bad: 31, Faint: 2}[s]
	return fmt.Sprintf("\x1b[%dm%s\x1b[m", number, strings.ReplaceAll(text, "\n", " "))
}

// visible replaces in JSON, which has them in strings only, characters that could
// deceive a reader at a terminal.
func visible(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		char := string(data[:size])
		switch {
		case r < utf8.RuneSelf && r != 0x7f || plain.Text(char) == char:
			out = append(out, char...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		data = data[size:]
	}
	return out
}
