// Tests of edit.go and splice.go with documents by chance.

package jsonedit

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A token is what stands in a document besides white space and commas.
type token struct {
	from int
	text string
}

func (t token) comment() bool { return t.text[0] == '/' }

// tokens returns the tokens of a text that parses.
func tokens(data []byte) (list []token) {
	for at := jsonc.MarkEnd(data, len(data)); at < len(data); {
		start := at
		switch c := data[at]; c {
		case ' ', '\t', '\n', '\r', ',':
			at++
			continue
		case '/':
			at = commentEnd(data, at)
		case '"':
			at = stringEnd(data, at)
		case '{', '}', '[', ']', ':':
			at++
		default:
			at += len(data[at:]) - len(bytes.TrimLeft(data[at:], "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))
		}
		list = append(list, token{start, string(bytes.TrimRight(data[start:at], "\r"))})
	}
	return list
}

// missing returns the tokens of have that want does not have, and whether there
// are none the other way round.
func missing(have, want []token) (gone []token, ok bool) {
	for _, t := range have {
		if len(want) > 0 && want[0].text == t.text {
			want = want[1:]
		} else {
			gone = append(gone, t)
		}
	}
	return gone, len(want) == 0
}

// generic returns what a text means to encoding/json.
func generic(t *testing.T, data []byte) any {
	t.Helper()
	d, err := parse(data)
	assert.OK(t, err, "%s", data)
	canonical, err := canonjson.Append(nil, d.Root.JSON()) // 1.0 is 1
	assert.OK(t, err)
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.UseNumber()
	var v any
	assert.OK(t, dec.Decode(&v))
	return v
}

// places returns the path of each member and element of n.
func places(n *jsonc.Node, at []string) (list [][]string) {
	for i := range n.Members {
		path := append(slices.Clone(at), n.Members[i].Key)
		list = append(append(list, path), places(&n.Members[i].Value, path)...)
	}
	for i := range n.Elems {
		path := append(slices.Clone(at), strconv.Itoa(i))
		list = append(append(list, path), places(&n.Elems[i], path)...)
	}
	return list
}

// without returns v without what stands at path.
func without(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
		} else {
			v[path[0]] = without(v[path[0]], path[1:])
		}
		return v
	case []any:
		i, _ := strconv.Atoi(path[0])
		if len(path) == 1 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = without(v[i], path[1:])
		return v
	}
	return v
}

// around returns where the item of n that key names starts and ends, and where the
// one before it ends and the next one starts.
func around(d *document, n *jsonc.Node, key string) (from, start, end, to int) {
	items := d.items(n)
	i, _ := strconv.Atoi(key)
	if n.Kind == jsonc.Object {
		i = slices.IndexFunc(n.Members, func(m jsonc.Member) bool { return m.Key == key })
	}
	from, to = n.Offset+1, n.End-1
	if i > 0 {
		from = items[i-1].end
	}
	if i+1 < len(items) {
		to = items[i+1].start
	}
	return from, items[i].start, items[i].end, to
}

// FuzzEdit changes one place of a document and looks at all others.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1, "b": [1, 2, {"c": null}], /* d */ "d": {}}`,
		"{\n  // about a\n  \"a\": 1, // a\n\n  \"b\": [\n    \"x\", // x\n    \"y\"\n  ],\n}",
		"\xef\xbb\xbf{\r\n\t\"a\" : [ ], // a\r\n\t// \"b\": 1,\r\n\t\"c\": { /* none */ }\r\n}\r\n",
		"[1 // one\n, 2 // two\n, /* 3 */ 3 /* three */ , ]", "// top\n{\"\": {\"\": \"\"}}// end",
	} {
		for i := range uint64(8) {
			f.Add([]byte(seed), i, []byte(`{"new": [true, "x"]}`))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, value []byte) {
		d, err := parse(data)
		if err != nil || bytes.Contains(data, []byte(`\u`)) { // half a pair is another text for encoding/json
			return
		}
		if _, err := parse(value); err != nil {
			return
		}
		all := places(&d.Root, nil)
		if len(all) == 0 {
			return
		}
		path := all[rand.New(rand.NewPCG(seed, 1)).IntN(len(all))]
		checkRemove(t, d, data, path)
		checkSet(t, d, data, value, path)
		checkAdd(t, d, data, value, path)
	})
}

