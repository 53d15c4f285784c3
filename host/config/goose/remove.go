package goose

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// remove takes away what is at path, with the comments directly above.
func remove(data []byte, path ...string) ([]byte, error) {
	t, err := open(data)
	if err != nil {
		return nil, err
	}
	have, member, _ := t.find(path)
	if have == nil || len(path) == 0 {
		return data, nil
	}
	expected, err := jsonc.Remove(t.doc.JSON(&t.doc.Root), path...)
	if err != nil {
		return nil, err
	}
	parent, holder, inFlow := t.find(path[:len(path)-1])
	var out []byte
	switch {
	case inFlow || t.flow(parent):
		out, err = t.removeInFlow(parent, path)
	case len(parent.Members)+len(parent.Elems) == 1 && holder != nil:
		out, err = t.replace(holder, &jsonc.Node{Kind: parent.Kind})
	case member != nil && len(parent.Members) > 1:
		line := t.lineStart(member.Offset)
		if len(bytes.TrimLeft(t.data[line:member.Offset], " ")) > 0 { // behind a dash
			return nil, editError(path, errUnwritable)
		}
		out = t.without(t.lead(line, t.column(member.Offset)), t.block(member.Offset))
	case member == nil:
		line := t.lineStart(have.Offset)
		dash := line + bytes.IndexByte(t.data[line:], '-')
		out = t.without(t.lead(line, dash-line), t.block(dash))
	default:
		err = errUnwritable
	}
	if err != nil {
		return nil, editError(path, err)
	}
	return verified(out, expected, path)
}

// removeInFlow takes an item out of brackets.
func (t *text) removeInFlow(parent *jsonc.Node, path []string) ([]byte, error) {
	var starts []int
	at := -1
	key := path[len(path)-1]
	for i := range parent.Members {
		starts = append(starts, parent.Members[i].Offset)
		if parent.Members[i].Key == key {
			at = i
		}
	}
	for i := range parent.Elems {
		starts = append(starts, parent.Elems[i].Offset)
		if strconv.Itoa(i) == key {
			at = i
		}
	}
	end, ok := t.valueEnd(parent.Offset, true)
	switch {
	case at < 0 || !ok:
		return nil, errUnwritable
	case len(starts) == 1:
		return t.splice(parent.Offset+1, end-1, ""), nil
	case at+1 < len(starts):
		return t.splice(starts[at], starts[at+1], ""), nil
	default:
		comma := bytes.LastIndexByte(t.data[:starts[at]], ',')
		return t.splice(comma, end-1, ""), nil
	}
}

// rename gives the member at path another key.
func rename(data []byte, key string, path ...string) ([]byte, error) {
	t, err := open(data)
	if err != nil {
		return nil, err
	}
	_, member, _ := t.find(path)
	if member == nil || path[len(path)-1] == key {
		return data, nil
	}
	other := append(slices.Clone(path[:len(path)-1]), key)
	if n, _, _ := t.find(other); n != nil {
		return nil, editError(other, errTaken)
	}
	expected, err := jsonc.Rename(t.doc.JSON(&t.doc.Root), key, path...)
	if err != nil {
		return nil, err
	}
	colon, ok := t.colon(member.Offset)
	if !ok {
		return nil, editError(path, errUnwritable)
	}
	end := len(bytes.TrimRight(t.data[:colon], " \t"))
	return verified(t.splice(member.Offset, end, string(appendKey(nil, key))), expected, path)
}
