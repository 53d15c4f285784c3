package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A statement is a header or a line key = value of a TOML file.
type statement struct {
	header bool
	list   bool     // [[header]]
	path   []string // of the table or value, from the root
	own    int      // how many of path stand in the statement itself, the last ones
	keys   []span   // where those stand
	start  int      // of its line
	end    int      // after its line, the line break included
}

type span struct{ start, end int }

// A text is a TOML file that is being changed.
type text struct {
	data    []byte
	doc     *jsonc.Document
	list    []statement
	mark    int // length of a byte order mark
	lineEnd string
}

var errUnwritable = errors.New("stands in a form of TOML that is not changed here: change it by hand")

func editError(path []string, err error) error {
	var at jsonc.Path
	for _, key := range path {
		at = at.Key(key)
	}
	return fmt.Errorf("%s: %w", at, err)
}

// open reads data and finds its statements.
func open(data []byte) (*text, error) {
	doc, err := parse(data)
	if err != nil {
		return nil, err
	}
	t := &text{data: data, doc: doc, lineEnd: "\n"}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		t.mark = 3
	}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		t.lineEnd = "\r\n"
	}
	var p unstable.Parser
	p.Reset(data[t.mark:])
	var table []string
	lists := make(map[string]int)
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind != unstable.KeyValue && n.Kind != unstable.Table && n.Kind != unstable.ArrayTable {
			continue
		}
		s := statement{header: n.Kind != unstable.KeyValue, list: n.Kind == unstable.ArrayTable}
		var own []string
		for it := n.Key(); it.Next(); {
			k := it.Node()
			start := t.mark + int(k.Raw.Offset)
			own = append(own, string(k.Data))
			s.keys = append(s.keys, span{start, start + int(k.Raw.Length)})
		}
		s.own = len(own)
		if s.header {
			s.path = t.indexed(own, lists, s.list)
			table = s.path
		} else {
			s.path = append(slices.Clone(table), own...)
		}
		s.start = bytes.LastIndexByte(data[:s.keys[0].start], '\n') + 1
		after := s.keys[len(s.keys)-1].end
		if !s.header {
			if node := find(&doc.Root, s.path); node != nil {
				after = node.End
			}
		}
		s.end = len(data)
		if i := bytes.IndexByte(data[after:], '\n'); i >= 0 {
			s.end = after + i + 1
		}
		t.list = append(t.list, s)
	}
	return t, nil
}

// indexed returns the path of a header with the indexes of lists of tables in it.
func (t *text) indexed(own []string, lists map[string]int, list bool) []string {
	var path []string
	for i, key := range own {
		path = append(path, key)
		name := strings.Join(path, "\x00")
		last := i == len(own)-1
		n, known := lists[name]
		switch {
		case last && list:
			lists[name] = n + 1
			path = append(path, strconv.Itoa(n))
		case known:
			path = append(path, strconv.Itoa(n-1))
		}
	}
	return path
}

// find returns the node at a path, nil if there is none.
func find(n *jsonc.Node, path []string) *jsonc.Node {
	for _, key := range path {
		switch n.Kind {
		case jsonc.Object:
			m := n.Member(key)
			if m == nil {
				return nil
			}
			n = &m.Value
		case jsonc.Array:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(n.Elems) {
				return nil
			}
			n = &n.Elems[i]
		default:
			return nil
		}
	}
	return n
}

// literal reports whether a node is written as one value, and not by headers and dotted
// keys.
func (t *text) literal(path []string) bool {
	for _, s := range t.list {
		if !s.header && len(s.path) <= len(path) && slices.Equal(s.path, path[:len(s.path)]) {
			return true
		}
	}
	return false
}

// set puts value, which is JSON, at path.
func set(data, value []byte, path ...string) ([]byte, error) {
	want, err := jsonc.Parse(value)
	if err != nil {
		return nil, editError(path, err)
	}
	return setNode(data, want, &want.Root, path)
}

