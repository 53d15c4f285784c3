package jsonedit

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A splice puts text in the place of the bytes between from and to.
type splice struct {
	from, to int
	text     []byte
}

// splices returns the text with the changes of list, of which none lie within each
// other. Removals may overlap.
func (d *document) splices(list []splice) []byte {
	if len(list) == 0 {
		return d.Data
	}
	slices.SortStableFunc(list, func(a, b splice) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	at := 0
	for _, s := range list {
		if s.from > at {
			out = append(out, d.Data[at:s.from]...)
		}
		out = append(out, s.text...)
		at = max(at, s.to)
	}
	return append(out, d.Data[at:]...)
}

// removals returns what takes the items of n away for which gone is true, with
// their comments, commas and lines.
func (d *document) removals(n *jsonc.Node, gone func(i int) bool) (list []splice) {
	items := d.items(n)
	kept := -1 // the last that stays
	for i := range items {
		if !gone(i) {
			kept = i
		}
	}
	for i := 0; i < len(items); i++ {
		if !gone(i) {
			continue
		}
		from := i
		for i+1 < len(items) && gone(i+1) && blank(d.Data[items[i].tail:items[i+1].lead]) {
			i++
		}
		before := -1 // the end of the item before it, if no comment is behind that
		if from > 0 && items[from-1].tail == items[from-1].comma+1 {
			before = items[from-1].tail
		}
		list = append(list, d.removal(n, items[from].lead, items[i].tail, before))
	}
	if len(list) == 0 {
		return nil
	}
	if last := len(items) - 1; kept >= 0 && kept < last && items[last].comma < 0 {
		comma := items[kept].comma
		list = append(list, splice{from: comma, to: comma + 1})
	}
	if kept < 0 && len(list) == 1 && blank(d.Data[n.Offset+1:list[0].from]) && blank(d.Data[list[0].to:n.End-1]) {
		return []splice{{from: n.Offset + 1, to: n.End - 1}}
	}
	return list
}

// removal returns what takes away the bytes between from and to, which are inside
// of n, and the white space that only they needed. The text before them ends at before, or
// that is -1.
func (d *document) removal(n *jsonc.Node, from, to, before int) splice {
	line := lineStart(d.Data, from)
	first := line > n.Offset && blank(d.Data[line:from])
	end := to + len(leadingBlanks(d.Data[to:]))
	switch rest := d.Data[end:]; {
	case bytes.HasPrefix(rest, []byte("\r\n")) || bytes.HasPrefix(rest, []byte("\n")):
		if !first {
			return splice{from: from - len(trailingBlanks(d.Data[:from])), to: to}
		}
		next := end + bytes.IndexByte(rest, '\n') + 1
		if before := blankLineBefore(d.Data, line); before > n.Offset && airy(d.Data[next:]) {
			line = before // one empty line is enough
		}
		return splice{from: line, to: next}
	case end == n.End-1 && first && before >= 0 && blank(d.Data[before:from]): // the closing bracket
		return splice{from: before, to: to}
	case end == n.End-1 && !first:
		return splice{from: from - len(trailingBlanks(d.Data[:from])), to: to}
	default:
		return splice{from: from, to: end}
	}
}

// blankLineBefore returns where the line before the one at line starts if it is
// empty, else -1.
func blankLineBefore(data []byte, line int) int {
	if line == 0 {
		return -1
	}
	start := lineStart(data, line-1)
	if start == 0 || !blank(data[start:line]) {
		return -1
	}
	return start
}

// airy reports whether text starts with an empty line or a closing bracket.
func airy(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r")
	return len(text) > 0 && (text[0] == '\n' || text[0] == '}' || text[0] == ']')
}

func blank(text []byte) bool { return len(bytes.TrimLeft(text, " \t\r\n")) == 0 }

func leadingBlanks(text []byte) []byte { return text[:len(text)-len(bytes.TrimLeft(text, " \t"))] }

func trailingBlanks(text []byte) []byte { return text[len(bytes.TrimRight(text, " \t")):] }

// lineStart returns where the line of the byte at offset starts, behind a byte
// order mark.
func lineStart(data []byte, offset int) int {
	return max(bytes.LastIndexByte(data[:offset], '\n')+1, jsonc.MarkEnd(data, offset))
}
