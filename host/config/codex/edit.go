package codex

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/jsonedit"
	"github.com/pelletier/go-toml/v2/unstable"
)

// edits returns the edits of TOML. A line key = value is written again if anything in its
// value changes, but for what it has in common with the old one; all other lines stay. Lists
// of tables, and tables that dotted keys make, are left to the user.
func edits() *dialect.Edit {
	r := &jsonedit.Rewriter{Parse: parse, Set: set, Remove: remove, Rename: rename}
	return r.Edit()
}

// A statement is a header or a line key = value of a TOML file.
type statement struct {
	header     bool
	path       []string // of the table or value, from the root
	keys       []span   // where the last ones of path stand
	start, end int      // of its lines, the last line break included
}

type span struct{ start, end int }

// A text is a TOML file that is being changed.
type text struct {
	data    []byte
	root    *jsonc.Node
	list    []statement
	mark    int // length of a byte order mark
	lineEnd string
}

// open finds the statements of a file.
func open(doc *jsonc.Document) *text {
	t := &text{data: doc.Data, root: &doc.Root, lineEnd: "\n"}
	body := bytes.TrimPrefix(t.data, []byte("\xef\xbb\xbf"))
	t.mark = len(t.data) - len(body)
	if i := bytes.IndexByte(body, '\n'); i > 0 && body[i-1] == '\r' {
		t.lineEnd = "\r\n"
	}
	var p unstable.Parser
	p.Reset(body)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		s := statement{header: n.Kind != unstable.KeyValue}
		for it := n.Key(); it.Next(); {
			start := t.mark + int(it.Node().Raw.Offset)
			s.path = append(s.path, string(it.Node().Data))
			s.keys = append(s.keys, span{start, start + int(it.Node().Raw.Length)})
		}
		after := s.keys[len(s.keys)-1].end
		if s.header {
			table = s.path
		} else {
			s.path = append(slices.Clone(table), s.path...)
			after = t.mark + int(n.Raw.Offset+n.Raw.Length)
		}
		s.start = bytes.LastIndexByte(t.data[:s.keys[0].start], '\n') + 1
		s.end = len(t.data)
		if i := bytes.IndexByte(t.data[after:], '\n'); i >= 0 {
			s.end = after + i + 1
		}
		t.list = append(t.list, s)
	}
	return t
}

// isBelow reports whether a path is that of parent, or one below.
func isBelow(path, parent []string) bool {
	return len(path) >= len(parent) && slices.Equal(path[:len(parent)], parent)
}

// holder returns the line key = value whose value is at path or has it inside, or nil.
func (t *text) holder(path []string) *statement {
	for i := range t.list {
		if s := &t.list[i]; !s.header && isBelow(path, s.path) {
			return s
		}
	}
	return nil
}

// header returns the statement that opens the table at path, or -1.
func (t *text) header(path []string) int {
	return slices.IndexFunc(t.list, func(s statement) bool { return s.header && slices.Equal(s.path, path) })
}

func (t *text) splice(start, end int, with []byte) []byte {
	return slices.Concat(t.data[:start], with, t.data[end:])
}

// rewritten returns the text in which a line has the value that root has at its path.
func (t *text) rewritten(s *statement, root *jsonc.Node) []byte {
	have := t.root.At(s.path)
	return t.splice(have.Offset, have.End, t.value(nil, root.At(s.path), have))
}

func set(doc *jsonc.Document, root *jsonc.Node, path []string) []byte {
	t := open(doc)
	if s := t.holder(path); s != nil {
		return t.rewritten(s, root)
	}
	want := root.At(path)
	if len(path) < 2 || want == nil || t.root.At(path) != nil {
		return nil
	}
	if len(path) == 2 && want.Kind == jsonc.Object {
		return t.addTable(path, want)
	}
	for depth := len(path) - 1; depth >= 2; depth-- {
		if at := t.header(path[:depth]); at >= 0 {
			return t.addLine(at, t.assignment(path[depth], want.Wrap(path[depth+1:])))
		}
	}
	if len(path) == 2 {
		return nil
	}
	return t.addTable(path[:2], want.Wrap(path[2:])) // there are tables below it only
}

