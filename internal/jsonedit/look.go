package jsonedit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// maxColumns is how long a line gets before an array is written on many.
const maxColumns = 100

// A look is how a document is laid out: what is new in it should look the same.
type look struct {
	newline string
	unit    string // of indentation
	colon   string // between a key and its value
	comma   string // between two items on one line
	pad     string // inside of the braces of an object on one line
	oneLine bool   // the whole document is on one line
}

// look returns the look of d, which its first item shows.
func (d *document) look() *look {
	l := &look{newline: "\n", unit: "  ", colon: ": ", comma: ", "}
	if i := bytes.IndexByte(d.Data, '\n'); i > 0 && d.Data[i-1] == '\r' {
		l.newline = "\r\n"
	}
	items := d.items(&d.Root)
	if len(items) == 0 {
		return l
	}
	l.oneLine = bytes.IndexByte(d.Data[d.Root.Offset:d.Root.End], '\n') < 0
	// between is the text of a gap, if there are blanks only beside the mark in it.
	between := func(from, to int, mark, fallback string) string {
		if gap := string(d.Data[from:to]); strings.Trim(gap, " \t") == mark {
			return gap
		}
		return fallback
	}
	switch indent := indentAt(d.Data, items[0].start); {
	case l.oneLine:
		l.pad = between(d.Root.Offset+1, items[0].start, "", "")
		if len(items) > 1 {
			l.comma = between(items[0].end, items[1].start, ",", l.comma)
		}
	case ownLine(d.Data, items[0].start) && len(indent) > 0:
		l.unit = string(indent)
	}
	if d.Root.Kind == jsonc.Object {
		l.colon = between(stringEnd(d.Data, items[0].start), d.Root.Members[0].Value.Offset, ":", l.colon)
	}
	return l
}

func scalars(n *jsonc.Node) bool {
	return len(n.Members) == 0 && !slices.ContainsFunc(n.Elems, func(e jsonc.Node) bool { return e.Kind >= jsonc.Array })
}

// ownLine reports whether nothing stands on the line of offset before it.
func ownLine(data []byte, offset int) bool {
	line := lineStart(data, offset)
	return len(leadingBlanks(data[line:offset])) == offset-line
}

// indentAt returns the indentation of the line of offset.
func indentAt(data []byte, offset int) []byte {
	return leadingBlanks(data[lineStart(data, offset):offset])
}

// replacement returns the change that writes want in the place of have.
func (d *document) replacement(have, want *jsonc.Node, l *look) splice {
	indent := string(indentAt(d.Data, have.Offset))
	before := bytes.TrimRight(d.Data[:have.Offset], " \t")
	flat := l.oneLine || len(before) > 0 && (before[len(before)-1] == '[' || before[len(before)-1] == ',')
	return splice{have.Offset, have.End, l.value(nil, want, indent, flat)}
}

// insertion returns the changes that put fresh behind the item of n with the index
// after, which is -1 for the start. Keys of elements of arrays are not used.
func (d *document) insertion(n *jsonc.Node, after int, fresh []jsonc.Member, l *look) []splice {
	if len(fresh) == 0 {
		return nil
	}
	items := d.items(n)
	if len(items) == 0 {
		return []splice{d.firstItems(n, fresh, l)}
	}
	model := &items[max(after, 0)]
	indent := string(indentAt(d.Data, model.lead))
	flat := !ownLine(d.Data, model.lead)
	texts := make([][]byte, len(fresh))
	for i := range fresh {
		texts[i] = l.item(nil, n.Kind, &fresh[i], indent, flat)
	}
	between := l.newline + indent
	if flat {
		between = l.comma[1:]
	}
	var b []byte
	if after < 0 {
		for _, text := range texts {
			b = append(append(append(b, text...), ','), between...)
		}
		return []splice{{model.lead, model.lead, b}}
	}
	at := model.tail
	if flat {
		at = max(model.end, model.comma+1)
	}
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, between...), text...)
	}
	if model.comma >= 0 {
		return []splice{{at, at, append(b, ',')}}
	}
	if at == model.end {
		return []splice{{at, at, append([]byte{','}, b...)}}
	}
	return []splice{{model.end, model.end, []byte{','}}, {at, at, b}}
}

