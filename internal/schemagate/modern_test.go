package schemagate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestModern(t *testing.T) {
	for _, c := range []struct{ old, want string }{
		{`{"type": "number", "minimum": 0, "exclusiveMinimum": true}`, `{"type":"number","exclusiveMinimum":0}`},
		{`{"exclusiveMaximum":true,"maximum":1e3,"minimum":1,"exclusiveMinimum":false}`, `{"minimum":1,"exclusiveMaximum":1e3}`},
		{`{"exclusiveMinimum":true}`, `{}`},
		{`{"properties":{"a":{"type":"string","required":true},"b":{"items":[{"maximum":2,"exclusiveMaximum":true}]}},"required":["a"]}`,
			`{"properties":{"a":{"type":"string"},"b":{"items":[{"exclusiveMaximum":2}]}},"required":["a"]}`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, `{"type":"object"}`},
		// What is called like a keyword and is none.
		{`{"properties":{"exclusiveMinimum":{"type":"boolean"},"required":{"exclusiveMinimum":true,"minimum":3}},"default":{"exclusiveMinimum":true}}`,
			`{"properties":{"exclusiveMinimum":{"type":"boolean"},"required":{"exclusiveMinimum":3}},"default":{"exclusiveMinimum":true}}`},
	} {
		got, old := Modern(json.RawMessage(c.old))
		assert.Equal(t, string(got), c.want, "%s", c.old)
		assert.True(t, old, "%s: old", c.old)
		assert.OK(t, Check(got), "%s", got)
		_, old = Modern(got)
		assert.False(t, old, "%s: old", got)
	}
	for _, same := range []string{
		`{"minimum":0, "exclusiveMinimum":1}`, `{"properties":{"required":{"type":"boolean"}} }`, `{"enum":[{"required": true}]}`, `{"required":true`, ``, `"required":true`, `{"exclusiveMinimum":"true"}`,
		`{"properties":{"a":{"description":"draft-04"}}}`,
	} {
		got, old := Modern(json.RawMessage(same))
		assert.Equal(t, string(got), same)
		assert.False(t, old, "%s: old", same)
	}
}

// TestModernOfABomb: what is nested deep or wide takes no longer than other JSON.
func TestModernOfABomb(t *testing.T) {
	for _, bomb := range []string{
		strings.Repeat(`{"not":`, 100) + `{"exclusiveMinimum":true}` + strings.Repeat(`}`, 100),
		`{"allOf":[` + strings.Repeat(`{"exclusiveMinimum":true,"minimum":1},`, 6000) + `{}]}`,
		strings.Repeat(`[`, MaxBytes) + `"exclusiveMinimum`,
	} {
		got, _ := Modern(json.RawMessage(bomb))
		assert.False(t, len(got) > len(bomb), "%d bytes of %d are too many", len(got), len(bomb))
	}
}

func FuzzModern(f *testing.F) {
	f.Add(`{"minimum":0,"exclusiveMinimum":true,"properties":{"a":{"required":false}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		got, old := Modern(json.RawMessage(raw))
		assert.True(t, old && json.Valid(got) || !old && string(got) == raw, "%q is JSON, or as it was: %q", got, raw)
		if Check(json.RawMessage(raw)) == nil {
			assert.OK(t, Check(got), "%q, made of %q", got, raw)
		}
	})
}
