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
		{`{"type":"array","items":{"enum":["a","b"]}}`, `{"items":{"description":"One of [\"a\",\"b\"].","enum":["a","b"],"type":"string"},"type":"array"}`},
		//report: Models | NousResearch/hermes-agent#15082, anomalyco/opencode#12784, agno-agi/agno#9833 | the values that an argument may have are numbers, and Gemini, or the converter for it, takes text alone and refuses the request with all tools | the values stand in the description, and the argument stays a number
		{`{"type":"array","items":{"type":"integer","enum":[60,1440]}}`, `{"items":{"description":"One of [60,1440].","type":"integer"},"type":"array"}`},
		{`{"type":"array","items":{"enum":[null,2]}}`, `{"items":{"description":"One of [null,2].","type":"number"},"type":"array"}`},
		{`{"type":"array","items":{"const":true}}`, `{"items":{"description":"One of [true].","type":"boolean"},"type":"array"}`},
		{`{"type":"array","items":{"enum":[{}]}}`, `{"items":{"description":"One of [{}].","type":"string"},"type":"array"}`},
	} {
		assert.Equal(t, string(assert.Value(json.Marshal(profile.OneType(json.RawMessage(test.schema))))(t)), test.want, test.schema)
	}
}

func ExampleOneType() {
	schema := profile.OneType(json.RawMessage(`{"type":"object","properties":{"days":{"type":["integer","null"]}},"required":["weeks"]}`))
	fmt.Println(schema["properties"], schema["required"])
	// Output: map[days:map[description:May be null. type:integer]] []
}
