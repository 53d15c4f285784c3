package goose

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

var (
	errUnwritable = errors.New("stands in a form of YAML that is not changed here: change it by hand")
	errTaken      = errors.New("is there already")
)

func editError(path []string, err error) error {
	var at jsonc.Path
	for _, key := range path {
		at = at.Key(key)
	}
	return fmt.Errorf("%s: %w", at, err)
}

// A text is a YAML file that is being changed.
type text struct {
	data    []byte
	doc     *jsonc.Document
	lineEnd string
	unit    string // of indentation
}

func open(data []byte) (*text, error) {
	doc, err := parse(data)
	if err != nil {
		return nil, err
	}
	t := &text{data: data, doc: doc, lineEnd: "\n", unit: "  "}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		t.lineEnd = "\r\n"
	}
	for i := range doc.Root.Members {
		m := &doc.Root.Members[i]
		if n := len(m.Value.Members); n > 0 && t.column(m.Value.Members[0].Offset) > 0 && !t.flow(&m.Value) {
			t.unit = strings.Repeat(" ", t.column(m.Value.Members[0].Offset))
			break
		}
	}
	return t, nil
}

// column returns how many bytes stand on the line of an offset before it.
func (t *text) column(offset int) int { return offset - t.lineStart(offset) }

func (t *text) lineStart(offset int) int {
	start := bytes.LastIndexByte(t.data[:offset], '\n') + 1
	if start == 0 && bytes.HasPrefix(t.data, []byte("\xef\xbb\xbf")) {
		start = 3
	}
	return start
}

