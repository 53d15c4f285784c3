package codex

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// remove takes away what is at path, with the comments directly above.
func remove(data []byte, path ...string) ([]byte, error) {
	t, err := open(data)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, editError(path, errUnwritable)
	}
	if find(&t.doc.Root, path) == nil {
		return data, nil
	}
	parent := path[:len(path)-1]
	switch node := find(&t.doc.Root, parent); {
	case t.literal(parent):
		return t.removeInline(node, path)
	case node.Kind == jsonc.Array: // of tables
		return nil, editError(path, errUnwritable)
	}
	var gone []span
	last := -1 // the end of the last table, if that goes
	for i := range t.list {
		s := &t.list[i]
		if !slices.Equal(s.path, path) && !below(s.path, path) {
			continue
		}
		if !s.header {
			gone = append(gone, span{t.lead(s.start), s.end})
			continue
		}
		end, next := s.end, i+1
		for ; next < len(t.list) && !t.list[next].header; next++ {
			end = t.list[next].end
		}
		if next < len(t.list) {
			end = t.blankAfter(end)
		} else {
			last = end
		}
		gone = append(gone, span{t.lead(s.start), end})
	}
	var out []byte
	at := 0
	for _, g := range gone {
		if g.start > at {
			out = append(out, data[at:g.start]...)
		}
		at = max(at, g.end)
	}
	if lineEnd := []byte(t.lineEnd); at == last {
		if bytes.HasSuffix(out, bytes.Repeat(lineEnd, 2)) { // the empty line in front of it
			out = bytes.TrimSuffix(out, lineEnd)
		}
		if at == len(data) && !bytes.HasSuffix(data, lineEnd) {
			out = bytes.TrimSuffix(out, lineEnd)
		}
	}
	return append(out, data[at:]...), nil
}

// blankAfter returns the end of the empty lines at an offset.
func (t *text) blankAfter(at int) int {
	for at < len(t.data) {
		line, _, _ := bytes.Cut(t.data[at:], []byte{'\n'})
		if len(bytes.TrimSpace(line)) > 0 {
			break
		}
		at = min(at+len(line)+1, len(t.data))
	}
	return at
}

// lead returns the start of the comment lines directly above a line. One that looks
// like something switched off stays.
func (t *text) lead(start int) int {
	for start > t.mark {
		above := bytes.LastIndexByte(t.data[:start-1], '\n') + 1
		line := strings.TrimSpace(string(t.data[max(above, t.mark):start]))
		if !strings.HasPrefix(line, "#") || strings.ContainsAny(line, "=[") {
			break
		}
		start = above
	}
	return max(start, t.mark)
}

// removeInline takes a member or an element away from a value.
func (t *text) removeInline(parent *jsonc.Node, path []string) ([]byte, error) {
	key := path[len(path)-1]
	var starts, ends []int
	at := -1
	for i := range parent.Members {
		m := &parent.Members[i]
		if t.data[m.Value.Offset-1] == '.' || bytes.IndexByte(t.data[m.Offset:m.Value.Offset], '=') < 0 {
			return nil, editError(path, errUnwritable) // a dotted key
		}
		starts, ends = append(starts, m.Offset), append(ends, m.Value.End)
		if m.Key == key {
			at = i
		}
	}
	for i := range parent.Elems {
		starts, ends = append(starts, parent.Elems[i].Offset), append(ends, parent.Elems[i].End)
		if strconv.Itoa(i) == key {
			at = i
		}
	}
	switch {
	case at < 0:
		return t.data, nil
	case len(starts) == 1:
		return t.splice(parent.Offset+1, parent.End-1, ""), nil
	case at+1 < len(starts):
		return t.splice(starts[at], starts[at+1], ""), nil
	default:
		return t.splice(ends[at-1], ends[at], ""), nil
	}
}

// rename gives the table or value at path another key.
func rename(data []byte, key string, path ...string) ([]byte, error) {
	t, err := open(data)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 || find(&t.doc.Root, path) == nil {
		return data, nil
	}
	parent := path[:len(path)-1]
	switch {
	case path[len(path)-1] == key:
		return data, nil
	case find(&t.doc.Root, append(slices.Clone(parent), key)) != nil:
		return nil, editError(append(slices.Clone(parent), key), errTaken)
	case t.literal(parent):
		return nil, editError(path, errUnwritable)
	}
	var out []byte
	at := 0
	for i := range t.list {
		s := &t.list[i]
		own := len(path) - 1 - (len(s.path) - s.own) // of the key in the statement
		if !slices.Equal(s.path, path) && !below(s.path, path) || own < 0 {
			continue
		}
		k := s.keys[own]
		out = appendKey(append(out, data[at:k.start]...), key)
		at = k.end
	}
	return append(out, data[at:]...), nil
}
