package jsonscan

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMember(t *testing.T) {
	object := []byte(`{"a":{"b":["c"],"d":"\u00e9"},"a2":1}`)
	for path, want := range map[string]string{"a/b": `["c"]`, "a2": "1", "b": "", "a/b/c": "", "a2/b": "", "a/d": `"\u00e9"`} {
		assert.Equal(t, string(Member(object, strings.Split(path, "/")...)), want, "%s", path)
	}
	for value, want := range map[string]string{`"\u00e9"`: "é", `"a"`: "a", `7`: "", ``: ""} {
		text, ok := Text([]byte(value))
		copied, is := String([]byte(value))
		assert.Equal(t, string(text)+copied, want+want, "%s", value)
		assert.True(t, ok == (want != "") && is == ok, "%s is a string", value)
	}
}