// addLine puts a line behind the others of the table that a header opens.
func (t *text) addLine(header int, line []byte) []byte {
	last := header
	for last+1 < len(t.list) && !t.list[last+1].header {
		last++
	}
	s := &t.list[last]
	if last > header {
		line = slices.Concat(t.data[s.start:s.keys[0].start], line) // indented like it
	}
	return t.addLines(s.end, line)
}

// addLines puts lines at an offset. A file whose last line has no end stays so.
func (t *text) addLines(at int, lines []byte) []byte {
	if at > t.mark && t.data[at-1] != '\n' {
		return t.splice(at, at, slices.Concat([]byte(t.lineEnd), lines))
	}
	return t.splice(at, at, slices.Concat(lines, []byte(t.lineEnd)))
}

// addTable puts a new table behind those that have the same parent, or at the end.
func (t *text) addTable(path []string, want *jsonc.Node) []byte {
	lines := []byte{'['}
	for i, key := range path {
		if i > 0 {
			lines = append(lines, '.')
		}
		lines = appendKey(lines, key)
	}
	lines = append(lines, ']')
	for i := range want.Members {
		m := &want.Members[i]
		lines = append(append(lines, t.lineEnd...), t.assignment(m.Key, &m.Value)...)
	}
	at := len(t.data)
	for i := range t.list {
		if isBelow(t.list[i].path, path[:1]) {
			at = t.list[i].end
		}
	}
	if i := slices.IndexFunc(t.list, func(s statement) bool { return s.start >= at }); i >= 0 && !t.list[i].header {
		at = len(t.data) // those lines would become the new table's
	}
	if at > t.mark {
		lines = slices.Concat([]byte(t.lineEnd), lines)
	}
	return t.addLines(at, lines)
}

// remove takes away what is at path, with the comments directly above.
func remove(doc *jsonc.Document, root *jsonc.Node, path []string) []byte {
	t := open(doc)
	if s := t.holder(path); s != nil && len(s.path) < len(path) {
		return t.rewritten(s, root)
	}
	var out []byte
	at, atEnd := 0, false // atEnd: the last table goes
	for i := range t.list {
		s := &t.list[i]
		if !isBelow(s.path, path) {
			continue
		}
		end := s.end
		if s.header {
			next := i + 1
			for ; next < len(t.list) && !t.list[next].header; next++ {
				end = t.list[next].end
			}
			atEnd = next == len(t.list)
			for blank := t.data[end:]; !atEnd && len(blank) > 0; blank = t.data[end:] {
				line, _, _ := bytes.Cut(blank, []byte{'\n'})
				if len(bytes.TrimSpace(line)) > 0 {
					break
				}
				end = min(end+len(line)+1, len(t.data))
			}
		}
		if start := t.lead(s.start); start > at {
			out = append(out, t.data[at:start]...)
		}
		at = max(at, end)
	}
	if lineEnd := []byte(t.lineEnd); atEnd {
		if bytes.HasSuffix(out, bytes.Repeat(lineEnd, 2)) { // the empty line in front of it
			out = bytes.TrimSuffix(out, lineEnd)
		}
		if at == len(t.data) && !bytes.HasSuffix(t.data, lineEnd) {
			out = bytes.TrimSuffix(out, lineEnd)
		}
	}
	return append(out, t.data[at:]...)
}

// lead returns the start of the comment lines directly above a line. One that looks like
// something switched off stays.
func (t *text) lead(start int) int {
	for start > t.mark {
		above := max(bytes.LastIndexByte(t.data[:start-1], '\n')+1, t.mark)
		line := bytes.TrimSpace(t.data[above:start])
		if !bytes.HasPrefix(line, []byte{'#'}) || bytes.ContainsAny(line, "=[") {
			break
		}
		start = above
	}
	return max(start, t.mark)
}