func setNode(data []byte, doc *jsonc.Document, want *jsonc.Node, path []string) ([]byte, error) {
	t, err := open(data)
	if err != nil {
		return nil, err
	}
	have := find(&t.doc.Root, path)
	switch {
	case have == nil:
		return t.add(want, path)
	case sameValue(t.doc, have, doc, want):
		return data, nil
	case len(path) > 0 && t.literal(path):
		return t.replace(have, want, path)
	case have.Kind != jsonc.Object || want.Kind != jsonc.Object:
		return nil, editError(path, errUnwritable)
	}
	for i := range have.Members {
		key := have.Members[i].Key
		if want.Member(key) == nil {
			if data, err = remove(data, append(slices.Clone(path), key)...); err != nil {
				return nil, err
			}
		}
	}
	for i := range want.Members {
		m := &want.Members[i]
		if data, err = setNode(data, doc, &m.Value, append(slices.Clone(path), m.Key)); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func sameValue(a *jsonc.Document, x *jsonc.Node, b *jsonc.Document, y *jsonc.Node) bool {
	var v, w any
	return json.Unmarshal(a.JSON(x), &v) == nil && json.Unmarshal(b.JSON(y), &w) == nil && equal(v, w)
}

func equal(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

func (t *text) splice(start, end int, with string) []byte {
	out := make([]byte, 0, len(t.data)+len(with))
	out = append(append(append(out, t.data[:start]...), with...), t.data[end:]...)
	return out
}

// replace writes a value in the place of another one that is written as such.
func (t *text) replace(have, want *jsonc.Node, path []string) ([]byte, error) {
	if have.Kind == jsonc.Object && want.Kind == jsonc.Object && len(want.Members) > 0 {
		return t.inline(have, want, path)
	}
	if have.Kind == jsonc.Array && want.Kind == jsonc.Array && len(have.Elems) > 0 {
		return t.elements(have, want)
	}
	return t.render(have.Offset, have.End, want, path)
}

func (t *text) render(start, end int, want *jsonc.Node, path []string) ([]byte, error) {
	value, err := appendValue(nil, want)
	if err != nil {
		return nil, editError(path, err)
	}
	return t.splice(start, end, string(value)), nil
}

// inline changes an inline table.
func (t *text) inline(have, want *jsonc.Node, path []string) ([]byte, error) {
	data, err := t.data, error(nil)
	for i := range have.Members {
		if key := have.Members[i].Key; want.Member(key) == nil {
			if data, err = remove(data, append(slices.Clone(path), key)...); err != nil {
				return nil, err
			}
		}
	}
	for i := range want.Members {
		m := &want.Members[i]
		raw, err := jsonOf(&m.Value)
		if err != nil {
			return nil, err
		}
		if data, err = set(data, raw, append(slices.Clone(path), m.Key)...); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// jsonOf returns a node of JSON as JSON.
func jsonOf(n *jsonc.Node) ([]byte, error) { return jsonc.New(nil, *n).JSON(n), nil }

// elements changes an array: what is the same at its ends stays as it stands there.
func (t *text) elements(have, want *jsonc.Node) ([]byte, error) {
	first, last := 0, 0
	same := func(i, j int) bool { return sameMade(&have.Elems[i], &want.Elems[j]) }
	for first < len(have.Elems) && first < len(want.Elems) && same(first, first) {
		first++
	}
	for last < len(have.Elems)-first && last < len(want.Elems)-first && same(len(have.Elems)-1-last, len(want.Elems)-1-last) {
		last++
	}
	olds, news := have.Elems[first:len(have.Elems)-last], want.Elems[first:len(want.Elems)-last]
	var b []byte
	for i := range news {
		if i > 0 {
			b = append(b, ", "...)
		}
		var err error
		if b, err = appendValue(b, &news[i]); err != nil {
			return nil, err
		}
	}
	switch {
	case len(olds) > 0 && len(news) > 0:
		return t.splice(olds[0].Offset, olds[len(olds)-1].End, string(b)), nil
	case len(olds) == 0 && first > 0:
		return t.splice(have.Elems[first-1].End, have.Elems[first-1].End, ", "+string(b)), nil
	case len(olds) == 0:
		return t.splice(have.Elems[0].Offset, have.Elems[0].Offset, string(b)+", "), nil
	case last > 0: // up to the next element
		return t.splice(olds[0].Offset, have.Elems[len(have.Elems)-last].Offset, ""), nil
	case first > 0:
		return t.splice(have.Elems[first-1].End, olds[len(olds)-1].End, ""), nil
	default:
		return t.splice(have.Offset, have.End, "[]"), nil
	}
}

func sameMade(a, b *jsonc.Node) bool {
	x, err := jsonOf(a)
	if err != nil {
		return false
	}
	y, err := jsonOf(b)
	return err == nil && bytes.Equal(x, y)
}

// add puts a value at a path where nothing is.
func (t *text) add(want *jsonc.Node, path []string) ([]byte, error) {
	depth := len(path) - 1
	for depth > 0 && find(&t.doc.Root, path[:depth]) == nil {
		depth--
	}
	parent := find(&t.doc.Root, path[:depth])
	if depth > 0 && t.literal(path[:depth]) {
		return t.addInline(parent, want, path, depth)
	}
	if parent.Kind != jsonc.Object {
		return nil, editError(path, errUnwritable)
	}
	header := t.header(path[:depth])
	if header < 0 && depth > 0 && !t.dotted(path[:depth]) || header < 0 && want.Kind == jsonc.Object && depth < 2 {
		return t.addTable(want, path, depth)
	}
	if want.Kind == jsonc.Object && len(path) < 3 {
		return t.addTable(want, path, depth)
	}
	line, err := assignment(path[depth:], want)
	if err != nil {
		return nil, editError(path, err)
	}
	return t.addLine(line, path[:depth], header)
}

// header returns the statement that opens the table at path, or -1.
func (t *text) header(path []string) int {
	return slices.IndexFunc(t.list, func(s statement) bool { return s.header && slices.Equal(s.path, path) })
}

// dotted reports whether dotted keys fill the table at path.
func (t *text) dotted(path []string) bool {
	return slices.ContainsFunc(t.list, func(s statement) bool { return s.dots(path) })
}

// dots reports whether s is a line whose dotted key goes through the table at path.
func (s *statement) dots(table []string) bool {
	return !s.header && below(s.path, table) && s.own > len(s.path)-len(table)
}

// below reports whether a path is one below another one.
func below(path, parent []string) bool {
	return len(path) > len(parent) && slices.Equal(path[:len(parent)], parent)
}

// addLine puts a line behind the others of a table.
func (t *text) addLine(line string, table []string, header int) ([]byte, error) {
	last := header
	prefix := ""
	for i := range t.list {
		s := &t.list[i]
		if header < 0 && len(table) > 0 {
			if s.dots(table) {
				last = i
				from := s.keys[0].start
				to := s.keys[s.own-(len(s.path)-len(table))].start
				prefix = string(t.data[from:to])
			}
		} else if i > header && (header >= 0 || len(table) == 0) {
			if s.header {
				break
			}
			last = i
		}
	}
	at, indent := t.mark, ""
	if last >= 0 {
		at = t.list[last].end
		if !t.list[last].header {
			s := &t.list[last]
			indent = string(t.data[max(s.start, t.mark):s.keys[0].start])
		}
	}
	text := indent + prefix + line + t.lineEnd
	if at > 0 && at == len(t.data) && t.data[at-1] != '\n' { // which stays so
		text = t.lineEnd + strings.TrimSuffix(text, t.lineEnd)
	}
	return t.splice(at, at, text), nil
}

// addTable puts a new table behind those of its parent, or at the end.
func (t *text) addTable(want *jsonc.Node, path []string, depth int) ([]byte, error) {
	table, rest := path, want
	if want.Kind != jsonc.Object {
		table = path[:len(path)-1]
		rest = &jsonc.Node{Kind: jsonc.Object, Members: []jsonc.Member{{Key: path[len(path)-1], Value: *want}}}
	}
	var b []byte
	b = append(b, '[')
	for i, key := range table {
		if i > 0 {
			b = append(b, '.')
		}
		b = appendKey(b, key)
	}
	b = append(append(b, ']'), t.lineEnd...)
	for i := range rest.Members {
		line, err := assignment([]string{rest.Members[i].Key}, &rest.Members[i].Value)
		if err != nil {
			return nil, editError(path, err)
		}
		b = append(append(b, line...), t.lineEnd...)
	}
	at := len(t.data)
	for i := range t.list {
		if depth > 0 && below(t.list[i].path, path[:depth]) {
			at = t.list[i].end
		}
	}
	next := slices.IndexFunc(t.list, func(s statement) bool { return s.start >= at })
	if next >= 0 && !t.list[next].header { // whose lines would become the new table's
		at = len(t.data)
	}
	before := ""
	if at > t.mark {
		if t.data[at-1] != '\n' { // which stays so
			before, b = t.lineEnd, bytes.TrimSuffix(b, []byte(t.lineEnd))
		}
		before += t.lineEnd
	}
	return t.splice(at, at, before+string(b)), nil
}

// addInline puts a value into an inline table or an array.
func (t *text) addInline(parent, want *jsonc.Node, path []string, depth int) ([]byte, error) {
	var item string
	switch {
	case parent.Kind == jsonc.Object:
		line, err := assignment(path[depth:], want)
		if err != nil {
			return nil, editError(path, err)
		}
		item = line
		if n := len(parent.Members); n > 0 {
			end := parent.Members[n-1].Value.End
			return t.splice(end, end, ", "+item), nil
		}
		return t.splice(parent.Offset, parent.End, "{ "+item+" }"), nil
	case parent.Kind == jsonc.Array && path[depth] == "-" && len(path) == depth+1:
		value, err := appendValue(nil, want)
		if err != nil {
			return nil, editError(path, err)
		}
		if n := len(parent.Elems); n > 0 {
			end := parent.Elems[n-1].End
			return t.splice(end, end, ", "+string(value)), nil
		}
		return t.splice(parent.Offset, parent.End, "["+string(value)+"]"), nil
	default:
		return nil, editError(path, errUnwritable)
	}
}
