package canonjson

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMarshal(t *testing.T) {
	v := map[string]any{"a": "<b> & \u2028", "n": []int{1}}
	assert.Equal(t, string(assert.Value(Marshal(v))(t)), `{"a":"<b> & \u2028","n":[1]}`)
	assert.Equal(t, string(assert.Value(MarshalLines(v))(t)), "{\n  \"a\": \"<b> & \\u2028\",\n  \"n\": [\n    1\n  ]\n}\n")
	assert.True(t, assert.Err(Marshal(func() {})) != nil, "a function is refused")
}