// rename gives the table or value at path another key.
func rename(doc *jsonc.Document, key string, path []string) []byte {
	t := open(doc)
	var out []byte
	at := 0
	for i := range t.list {
		s := &t.list[i]
		own := len(path) - 1 - (len(s.path) - len(s.keys)) // of the key in the statement
		if isBelow(s.path, path) && own >= 0 {
			out = appendKey(append(out, t.data[at:s.keys[own].start]...), key)
			at = s.keys[own].end
		}
	}
	return append(out, t.data[at:]...)
}

// assignment returns a line key = value.
func (t *text) assignment(key string, value *jsonc.Node) []byte {
	return t.value(append(appendKey(nil, key), " = "...), value, nil)
}

// value appends a value on one line. What it has in common with have, which may be nil,
// is written as it is there.
func (t *text) value(dst []byte, n, have *jsonc.Node) []byte {
	if have != nil && bytes.Equal(n.JSON(), have.JSON()) {
		return append(dst, t.data[have.Offset:have.End]...)
	}
	if have == nil || have.Kind != n.Kind {
		have = &jsonc.Node{}
	}
	switch n.Kind {
	case jsonc.String:
		return appendString(dst, n.Text)
	case jsonc.Array:
		return t.array(dst, n, have)
	case jsonc.Object:
		pad := " "
		if len(n.Members) == 0 || len(have.Members) > 0 && have.Members[0].Offset == have.Offset+1 {
			pad = ""
		}
		dst = append(append(dst, '{'), pad...)
		for i := range n.Members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			m := &n.Members[i]
			if old := have.Member(m.Key); old != nil {
				dst = t.value(append(dst, t.data[old.Offset:old.Value.Offset]...), &m.Value, &old.Value)
			} else {
				dst = append(dst, t.assignment(m.Key, &m.Value)...)
			}
		}
		return append(append(dst, pad...), '}')
	default: // null, which TOML does not have, is found when the text is read back
		return append(dst, n.Text...)
	}
}

// array appends an array. Elements that it has in common with have at the start and at the
// end stay as they are there, with the comments beside them.
func (t *text) array(dst []byte, n, have *jsonc.Node) []byte {
	first, last := jsonedit.Common(have, n)
	var fresh []byte
	for i := range n.Elems[first : len(n.Elems)-last] {
		if i > 0 {
			fresh = append(fresh, ", "...)
		}
		fresh = t.value(fresh, &n.Elems[first+i], nil)
	}
	if first+last == 0 {
		return append(append(append(dst, '['), fresh...), ']')
	}
	olds := have.Elems[first : len(have.Elems)-last]
	var from, to int // what is replaced
	switch {
	case len(olds) > 0 && len(fresh) > 0:
		from, to = olds[0].Offset, olds[len(olds)-1].End
	case first > 0:
		from, to = have.Elems[first-1].End, have.Elems[first-1+len(olds)].End
		if len(fresh) > 0 {
			fresh = slices.Concat([]byte(", "), fresh)
		}
	default:
		from, to = have.Elems[0].Offset, have.Elems[len(olds)].Offset
		if len(fresh) > 0 {
			fresh = append(fresh, ", "...)
		}
	}
	return slices.Concat(dst, t.data[have.Offset:from], fresh, t.data[to:have.End])
}

func appendKey(dst []byte, key string) []byte {
	quoted := strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r) && r != '_' && r != '-'
	})
	if key == "" || quoted {
		return appendString(dst, key)
	}
	return append(dst, key...)
}

// appendString appends a text in quotes: simple ones if it has backslashes, as paths of
// Windows. Invisible characters are escaped.
func appendString(dst []byte, text string) []byte {
	plain := !strings.Contains(text, "'") && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	if plain && strings.Contains(text, `\`) {
		return append(append(append(dst, '\''), text...), '\'')
	}
	dst = append(dst, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"')
}