func checkRemove(t *testing.T, d *document, data []byte, path []string) {
	got := assert.Value(Remove(data, path...))(t)
	if want := without(generic(t, data), path); !reflect.DeepEqual(generic(t, got), want) {
		t.Fatalf("%q removed from\n%s\nis\n%s", path, data, got)
	}
	parent, _, _, _ := d.reach(path[:len(path)-1])
	from, start, end, to := around(d, parent, path[len(path)-1])
	var stay, mayGo []token
	for _, tk := range tokens(data) {
		if tk.from < from || tk.from >= to || !tk.comment() && (tk.from < start || tk.from >= end) {
			stay = append(stay, tk)
		} else if tk.comment() {
			mayGo = append(mayGo, tk)
		}
	}
	// Comments near the removed one may stay, all else must.
	now := tokens(got)
	for _, tk := range now {
		if len(stay) > 0 && stay[0].text == tk.text {
			stay = stay[1:]
		} else if i := slices.IndexFunc(mayGo, func(m token) bool { return m.text == tk.text }); i >= 0 {
			mayGo = mayGo[i+1:]
		} else {
			t.Fatalf("%q removed from\n%s\nadds %q:\n%s", path, data, tk.text, got)
		}
	}
	if len(stay) > 0 {
		t.Fatalf("%q removed from\n%s\ntakes %q with it:\n%s", path, data, stay[0].text, got)
	}
	outside(t, data, got, parent)
}

func checkSet(t *testing.T, d *document, data, value []byte, path []string) {
	got, err := Set(data, value, path...)
	if err != nil {
		return // too deep
	}
	again, _ := parse(got)
	node, _, rest, err := again.reach(path)
	if err != nil || len(rest) > 0 || !reflect.DeepEqual(generic(t, again.Data[node.Offset:node.End]), generic(t, value)) {
		t.Fatalf("%q set to %s in\n%s\nis\n%s", path, value, data, got)
	}
	if !reflect.DeepEqual(without(generic(t, got), path), without(generic(t, data), path)) {
		t.Fatalf("%q set to %s in\n%s\nchanges more:\n%s", path, value, data, got)
	}
	old, _, _, _ := d.reach(path)
	outside(t, data, got, old)
}

func checkAdd(t *testing.T, d *document, data, value []byte, path []string) {
	parent, at, _, _ := d.reach(path[:len(path)-1])
	key := "-"
	if parent.Kind == jsonc.Object {
		for key = "added"; parent.Member(key) != nil; key += "x" {
		}
	}
	path = append(slices.Clone(at), key)
	got, err := Set(data, value, path...)
	if err != nil {
		return // too deep
	}
	gone, ok := missing(tokens(got), tokens(data))
	if !ok {
		t.Fatalf("%q added to\n%s\ntakes something away:\n%s", path, data, got)
	}
	for _, g := range gone {
		if g.comment() {
			t.Fatalf("%q added to\n%s\nadds the comment %q:\n%s", path, data, g.text, got)
		}
	}
	if parent.Kind == jsonc.Array {
		path[len(path)-1] = strconv.Itoa(len(parent.Elems))
	}
	if !reflect.DeepEqual(without(generic(t, got), path), generic(t, data)) {
		t.Fatalf("%q added to\n%s\nchanges more:\n%s", path, data, got)
	}
	outside(t, data, got, parent)
	assert.True(t, reflect.DeepEqual(generic(t, assert.Value(Remove(got, path...))(t)), generic(t, data)), "%q added to\n%s\nand removed:", path, data)
}

// outside fails if a byte before or behind n changed.
func outside(t *testing.T, data, got []byte, n *jsonc.Node) {
	t.Helper()
	assert.True(t, bytes.HasPrefix(got, data[:n.Offset]), "what is before the change stays")
	assert.True(t, bytes.HasSuffix(got, data[n.End:]), "what is behind the change stays")
}
