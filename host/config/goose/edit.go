package goose

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/jsonedit"
	"github.com/mcpbelt/mcpbelt/internal/yamljson"
	"go.yaml.in/yaml/v4"
)

// edits returns the edits of YAML. What changes is written again, as little as can be: the
// lines of one key, or of one element of a list. All other lines stay.
func edits() *dialect.Edit {
	r := &jsonedit.Rewriter{Parse: yamljson.Parse, Set: set, Remove: remove, Rename: rename}
	return r.Edit()
}

// A text is a YAML file that is being changed.
type text struct {
	data    []byte
	root    *jsonc.Node
	lineEnd string
	unit    int // of indentation
}

func open(doc *jsonc.Document) *text {
	t := &text{data: doc.Data, root: &doc.Root, lineEnd: "\n", unit: 2}
	if i := bytes.IndexByte(t.data, '\n'); i > 0 && t.data[i-1] == '\r' {
		t.lineEnd = "\r\n"
	}
	for _, m := range doc.Root.Members {
		if len(m.Value.Members) == 0 {
			continue
		}
		if unit := t.column(m.Value.Members[0].Offset); unit > 1 && unit < 10 && t.isBlock(&m.Value) {
			t.unit = unit
			break
		}
	}
	return t
}

func (t *text) lineStart(offset int) int {
	start := bytes.LastIndexByte(t.data[:offset], '\n') + 1
	if start == 0 && bytes.HasPrefix(t.data, []byte("\xef\xbb\xbf")) {
		start = 3
	}
	return start
}

// column returns how many bytes stand on the line of an offset before it.
func (t *text) column(offset int) int { return offset - t.lineStart(offset) }

