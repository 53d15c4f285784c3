package jsonedit

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A document is a text that is changed, and what it says.
type document struct{ *jsonc.Document }

func parse(data []byte) (*document, error) {
	d, err := jsonc.Parse(data)
	if err != nil {
		return nil, err
	}
	return &document{d}, nil
}

// An EditError says why a document cannot be changed as asked.
type EditError struct {
	Path    jsonc.Path // where in the document
	Message string     // what is wrong and how to cure it
}

func (e *EditError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return string(e.Path) + ": " + e.Message
}

// Set returns data with value, which is JSON, at the place that path names: keys
// of objects and, in arrays, indexes in decimal or "-" for a new element at the
// end. Objects on the way that are not there yet, or null, are made; new members
// come last.
//
// Only what differs is written: where a member or element is the same as before,
// its bytes stay, and so do the order of members and all comments but those that
// belong to a member or element that goes, see [Remove]. New members are indented as
// their neighbours are. If nothing differs, the result is data itself.
//
// The error is a [*jsonc.SyntaxError] if data does not parse, else an [*EditError]. data
// is not changed.
func Set(data, value []byte, path ...string) ([]byte, error) {
	want, err := parse(value)
	if err != nil {
		return nil, &EditError{jsonc.PathOf(path), "the new value is not JSON: " + err.Error()}
	}
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	n, at, rest, err := d.reach(path)
	if err != nil {
		return nil, err
	}
	goal := &want.Root
	switch {
	case len(rest) > 0 && n.Kind == jsonc.Array: // only "-" is not there yet
		goal = &jsonc.Node{Kind: jsonc.Array, Elems: append(slices.Clone(n.Elems), *goal.Wrap(rest[1:]))}
	case len(rest) > 0 && n.Kind == jsonc.Object:
		goal = goal.Wrap(rest)
		goal = &jsonc.Node{Kind: jsonc.Object, Members: append(slices.Clone(n.Members), goal.Members...)}
	case len(rest) > 0:
		goal = goal.Wrap(rest)
	}
	return d.become(goal, at)
}

// Remove returns data without what path names, or data itself if that is not
// there. The comments of a member or element go with it: those on the lines
// directly above, those at the end of its line, and those inside. A comment above
// that looks like an entry that a user has switched off stays.
//
// The error is like that of [Set]. data is not changed.
func Remove(data []byte, path ...string) ([]byte, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, &EditError{"", "the whole document cannot be removed"}
	}
	last := path[len(path)-1]
	n, at, rest, err := d.reach(path[:len(path)-1])
	if err != nil || len(rest) > 0 {
		return data, err
	}
	switch n.Kind {
	case jsonc.Object:
		less := slices.Clone(n.Members)
		less = slices.DeleteFunc(less, func(m jsonc.Member) bool { return m.Key == last })
		return d.become(&jsonc.Node{Kind: jsonc.Object, Members: less}, at)
	case jsonc.Array:
		i, err := elementIndex(n, last, jsonc.PathOf(at))
		if err != nil || i >= len(n.Elems) {
			return data, err
		}
		return d.splices(d.removals(n, func(j int) bool { return j == i })), nil
	default:
		return data, nil
	}
}

// reach follows path as far as it leads: at is where n stands, and rest what is
// not there.
func (d *document) reach(path []string) (n *jsonc.Node, at, rest []string, err error) {
	n = &d.Root
	for i, key := range path {
		switch n.Kind {
		case jsonc.Object:
			m := n.Member(key)
			if m == nil {
				return n, path[:i], path[i:], nil
			}
			n = &m.Value
		case jsonc.Array:
			index, err := elementIndex(n, key, jsonc.PathOf(path[:i]))
			if err != nil {
				return nil, nil, nil, err
			}
			if index == len(n.Elems) {
				return n, path[:i], path[i:], nil
			}
			n = &n.Elems[index]
		case jsonc.Null:
			return n, path[:i], path[i:], nil
		default:
			return nil, nil, nil, &EditError{jsonc.PathOf(path[:i]), fmt.Sprintf("is %s, which has no members", n.Kind)}
		}
	}
	return n, path, nil, nil
}

// elementIndex returns the element of n that key names; the one after the last for
// "-".
func elementIndex(n *jsonc.Node, key string, at jsonc.Path) (int, error) {
	if key == "-" {
		return len(n.Elems), nil
	}
	i, err := strconv.Atoi(key)
	if err != nil || i < 0 || i >= len(n.Elems) || strconv.Itoa(i) != key {
		return 0, &EditError{at, fmt.Sprintf("is an array of %d elements: write an index in it, or - for a new one", len(n.Elems))}
	}
	return i, nil
}

