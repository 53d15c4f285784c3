package goose

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"go.yaml.in/yaml/v4"
)

// edits returns the edits of YAML. What changes is written again, as little as can be: the
// lines of one key, or of one element of a list. All other lines stay.
func edits(empty string) *dialect.Edit {
	r := &dialect.Rewriter{Syntax: syntax(), Set: set, Remove: remove, Rename: rename, Empty: empty}
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

func set(doc *jsonc.Document, want *jsonc.Node, path []string) []byte {
	t := open(doc)
	r, have := t.row(path)
	if have == nil && r.depth < len(path) {
		if n := t.root.At(path[:r.depth]); t.isBlock(n) {
			return t.add(n, want, path[r.depth:])
		}
	}
	return t.rewrite(r, path, true, func(n *yaml.Node, rest []string) bool { return setNode(n, rest, want) })
}

// add puts a new row behind those of a block.
func (t *text) add(n, want *jsonc.Node, path []string) []byte {
	items := t.items(n)
	last := items[len(items)-1]
	want = want.Wrap(path[1:])
	fresh := want.Wrap(path[:1])
	if n.Kind == jsonc.Array {
		fresh = &jsonc.Node{Kind: jsonc.Array, Elems: []jsonc.Node{*want}}
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

func remove(doc *jsonc.Document, path []string) []byte {
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
	return t.rewrite(above, path, false, removeNode)
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

// rewrite returns the text in which change has changed a row: it gets the row as a node, and
// what of the path is left inside of that, and reports whether it could. With keepComments
// the text is nil if a comment would go.
func (t *text) rewrite(r row, path []string, keepComments bool, change func(n *yaml.Node, rest []string) bool) []byte {
	rest := slices.Clone(path[max(r.depth-1, 0):])
	column := 0
	if r.depth > 0 {
		column = t.column(r.start)
		if t.data[r.start] == '-' && rest[0] != "-" {
			rest[0] = "0" // the row is a list of one element
		}
	}
	source := strings.ReplaceAll(string(t.data[r.start:r.end]), "\r\n", "\n")
	source = strings.ReplaceAll(source, "\n"+strings.Repeat(" ", column), "\n")
	var doc yaml.Node
	if err := yaml.Load([]byte(source), &doc); err != nil || len(doc.Content) != 1 { // such as an alias of another row
		return nil
	}
	form := t.form(&doc, source)
	if !change(doc.Content[0], rest) {
		return nil
	}
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

// indexOf returns where in the content of a node the value of a key or index is, or -1.
func indexOf(n *yaml.Node, key string) int {
	if n == nil {
		return -1
	}
	if i, err := strconv.Atoi(key); n.Kind == yaml.SequenceNode && err == nil && i < len(n.Content) {
		return i
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

func nodeAt(n *yaml.Node, path []string) *yaml.Node {
	for _, key := range path {
		i := indexOf(n, key)
		if i < 0 {
			return nil
		}
		n = n.Content[i]
	}
	return n
}

// setNode puts a value at a path in a node.
func setNode(n *yaml.Node, path []string, want *jsonc.Node) bool {
	for len(path) > 0 {
		i := indexOf(n, path[0])
		if i < 0 {
			break
		}
		n, path = n.Content[i], path[1:]
	}
	fresh := nodeOf(want)
	switch {
	case len(path) == 0:
		if n.Kind == fresh.Kind && len(n.Content) > 0 {
			fresh.Style = n.Style
			reuse(n.Content, fresh.Content)
		}
		fresh.HeadComment, fresh.LineComment, fresh.FootComment = n.HeadComment, n.LineComment, n.FootComment
		*n = *fresh
	case n.Kind == yaml.SequenceNode && path[0] == "-":
		if len(n.Content) == 0 {
			n.Style = 0
		}
		n.Content = append(n.Content, nodeOf(want.Wrap(path[1:])))
	case n.Kind == yaml.MappingNode || n.ShortTag() == "!!null":
		if len(n.Content) == 0 { // {} or nothing becomes lines
			n.Kind, n.Tag, n.Value, n.Style = yaml.MappingNode, "", "", 0
		}
		n.Content = append(n.Content, nodeOf(want.Wrap(path[:1])).Content[0], nodeOf(want.Wrap(path[1:])))
	default:
		return false
	}
	return true
}

// reuse puts old texts in the place of new ones that say the same: they have comments, and
// quotes of the user's choice.
func reuse(olds, list []*yaml.Node) {
	for i, n := range list {
		at := slices.IndexFunc(olds, func(old *yaml.Node) bool {
			return old.Kind == yaml.ScalarNode && old.Value == n.Value && old.ShortTag() == n.ShortTag()
		})
		if at >= 0 {
			list[i] = olds[at]
		}
	}
}

// removeNode takes away what is at a path in a node.
func removeNode(n *yaml.Node, path []string) bool {
	parent := nodeAt(n, path[:len(path)-1])
	i := indexOf(parent, path[len(path)-1])
	if i < 0 {
		return false
	}
	if parent.Kind == yaml.MappingNode {
		parent.Content = slices.Delete(parent.Content, i-1, i+1)
	} else {
		parent.Content = slices.Delete(parent.Content, i, i+1)
	}
	return true
}
