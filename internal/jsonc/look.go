package jsonc

import (
	"bytes"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
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
	tall    bool   // arrays are written one element per line
}

// look returns the look of d.
func (d *Document) look() *look {
	l := &look{newline: "\n", unit: "  ", colon: ": ", comma: ", "}
	if i := bytes.IndexByte(d.data, '\n'); i > 0 && d.data[i-1] == '\r' {
		l.newline = "\r\n"
	}
	root := d.data[d.Root.Offset:d.Root.End]
	l.oneLine = len(d.Root.Members)+len(d.Root.Elems) > 0 && bytes.IndexByte(root, '\n') < 0
	s := &survey{look: l, left: 10_000}
	s.walk(d, &d.Root)
	l.tall = s.tall > s.flat
	return l
}

// A survey finds the first example of each thing.
type survey struct {
	*look
	unitSeen, colonSeen, commaSeen, padSeen bool
	tall, flat                              int // arrays of several scalars
	left                                    int // values that are still looked at
}

func (s *survey) walk(d *Document, n *Node) {
	if s.left--; s.left < 0 || len(n.Members)+len(n.Elems) == 0 {
		return
	}
	items := d.items(n)
	if start := items[0].start; !s.unitSeen && ownLine(d.data, start) {
		outer, inner := indentAt(d.data, n.Offset), indentAt(d.data, start)
		if len(inner) > len(outer) && bytes.HasPrefix(inner, outer) {
			s.unit, s.unitSeen = string(inner[len(outer):]), true
		}
	}
	if len(items) > 1 && !s.commaSeen && items[0].comma >= 0 {
		if gap := d.data[items[0].comma+1 : items[1].start]; len(leadingBlanks(gap)) == len(gap) {
			s.comma, s.commaSeen = ","+string(gap), true
		}
	}
	if n.Kind == Object && !s.padSeen {
		if gap := d.data[n.Offset+1 : items[0].start]; len(leadingBlanks(gap)) == len(gap) {
			s.pad, s.padSeen = string(gap), true
		}
	}
	if len(n.Elems) > 1 && scalars(n) {
		if ownLine(d.data, n.Elems[1].Offset) {
			s.tall++
		} else {
			s.flat++
		}
	}
	for i := range n.Members {
		m := &n.Members[i]
		if !s.colonSeen {
			gap := d.data[stringEnd(d.data, m.Offset):m.Value.Offset]
			if len(bytes.Trim(gap, " \t")) == 1 {
				s.colon, s.colonSeen = string(gap), true
			}
		}
		s.walk(d, &m.Value)
	}
	for i := range n.Elems {
		s.walk(d, &n.Elems[i])
	}
}

func scalars(n *Node) bool {
	for i := range n.Elems {
		if n.Elems[i].Kind >= Array {
			return false
		}
	}
	return len(n.Members) == 0
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
func (d *Document) replacement(have, want *Node, l *look) splice {
	indent := string(indentAt(d.data, have.Offset))
	before := bytes.TrimRight(d.data[:have.Offset], " \t")
	flat := l.oneLine || len(before) > 0 && (before[len(before)-1] == '[' || before[len(before)-1] == ',')
	return splice{have.Offset, have.End, l.value(nil, want, indent, flat)}
}

// insertion returns the changes that put fresh behind the item of n with the index
// after, which is -1 for the start. Keys of elements of arrays are not used.
func (d *Document) insertion(n *Node, after int, fresh []Member, l *look) []splice {
	if len(fresh) == 0 {
		return nil
	}
	items := d.items(n)
	if len(items) == 0 {
		return []splice{d.firstItems(n, fresh, l)}
	}
	model := &items[max(after, 0)]
	indent := string(indentAt(d.data, model.lead))
	flat := !ownLine(d.data, model.lead)
	texts := make([][]byte, len(fresh))
	for i := range fresh {
		texts[i] = l.item(nil, n.Kind, &fresh[i], indent, flat || l.siblingsFlat(d, n, &fresh[i].Value, indent))
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
func (d *Document) firstItems(n *Node, fresh []Member, l *look) splice {
	outer := string(indentAt(d.data, n.Offset))
	inner := outer + l.unit
	comments, _ := d.trivia(n.Offset + 1)
	var b []byte
	flat := n.Kind == Array && !l.tall && len(fresh) == 1 && fresh[0].Value.Kind < Array && n.End == n.Offset+len("[]")
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

// siblingsFlat reports whether an object or array is to be written on one line,
// because all others in n are, and it fits.
func (l *look) siblingsFlat(d *Document, n *Node, value *Node, indent string) bool {
	if value.Kind < Array {
		return true
	}
	found := false
	check := func(other *Node) bool {
		if other.Kind != value.Kind || len(other.Members)+len(other.Elems) == 0 {
			return true
		}
		found = true
		return bytes.IndexByte(d.data[other.Offset:other.End], '\n') < 0
	}
	for i := range n.Members {
		if !check(&n.Members[i].Value) {
			return false
		}
	}
	for i := range n.Elems {
		if !check(&n.Elems[i]) {
			return false
		}
	}
	return found && len(indent)+len(l.value(nil, value, "", true)) <= maxColumns
}

// item appends a member of an object, or an element of an array.
func (l *look) item(dst []byte, kind Kind, m *Member, indent string, flat bool) []byte {
	if kind == Object {
		dst = append(visibleText(dst, m.Key), l.colon...)
	}
	return l.value(dst, &m.Value, indent, flat)
}

// value appends a value that begins on a line with the given indentation.
func (l *look) value(dst []byte, n *Node, indent string, flat bool) []byte {
	switch n.Kind {
	case Null:
		return append(dst, "null"...)
	case Bool, Number:
		return append(dst, n.Text...)
	case String:
		return visibleText(dst, n.Text)
	}
	if n.Kind == Object {
		return l.list(dst, n.Kind, n.Members, indent, flat)
	}
	elems := make([]Member, len(n.Elems))
	for i := range n.Elems {
		elems[i].Value = n.Elems[i]
	}
	if !flat && !l.tall && scalars(n) {
		flat = len(indent)+len(l.value(nil, n, "", true)) <= maxColumns
	}
	return l.list(dst, n.Kind, elems, indent, flat)
}

// list appends an object, or an array whose elements are members without keys.
func (l *look) list(dst []byte, kind Kind, list []Member, indent string, flat bool) []byte {
	brackets, pad := "[]", ""
	if kind == Object {
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