// become returns the text in which the value at path is like want. New members are put in
// first, so that they find neighbours to look like.
func (d *document) become(want *jsonc.Node, path []string) ([]byte, error) {
	l := d.look()
	for _, changes := range []func(d *document, have, want *jsonc.Node, l *look) []splice{(*document).growth, (*document).shrinkage} {
		n, _, _, err := d.reach(path)
		if err != nil {
			return nil, err
		}
		if d, err = parse(d.splices(changes(d, n, want, l))); err != nil { // too large, or too deep
			return nil, &EditError{jsonc.PathOf(path), "the document would not be readable any more: " + err.Error()}
		}
	}
	return d.Data, nil
}

// growth returns what must be inserted so that have gets what want has.
func (d *document) growth(have, want *jsonc.Node, l *look) (list []splice) {
	if have.Kind != want.Kind {
		return nil
	}
	switch have.Kind {
	case jsonc.Object:
		var fresh []jsonc.Member
		there := index(have)
		for i := range want.Members {
			m := &want.Members[i]
			if old := there[m.Key]; old != nil {
				list = append(list, d.growth(old, &m.Value, l)...)
			} else {
				fresh = append(fresh, *m)
			}
		}
		return append(list, d.insertion(have, len(have.Members)-1, fresh, l)...)
	case jsonc.Array:
		first, last := Common(have, want)
		var fresh []jsonc.Member
		for i := range want.Elems[first : len(want.Elems)-last] {
			fresh = append(fresh, jsonc.Member{Value: want.Elems[first+i]})
		}
		return d.insertion(have, first-1, fresh, l)
	}
	return nil
}

// shrinkage returns what must be removed or replaced so that have, which has all
// that want has, is like it.
func (d *document) shrinkage(have, want *jsonc.Node, l *look) (list []splice) {
	if same(have, want) {
		return nil
	}
	if have.Kind != want.Kind {
		return []splice{d.replacement(have, want, l)}
	}
	switch have.Kind {
	case jsonc.Object:
		wanted := index(want)
		for i := range have.Members {
			m := &have.Members[i]
			if value := wanted[m.Key]; value != nil {
				list = append(list, d.shrinkage(&m.Value, value, l)...)
			}
		}
		return append(list, d.removals(have, func(i int) bool { return wanted[have.Members[i].Key] == nil })...)
	case jsonc.Array:
		first, last := Common(have, want)
		return d.removals(have, func(i int) bool { return i >= first && i < len(have.Elems)-last })
	default:
		return []splice{d.replacement(have, want, l)}
	}
}

// Common returns how many elements two arrays have in common at the start, and how many
// of the others at the end.
func Common(a, b *jsonc.Node) (first, last int) {
	n := min(len(a.Elems), len(b.Elems))
	for first < n && same(&a.Elems[first], &b.Elems[first]) {
		first++
	}
	for last < n-first && same(&a.Elems[len(a.Elems)-1-last], &b.Elems[len(b.Elems)-1-last]) {
		last++
	}
	return first, last
}

// same reports whether two values mean the same.
func same(a, b *jsonc.Node) bool { return a.Kind == b.Kind && canonjson.Same(a.JSON(), b.JSON()) }

// index returns the values of the members of n by key.
func index(n *jsonc.Node) map[string]*jsonc.Node {
	values := make(map[string]*jsonc.Node, len(n.Members))
	for i := range n.Members {
		values[n.Members[i].Key] = &n.Members[i].Value
	}
	return values
}

// Rename returns data in which the member that path names has another key, at the same
// place. If there is no such member, the result is data itself; if another one has the
// key already, that is an error. Errors are like those of [Set].
func Rename(data []byte, key string, path ...string) ([]byte, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, &EditError{"", "the whole document has no key"}
	}
	last := path[len(path)-1]
	n, at, rest, err := d.reach(path[:len(path)-1])
	if err != nil || len(rest) > 0 {
		return data, err
	}
	m := n.Member(last)
	switch {
	case m == nil || key == last:
		return data, nil
	case n.Member(key) != nil:
		return nil, &EditError{jsonc.PathOf(at).Key(key), "is there already"}
	}
	text := visibleText(nil, key)
	return d.splices([]splice{{m.Offset, stringEnd(d.Data, m.Offset), text}}), nil
}
