package jsonc

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestAt(t *testing.T) {
	root := &assert.Value(Parse([]byte(`{"a":[1,{"b":"c"}],"0":2}`)))(t).Root
	for path, want := range map[string]string{
		"a/1/b": `"c"`, "0": "2", "a/0": "1", "a/2": "", "a/-1": "", "a/x": "", "b": "", "a/1/b/0": "",
	} {
		got := ""
		if n := root.At(strings.Split(path, "/")); n != nil {
			got = string(n.JSON())
		}
		assert.Equal(t, got, want, "at %s", path)
	}
	object := root.At([]string{"a", "1"})
	assert.Equal(t, object.MemberText("b")+object.MemberText("a"), "c", "the texts")
	assert.Equal(t, string(object.Wrap([]string{"x", "y"}).JSON()), `{"x":{"y":{"b":"c"}}}`, "wrapped")
}

func TestOffset(t *testing.T) {
	doc := New([]byte("\ufeffab\ncd"), Node{})
	for at, want := range map[Position]int{{1, 1}: 3, {1, 2}: 4, {2, 1}: 6, {0, 0}: 3, {9, 2}: 7, {2, 9}: 8} {
		assert.Equal(t, doc.Offset(at.Line, at.Column), want, "of %v", at)
	}
}
