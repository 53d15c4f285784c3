package profile_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// TestOneType has schemas of which a value has several types, or none.
func TestOneType(t *testing.T) {
	const nothing = `{"properties":{},"type":"object"}`
	for _, test := range []struct{ schema, want string }{
		{``, nothing},
		{`true`, nothing},
		{`{"type":["object","null"],"properties":{"a":true},"required":["a",5,"b"],"additionalProperties":false}`,
			`{"description":"May be null.","properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{`{"type":"array","prefixItems":[{"type":"integer"}]}`, `{"items":{"type":"integer"},"type":"array"}`},
		{`{"type":"array","items":{"allOf":[{"type":"boolean"}]}}`, `{"items":{"type":"boolean"},"type":"array"}`},
		{`{"type":"array","items":{"oneOf":[{"type":"null"},{"anyOf":[{"type":"number","minimum":1}]}],"description":"x"}}`,
			`{"items":{"description":"x\nMay be null.","minimum":1,"type":"number"},"type":"array"}`},
		{`{"type":"array","items":{"type":"string","format":"uri"}}`, `{"items":{"type":"string"},"type":"array"}`},
		{`{"type":"array","items":{"type":"string","format":"date-time"}}`, `{"items":{"format":"date-time","type":"string"},"type":"array"}`},
	} {
		got := assert.Value(json.Marshal(profile.OneType(json.RawMessage(test.schema))))(t)
		assert.Equal(t, string(got), test.want, test.schema)
	}
}

func ExampleOneType() {
	schema := profile.OneType(json.RawMessage(`{"type":"object","properties":{"days":{"type":["integer","null"]}},"required":["weeks"]}`))
	fmt.Println(schema["properties"], schema["required"])
	// Output: map[days:map[description:May be null. type:integer]] []
}