// lineAfter returns the start of the next line.
func (t *text) lineAfter(offset int) int {
	if i := bytes.IndexByte(t.data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(t.data)
}

// isBlock reports whether an object or array has items that stand on lines of their own.
func (t *text) isBlock(n *jsonc.Node) bool {
	return len(n.Members)+len(n.Elems) > 0 && n.Offset < len(t.data) && strings.IndexByte("{[*&", t.data[n.Offset]) < 0
}

// A row is what stands in the lines of one key or element: from its first byte, in a
// column, to the end of its last line.
type row struct {
	start, end int
	depth      int // how many keys of a path lead to it; 0: it is the whole file
}

// items returns where the items of a block start: its keys, or its dashes.
func (t *text) items(n *jsonc.Node) []int {
	var starts []int
	for i := range n.Members {
		starts = append(starts, n.Members[i].Offset)
	}
	for i := range n.Elems {
		at := n.Elems[i].Offset
		starts = append(starts, max(bytes.LastIndexByte(t.data[:at], '-'), 0))
	}
	return starts
}

// row returns the smallest row that has what is at path, and that itself: nil if there is
// nothing. The row is then that of the deepest thing on the path.
func (t *text) row(path []string) (row, *jsonc.Node) {
	r, n := row{t.lineStart(0), len(t.data), 0}, t.root
	for i := range path {
		child := t.root.At(path[:i+1])
		if child == nil {
			return r, nil
		}
		if r.depth == i && t.isBlock(n) {
			at := slices.IndexFunc(n.Members, func(m jsonc.Member) bool { return m.Key == path[i] })
			if at < 0 {
				at, _ = strconv.Atoi(path[i])
			}
			start := t.items(n)[at]
			r = row{start, t.blockEnd(start), i + 1}
		}
		n = child
	}
	return r, n
}

// blockEnd returns the end of the lines of a row that starts at offset, without the
// comments and empty lines behind it.
func (t *text) blockEnd(offset int) int {
	column, dash := t.column(offset), t.data[offset] == '-'
	end := t.lineAfter(offset)
	for at := end; at < len(t.data); {
		next := t.lineAfter(at)
		line := strings.TrimRight(string(t.data[at:next]), " \t\r\n")
		rest := strings.TrimLeft(line, " ")
		indent := len(line) - len(rest)
		switch {
		case rest == "" || rest[0] == '#':
		case indent > column || indent == column && !dash && (rest == "-" || strings.HasPrefix(rest, "- ")):
			end = next
		default:
			return end
		}
		at = next
	}
	return end
}

// lead returns the start of the comment lines directly above a line, in its column. One
// that looks like something switched off stays.
func (t *text) lead(start, column int) int {
	for start > 0 {
		above := t.lineStart(start - 1)
		line := strings.TrimRight(string(t.data[above:start]), " \t\r\n")
		body := strings.TrimLeft(line, " ")
		if len(line)-len(body) != column || !strings.HasPrefix(body, "#") || strings.Contains(body, ":") || strings.HasPrefix(strings.TrimLeft(body, "# "), "- ") {
			break
		}
		start = above
	}
	return start
}

func set(doc *jsonc.Document, root *jsonc.Node, path []string) []byte {
	t := open(doc)
	r, have := t.row(path)
	if have == nil && r.depth < len(path) {
		if n := t.root.At(path[:r.depth]); t.isBlock(n) {
			return t.add(n, root.At(path[:r.depth]), path[r.depth])
		}
	}
	return t.rewrite(r, root, path, true)
}

// add puts a new row behind those of a block, for the key or element that want has besides.
func (t *text) add(n, want *jsonc.Node, key string) []byte {
	items := t.items(n)
	last := items[len(items)-1]
	fresh := &jsonc.Node{Kind: jsonc.Array, Elems: want.Elems[len(n.Elems):]}
	if n.Kind == jsonc.Object {
		fresh = want.At([]string{key}).Wrap([]string{key})
	}
	lines := t.dump(nodeOf(fresh), nil, t.column(last))
	if lines == nil {
		return nil
	}
	end := t.blockEnd(last)
	indent := bytes.Repeat([]byte{' '}, t.column(last))
	if t.data[end-1] != '\n' { // which stays so
		return slices.Concat(t.data[:end], []byte(t.lineEnd), indent, bytes.TrimRight(lines, "\r\n"), t.data[end:])
	}
	return slices.Concat(t.data[:end], indent, lines, t.data[end:])
}

func remove(doc *jsonc.Document, root *jsonc.Node, path []string) []byte {
	t := open(doc)
	r, _ := t.row(path)
	above, parent := t.row(path[:len(path)-1])
	start := t.lineStart(r.start)
	if r.depth == len(path) && len(parent.Members)+len(parent.Elems) > 1 && len(bytes.TrimLeft(t.data[start:r.start], " ")) == 0 {
		start = t.lead(start, r.start-start)
		if r.end == len(t.data) && !bytes.HasSuffix(t.data, []byte{'\n'}) {
			start = max(start-len(t.lineEnd), 0)
		}
		return slices.Concat(t.data[:start], t.data[r.end:])
	}
	return t.rewrite(above, root, path, false)
}

func rename(doc *jsonc.Document, key string, path []string) []byte {
	t := open(doc)
	r, _ := t.row(path)
	name := &yaml.Node{}
	name.SetString(key)
	text := bytes.TrimRight(t.dump(name, nil, 0), "\r\n")
	// The key ends in front of the first colon that makes it what it is.
	line := t.data[r.start:t.lineAfter(r.start)]
	for i, c := range line {
		var old string
		if c == ':' && yaml.Load(line[:i], &old) == nil && old == path[len(path)-1] {
			return slices.Concat(t.data[:r.start], text, t.data[r.start+i:])
		}
	}
	return nil
}

// rewrite returns the text in which a row, which is on a path, says what root says. With
// keepComments the text is nil if a comment would go.
func (t *text) rewrite(r row, root *jsonc.Node, path []string, keepComments bool) []byte {
	column := 0
	if r.depth > 0 {
		column = t.column(r.start)
	}
	source := strings.ReplaceAll(string(t.data[r.start:r.end]), "\r\n", "\n")
	source = strings.ReplaceAll(source, "\n"+strings.Repeat(" ", column), "\n")
	var doc yaml.Node
	if err := yaml.Load([]byte(source), &doc); err != nil || len(doc.Content) != 1 { // such as an alias of another row
		return nil
	}
	form := t.form(&doc, source)
	n := doc.Content[0]
	if r.depth > 0 { // a list of one element, or an object of one key
		n = n.Content[len(n.Content)-1]
	}
	become(n, t.root.At(path[:r.depth]), root.At(path[:r.depth]))
	lines := t.dump(&doc, form, column)
	if lines == nil || keepComments && commentsOf(source) != commentsOf(string(lines)) {
		return nil
	}
	if r.end == len(t.data) && t.data[r.end-1] != '\n' {
		lines = bytes.TrimRight(lines, "\r\n")
	}
	return slices.Concat(t.data[:r.start], lines, t.data[r.end:])
}

// commentsOf counts the lines that are comments.
func commentsOf(text string) (n int) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			n++
		}
	}
	return n
}

