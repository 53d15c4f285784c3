package jsonscan

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestTypeOf(t *testing.T) {
	for value, want := range map[string]string{
		`{}`: "object", `[]`: "array", `""`: "string", `true`: "boolean", `false`: "boolean", `null`: "null", `-1`: "number",
	} {
		assert.Equal(t, TypeOf(value[0]), want, "%s", value)
	}
}
