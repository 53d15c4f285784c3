package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

// A Table is rows of cells under headings. At a terminal it fits the width: long cells
// are cut, and where even that does not help each row becomes a block of lines. Without
// a terminal nothing is cut.
type Table struct {
	Headings []string
	Rows     [][]Cell
	Empty    string // what is written of a table without rows
}

// Add adds a row of plain cells.
func (t *Table) Add(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.Rows = append(t.Rows, row)
}

const (
	gap       = 2  // columns between cells
	narrowest = 10 // columns that a cell is cut to at least
)

// Found writes what a command has found: a table or, for a program, a value.
func (o *Out) Found(t *Table, value any) error {
	o.Table(t)
	return o.Result(value)
}

// Table writes a table.
func (o *Out) Table(t *Table) {
	if o.AsJSON {
		return
	}
	if len(t.Rows) == 0 {
		if t.Empty != "" {
			o.Printf("%s\n", t.Empty)
		}
		return
	}
	rows := make([][]Cell, 1, len(t.Rows)+1)
	for _, h := range t.Headings {
		rows[0] = append(rows[0], Cell{h, Heading})
	}
	rows = append(rows, t.Rows...)
	widths := make([]int, len(t.Headings))
	for r, row := range rows {
		rows[r] = slices.Clone(row)
		for i := range rows[r] {
			rows[r][i].Text = plain.Line(row[i].Text)
			widths[i] = max(widths[i], displaywidth.String(rows[r][i].Text))
		}
	}
	if !shrink(widths, o.Width()) {
		o.blocks(t.Headings, rows[1:])
		return
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			text := cut(cell.Text, widths[i])
			line.WriteString(o.styled(cell.Style, text))
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-displaywidth.String(text)+gap))
			}
		}
		o.write(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// blocks writes each row as lines of a heading and a cell.
func (o *Out) blocks(headings []string, rows [][]Cell) {
	for r, row := range rows {
		if r > 0 {
			o.write("\n")
		}
		for i, cell := range row {
			if cell.Text == "" {
				continue
			}
			if i == 0 {
				o.write(o.styled(Heading, cut(cell.Text, o.Width())) + "\n")
				continue
			}
			label := "  " + strings.ToLower(headings[i]) + ": "
			lines := wrap(cell.Text, max(o.Width()-len(label), narrowest))
			for l, text := range lines {
				if l > 0 {
					label = strings.Repeat(" ", len(label))
				}
				o.write(label + o.styled(cell.Style, text) + "\n")
			}
		}
	}
}

// shrink makes columns narrower until a line has at most width columns, the widest
// first, and reports whether that is possible. A width of 0 is no limit.
func shrink(widths []int, width int) bool {
	if width == 0 {
		return true
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > width; total-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= narrowest {
			return false
		}
		widths[widest]--
	}
	return true
}

// cut cuts text to a number of columns, with an ellipsis if anything is lost.
func cut(text string, width int) string {
	if width <= 0 {
		return text
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Fitted writes text whose lines are broken where the terminal is narrower. Lines that begin
// with "  mcpbelt" stay whole, so that they can be copied.
func (o *Out) Fitted(text string) {
	width := o.Width()
	var paragraph []string // lines without indentation that follow each other
	end := func() {
		if slices.ContainsFunc(paragraph, func(line string) bool { return displaywidth.String(line) > width }) {
			paragraph = wrap(strings.Join(paragraph, " "), width)
		}
		o.write(strings.Join(append(paragraph, ""), "\n"))
		paragraph = nil
	}
	for line := range strings.Lines(plain.Text(text)) {
		line = strings.TrimSuffix(line, "\n")
		said := strings.TrimLeft(line, " ")
		indent := len(line) - len(said)
		if width > 0 && indent == 0 && said != "" {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		if width == 0 || displaywidth.String(line) <= width || strings.HasPrefix(line, "  mcpbelt") {
			o.write(line + "\n")
			continue
		}
		if term, meaning, _ := strings.Cut(said, "  "); meaning != "" {
			o.write(strings.Repeat(" ", indent) + term + "\n")
			said, indent = meaning, indent+2
		}
		for _, part := range wrap(said, width-indent) {
			o.write(strings.Repeat(" ", indent) + part + "\n")
		}
	}
	end()
}

// wrap breaks text into lines of at most width columns, between words where it can.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
		case displaywidth.String(line)+1+displaywidth.String(word) <= width:
			line += " " + word
			continue
		default:
			lines = append(lines, line)
		}
		for displaywidth.String(word) > width {
			_, first := utf8.DecodeRuneInString(word)
			end := max(len(displaywidth.TruncateString(word, width, "")), first)
			lines, word = append(lines, word[:end]), word[end:]
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
