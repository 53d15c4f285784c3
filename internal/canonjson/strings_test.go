package canonjson

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMapStrings(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "a", "b":["\"", "a" ] }`: `{"A": "A", "b":["\"", "A" ] }`, `say "a" and "\`: `say "A" and "\`, `"b"`: `"b"`, ``: ``,
	} {
		got := MapStrings([]byte(in), func(quoted, _ []byte) (string, bool) { return "A", string(quoted) == `"a"` })
		assert.Equal(t, string(got), want, "%s", in)
	}
}