// firstItems returns the change that fills n, which is empty but for comments.
func (d *document) firstItems(n *jsonc.Node, fresh []jsonc.Member, l *look) splice {
	outer := string(indentAt(d.Data, n.Offset))
	inner := outer + l.unit
	comments, _ := d.trivia(n.Offset + 1)
	var b []byte
	flat := n.Kind == jsonc.Array && len(fresh) == 1 && fresh[0].Value.Kind < jsonc.Array && n.End == n.Offset+len("[]")
	if (l.oneLine || flat) && len(comments) == 0 {
		return splice{n.Offset, n.End, l.list(nil, n.Kind, fresh, outer, true)}
	}
	from := n.Offset + 1
	if len(comments) > 0 {
		from = comments[len(comments)-1].end
		if d.tail(n.Offset+1) < from { // an empty line keeps the comment from being the item's
			b = append(b, l.newline...)
		}
	}
	for i := range fresh {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, l.newline...), inner...)
		b = l.item(b, n.Kind, &fresh[i], inner, false)
	}
	b = append(append(b, l.newline...), outer...)
	return splice{from, n.End - 1, b}
}

// item appends a member of an object, or an element of an array.
func (l *look) item(dst []byte, kind jsonc.Kind, m *jsonc.Member, indent string, flat bool) []byte {
	if kind == jsonc.Object {
		dst = append(visibleText(dst, m.Key), l.colon...)
	}
	return l.value(dst, &m.Value, indent, flat)
}

// value appends a value that begins on a line with the given indentation.
func (l *look) value(dst []byte, n *jsonc.Node, indent string, flat bool) []byte {
	switch n.Kind {
	case jsonc.Null:
		return append(dst, "null"...)
	case jsonc.Bool, jsonc.Number:
		return append(dst, n.Text...)
	case jsonc.String:
		return visibleText(dst, n.Text)
	}
	if n.Kind == jsonc.Object {
		return l.list(dst, n.Kind, n.Members, indent, flat)
	}
	elems := make([]jsonc.Member, len(n.Elems))
	for i := range n.Elems {
		elems[i].Value = n.Elems[i]
	}
	if !flat && scalars(n) {
		flat = len(indent)+len(l.value(nil, n, "", true)) <= maxColumns
	}
	return l.list(dst, n.Kind, elems, indent, flat)
}

// list appends an object, or an array whose elements are members without keys.
func (l *look) list(dst []byte, kind jsonc.Kind, list []jsonc.Member, indent string, flat bool) []byte {
	brackets, pad := "[]", ""
	if kind == jsonc.Object {
		brackets = "{}"
		if flat {
			pad = l.pad
		}
	}
	if len(list) == 0 {
		return append(dst, brackets...)
	}
	dst = append(append(dst, brackets[0]), pad...)
	for i := range list {
		switch {
		case !flat && i > 0:
			dst = append(dst, ',')
		case i > 0:
			dst = append(dst, l.comma...)
		}
		if !flat {
			dst = append(append(append(dst, l.newline...), indent...), l.unit...)
		}
		dst = l.item(dst, kind, &list[i], indent+l.unit, flat)
	}
	if !flat {
		dst = append(append(dst, l.newline...), indent...)
	}
	return append(append(dst, pad...), brackets[1])
}

// visibleText appends a string in quotes. Invisible characters, and those
// that turn the direction of writing, are escaped.
func visibleText(dst []byte, text string) []byte {
	return canonjson.AppendVisible(dst, canonjson.AppendString(nil, text))
}

// stringEnd returns the offset after the string that starts at start, which
// the parser has already accepted.
func stringEnd(data []byte, start int) int {
	for i := start + 1; ; i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}