// lineAfter returns the start of the next line.
func (t *text) lineAfter(offset int) int {
	if i := bytes.IndexByte(t.data[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(t.data)
}

// flow reports whether an object or array is written in brackets.
func (t *text) flow(n *jsonc.Node) bool {
	return n.Offset < len(t.data) && (t.data[n.Offset] == '{' || t.data[n.Offset] == '[')
}

// find returns the node at a path and whether it is inside of brackets; nil if there is
// none.
func (t *text) find(path []string) (n *jsonc.Node, member *jsonc.Member, inFlow bool) {
	n = &t.doc.Root
	for _, key := range path {
		inFlow = inFlow || n.Kind >= jsonc.Array && t.flow(n)
		switch n.Kind {
		case jsonc.Object:
			if member = n.Member(key); member == nil {
				return nil, nil, inFlow
			}
			n = &member.Value
		case jsonc.Array:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(n.Elems) {
				return nil, nil, inFlow
			}
			n, member = &n.Elems[i], nil
		default:
			return nil, nil, inFlow
		}
	}
	return n, member, inFlow
}

func (t *text) splice(start, end int, with string) []byte {
	out := make([]byte, 0, len(t.data)+len(with))
	return append(append(append(out, t.data[:start]...), with...), t.data[end:]...)
}

// block returns the end of the lines of a block that starts at offset, its key or dash
// standing in that column: without the comments and empty lines behind it.
func (t *text) block(offset int) int {
	column := t.column(offset)
	dash := t.data[offset] == '-'
	end := t.lineAfter(offset)
	for at := end; at < len(t.data); {
		next := t.lineAfter(at)
		line := strings.TrimRight(string(t.data[at:next]), " \t\r\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		rest := line[indent:]
		switch {
		case line == "" || rest[0] == '#':
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
			return start
		}
		start = above
	}
	return start
}

// valueEnd returns the end of the value that starts at offset on its line, without the
// comment behind it; false if it goes on over further lines, or cannot be told.
func (t *text) valueEnd(offset int, inFlow bool) (int, bool) {
	depth := 0
	for i := offset; i < len(t.data); i++ {
		switch c := t.data[i]; {
		case (c == '"' || c == '\'') && (i == offset || strings.IndexByte(" ,:[{\n", t.data[i-1]) >= 0):
			end := quotedEnd(t.data, i)
			if end < 0 {
				return 0, false
			}
			if i == offset {
				return end, true
			}
			i = end - 1
		case (c == '[' || c == '{') && (inFlow || depth > 0 || i == offset):
			depth++
		case (c == ']' || c == '}') && depth > 0:
			if depth--; depth == 0 && (t.data[offset] == '[' || t.data[offset] == '{') {
				return i + 1, true
			}
		case inFlow && depth == 0 && (c == ',' || c == ']' || c == '}'), depth == 0 && (c == '\n' || c == '\r'),
			depth == 0 && c == '#' && i > 0 && t.data[i-1] == ' ':
			return offset + len(bytes.TrimRight(t.data[offset:i], " \t")), true
		}
	}
	return len(t.data), depth == 0
}

func quotedEnd(data []byte, start int) int {
	quote := data[start]
	for i := start + 1; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && quote == '\'' && i+1 < len(data) && data[i+1] == quote:
			i++
		case data[i] == quote:
			return i + 1
		}
	}
	return -1
}

// set puts value, which is JSON, at path.
func set(data, value []byte, path ...string) ([]byte, error) {
	want, err := jsonc.Parse(value)
	if err != nil {
		return nil, editError(path, err)
	}
	t, err := open(data)
	if err != nil {
		return nil, err
	}
	expected, err := jsonc.Set(t.doc.JSON(&t.doc.Root), value, path...)
	if err != nil {
		return nil, err
	}
	out, err := t.set(&want.Root, path)
	if err != nil {
		return nil, err
	}
	return verified(out, expected, path)
}

// verified returns a text if it says what is expected, which is JSON.
func verified(data, expected []byte, path []string) ([]byte, error) {
	doc, err := parse(data)
	if err != nil || !sameJSON(doc.JSON(&doc.Root), expected) {
		return nil, editError(path, errUnwritable)
	}
	return data, nil
}

func sameJSON(a, b []byte) bool {
	var v, w any
	if json.Unmarshal(a, &v) != nil || json.Unmarshal(b, &w) != nil {
		return false
	}
	x, err := json.Marshal(v)
	if err != nil {
		return false
	}
	y, err := json.Marshal(w)
	return err == nil && bytes.Equal(x, y)
}

func jsonOf(n *jsonc.Node) []byte { return jsonc.New(nil, *n).JSON(n) }

func (t *text) set(want *jsonc.Node, path []string) ([]byte, error) {
	have, member, inFlow := t.find(path)
	switch {
	case have == nil:
		return t.add(want, path)
	case sameJSON(t.doc.JSON(have), jsonOf(want)):
		return t.data, nil
	case have.Kind == jsonc.Object && want.Kind == jsonc.Object && len(have.Members) > 0 && len(want.Members) > 0:
		return t.members(have, want, path)
	case have.Kind == jsonc.Array && want.Kind == jsonc.Array && len(have.Elems) > 0 && len(want.Elems) > 0 && !inFlow && !t.flow(have):
		return t.elements(have, want, path)
	case len(path) == 0:
		return nil, editError(path, errUnwritable)
	case inFlow || member == nil || t.flow(have) && len(have.Members)+len(have.Elems) > 0:
		end, ok := t.valueEnd(have.Offset, inFlow)
		if !ok || have.End == have.Offset && have.Kind == jsonc.Null {
			return nil, editError(path, errUnwritable)
		}
		return t.splice(have.Offset, end, string(appendFlow(nil, want))), nil
	}
	return t.replace(member, want)
}

// members changes an object member by member: what is new comes first, so that the
// object is never empty.
func (t *text) members(have, want *jsonc.Node, path []string) ([]byte, error) {
	data, err := t.data, error(nil)
	for i := range want.Members {
		m := &want.Members[i]
		if data, err = set(data, jsonOf(&m.Value), append(slices.Clone(path), m.Key)...); err != nil {
			return nil, err
		}
	}
	for i := range have.Members {
		if key := have.Members[i].Key; want.Member(key) == nil {
			if data, err = remove(data, append(slices.Clone(path), key)...); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

// replace writes the value of a member of a block.
func (t *text) replace(m *jsonc.Member, want *jsonc.Node) ([]byte, error) {
	column := t.column(m.Offset)
	colon, ok := t.colon(m.Offset)
	if !ok {
		return nil, errUnwritable
	}
	end := t.block(m.Offset)
	value := t.after(want, strings.Repeat(" ", column))
	if end == t.lineAfter(m.Offset) { // on one line
		from := colon + 1
		to := from
		if start := from + len(t.data[from:]) - len(bytes.TrimLeft(t.data[from:], " \t")); start < end {
			if after, ok := t.valueEnd(start, false); ok && after <= end {
				to = after
			}
		}
		if to == from && !strings.Contains(value, t.lineEnd) {
			return t.splice(from, from, value), nil
		}
		comment := strings.TrimSpace(string(t.data[to:end]))
		if comment != "" && strings.Contains(value, t.lineEnd) {
			first, rest, _ := strings.Cut(value, t.lineEnd)
			return t.splice(from, end, first+" "+comment+t.lineEnd+rest+t.lineEnd), nil
		}
		return t.splice(from, to, value), nil
	}
	if bytes.HasSuffix(t.data[:end], []byte{'\n'}) {
		value += t.lineEnd
	}
	return t.splice(colon+1, end, value), nil
}

// colon returns where the colon of the key at offset stands.
func (t *text) colon(offset int) (int, bool) {
	at := offset
	if c := t.data[at]; c == '"' || c == '\'' {
		if at = quotedEnd(t.data, at); at < 0 {
			return 0, false
		}
	}
	for i := at; i < len(t.data) && t.data[i] != '\n'; i++ {
		if t.data[i] == ':' && (i+1 == len(t.data) || strings.IndexByte(" \t\r\n", t.data[i+1]) >= 0) {
			return i, true
		}
	}
	return 0, false
}

// elements changes a list of lines: what is the same at its ends stays.
func (t *text) elements(have, want *jsonc.Node, path []string) ([]byte, error) {
	first, last := 0, 0
	same := func(i, j int) bool { return sameJSON(t.doc.JSON(&have.Elems[i]), jsonOf(&want.Elems[j])) }
	for first < len(have.Elems) && first < len(want.Elems) && same(first, first) {
		first++
	}
	for last < len(have.Elems)-first && last < len(want.Elems)-first && same(len(have.Elems)-1-last, len(want.Elems)-1-last) {
		last++
	}
	starts := make([]int, len(have.Elems))
	for i := range have.Elems {
		line := t.lineStart(have.Elems[i].Offset)
		dash := bytes.IndexByte(t.data[line:have.Elems[i].Offset], '-')
		if dash < 0 || len(bytes.TrimLeft(t.data[line:line+dash], " ")) > 0 {
			return nil, editError(path, errUnwritable)
		}
		starts[i] = line + dash
	}
	indent := strings.Repeat(" ", t.column(starts[0]))
	var b strings.Builder
	for _, e := range want.Elems[first : len(want.Elems)-last] {
		b.WriteString(t.element(&e, indent) + t.lineEnd)
	}
	olds := have.Elems[first : len(have.Elems)-last]
	var from, to int
	switch {
	case len(olds) > 0:
		from, to = t.lineStart(starts[first]), t.block(starts[first+len(olds)-1])
	case first > 0:
		from = t.block(starts[first-1])
		to = from
	default:
		from = t.lineStart(starts[0])
		to = from
	}
	text := b.String()
	if from > 0 && t.data[from-1] != '\n' {
		text = t.lineEnd + text
	}
	return t.splice(from, to, text), nil
}

// add puts a value at a path where nothing is.
func (t *text) add(want *jsonc.Node, path []string) ([]byte, error) {
	depth := len(path) - 1
	parent, member, inFlow := t.find(path[:depth])
	for parent == nil {
		depth--
		parent, member, inFlow = t.find(path[:depth])
	}
	for i := len(path) - 1; i > depth; i-- {
		want = &jsonc.Node{Kind: jsonc.Object, Members: []jsonc.Member{{Key: path[i], Value: *want}}}
	}
	key := path[depth]
	one := &jsonc.Node{Kind: jsonc.Object, Members: []jsonc.Member{{Key: key, Value: *want}}}
	if parent.Kind == jsonc.Array && key == "-" {
		one = &jsonc.Node{Kind: jsonc.Array, Elems: []jsonc.Node{*want}}
	}
	size := len(parent.Members) + len(parent.Elems)
	switch {
	case size == 0 && member != nil && !inFlow && (parent.Kind == jsonc.Null || parent.Kind >= jsonc.Array):
		return t.replace(member, one)
	case size == 0 && depth == 0 && parent.Kind == jsonc.Object && t.flow(parent):
		return t.splice(parent.Offset, parent.Offset+bytes.IndexByte(t.data[parent.Offset:], '}')+1, strings.TrimPrefix(t.after(one, "")[len(t.lineEnd):], t.unit)), nil
	case inFlow || t.flow(parent):
		end, ok := t.valueEnd(parent.Offset, true)
		if !ok {
			return nil, editError(path, errUnwritable)
		}
		item := string(appendFlow(nil, one))
		item = item[1 : len(item)-1]
		closing := end - 1
		before := bytes.TrimRight(t.data[:closing], " \t\r\n")
		if size > 0 && before[len(before)-1] != ',' {
			item = ", " + item
		}
		return t.splice(len(before), len(before), item), nil
	case parent.Kind == jsonc.Object:
		last := parent.Members[size-1].Offset
		indent := strings.Repeat(" ", t.column(parent.Members[0].Offset))
		return t.behind(t.block(last), indent+string(appendKey(nil, key))+":"+t.after(want, indent)), nil
	case parent.Kind == jsonc.Array:
		line := t.lineStart(parent.Elems[size-1].Offset)
		dash := line + bytes.IndexByte(t.data[line:], '-')
		indent := strings.Repeat(" ", t.column(dash))
		return t.behind(t.block(dash), t.element(want, indent)), nil
	}
	return nil, editError(path, errUnwritable)
}

// behind puts lines where others end. A file without an end of its last line stays so.
func (t *text) behind(at int, lines string) []byte {
	if at > 0 && t.data[at-1] != '\n' {
		lines = t.lineEnd + lines
	} else {
		lines += t.lineEnd
	}
	return t.splice(at, at, lines)
}

// without takes lines away. A file without an end of its last line stays so.
func (t *text) without(start, end int) []byte {
	if end == len(t.data) && !bytes.HasSuffix(t.data, []byte{'\n'}) {
		start -= len(t.lineEnd)
	}
	return t.splice(max(start, 0), end, "")
}