// form returns the options with which a node is written as it stands in the source, if
// there are some.
func (t *text) form(n *yaml.Node, source string) []yaml.Option {
	for _, indent := range []int{t.unit, 2, 4} {
		for _, compact := range []bool{false, true} {
			form := []yaml.Option{yaml.WithIndent(indent), yaml.WithCompactSeqIndent(compact)}
			if string(t.dump(n, form, 0)) == source {
				return form
			}
		}
	}
	return nil
}

// dump writes a node as the lines of a row in a column, in a form or else in that of the
// file. It returns nil for what cannot be written.
func (t *text) dump(n *yaml.Node, form []yaml.Option, column int) []byte {
	if form == nil {
		form = []yaml.Option{yaml.WithIndent(t.unit), yaml.WithCompactSeqIndent(false)}
	}
	out, err := yaml.Dump(n, append(form, yaml.WithLineWidth(-1), yaml.WithQuotePreference(yaml.QuoteDouble), yaml.WithUnicode(isVisible(n)))...)
	if err != nil {
		return nil
	}
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if b.Len() > 0 && line != "\n" {
			b.WriteString(strings.Repeat(" ", column))
		}
		b.WriteString(strings.TrimSuffix(line, "\n") + t.lineEnd)
	}
	return []byte(b.String())
}

// isVisible reports whether all characters of a node can be seen.
func isVisible(n *yaml.Node) bool {
	return !strings.ContainsFunc(n.Value, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) &&
		!slices.ContainsFunc(n.Content, func(n *yaml.Node) bool { return !isVisible(n) })
}

// nodeOf returns a value as a node.
func nodeOf(n *jsonc.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text}
	switch n.Kind {
	case jsonc.Object:
		out.Kind = yaml.MappingNode
		for i := range n.Members {
			key := &yaml.Node{}
			key.SetString(n.Members[i].Key)
			out.Content = append(out.Content, key, nodeOf(&n.Members[i].Value))
		}
	case jsonc.Array:
		out.Kind = yaml.SequenceNode
		for i := range n.Elems {
			out.Content = append(out.Content, nodeOf(&n.Elems[i]))
		}
	case jsonc.String:
		out.SetString(n.Text)
	case jsonc.Null:
		out.Value = "null"
	}
	return out
}

// become has a node, which says have, say want. What both say stays as it is written, with
// its comments.
func become(n *yaml.Node, have, want *jsonc.Node) {
	switch {
	case have != nil && bytes.Equal(have.JSON(), want.JSON()):
	case n.Kind == yaml.MappingNode && want.Kind == jsonc.Object && len(n.Content) > 0:
		becomeObject(n, have, want)
	case n.Kind == yaml.SequenceNode && want.Kind == jsonc.Array && len(n.Content) > 0:
		becomeArray(n, have, want)
	default:
		fresh := nodeOf(want)
		fresh.HeadComment, fresh.LineComment, fresh.FootComment = n.HeadComment, n.LineComment, n.FootComment
		*n = *fresh
	}
}

func becomeObject(n *yaml.Node, have, want *jsonc.Node) {
	var content []*yaml.Node
	said := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		old, next := have.Member(key), want.Member(key)
		if old != nil {
			if next == nil {
				continue
			}
			become(n.Content[i+1], &old.Value, &next.Value)
		}
		said[key] = true
		content = append(content, n.Content[i], n.Content[i+1])
	}
	for i := range want.Members {
		m := &want.Members[i]
		if old := have.Member(m.Key); !said[m.Key] && (old == nil || !bytes.Equal(old.Value.JSON(), m.Value.JSON())) { // else it is merged
			content = append(content, nodeOf(m.Value.Wrap([]string{m.Key})).Content...)
		}
	}
	n.Content = content
}

// becomeArray puts old elements in the place of new ones that say the same. Of others, as
// many as before, each becomes the one at its place.
func becomeArray(n *yaml.Node, have, want *jsonc.Node) {
	olds := n.Content
	find := func(list []jsonc.Node, e *jsonc.Node) int {
		return slices.IndexFunc(list, func(other jsonc.Node) bool { return bytes.Equal(other.JSON(), e.JSON()) })
	}
	n.Content = nil
	for i := range want.Elems {
		e := &want.Elems[i]
		var next *yaml.Node
		switch at := find(have.Elems, e); {
		case at >= 0:
			next = olds[at]
		case len(want.Elems) == len(olds) && find(want.Elems, &have.Elems[i]) < 0:
			next = olds[i]
			become(next, &have.Elems[i], e)
		default:
			next = nodeOf(e)
		}
		n.Content = append(n.Content, next)
	}
}
