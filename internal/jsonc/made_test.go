package jsonc

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestMade: a tree of another syntax becomes JSON that says the same.
func TestMade(t *testing.T) {
	text := func(s string) Node { return Node{Kind: String, Text: s} }
	doc := New([]byte("one\ntwo"), Node{Kind: Object, Members: []Member{
		{Key: "a\"\n<", Offset: 4, Value: text("é\x00<&>\u2028\\")},
		{Key: "b", Value: Node{Kind: Array, Elems: []Node{{Kind: Number, Text: "1.50"}, {Kind: Bool, Text: "true"}, {}, {Kind: Object}, {Kind: Array}}}},
	}})
	got := doc.JSON(&doc.Root)
	assert.Equal(t, string(got), `{"a\"\n<":"é\u0000<&>\u2028\\","b":[1.50,true,null,{},[]]}`)
	var back map[string]any
	assert.OK(t, json.Unmarshal(got, &back))
	assert.Equal(t, fmt.Sprint(back["a\"\n<"]), "é\x00<&>\u2028\\")
	assert.Equal(t, doc.Position(doc.Root.Members[0].Offset), (Position{2, 1}), "position")
}
