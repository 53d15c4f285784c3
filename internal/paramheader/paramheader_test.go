package paramheader

import (
	"encoding/json"
	"fmt"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParamHeaders(t *testing.T) {
	schema := `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"x-mcp-header":{"type":"string"},
		"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
		"flag":{"type":"boolean","default":{"x-mcp-header":"no"},"x-mcp-header":"Flag"}}}`
	headers, err := Find(json.RawMessage(schema))
	assert.OK(t, err)
	assert.Equal(t, len(headers), 3)
	for args, want := range map[string]string{
		`{"region":"eu","deep":{"n":9007199254740993},"flag":true}`: "map[Mcp-Param-Flag:true Mcp-Param-N:9007199254740993 Mcp-Param-Region:eu]",
		`{"region":null,"deep":{"n":-1.2e1}}`:                       "map[Mcp-Param-N:-12]",
		`{"region":"","deep":5,"flag":false}`:                       "map[Mcp-Param-Flag:false Mcp-Param-Region:]",
		`{"deep":{"n":1.5}}`:                                        "map[]",
	} {
		assert.Equal(t, fmt.Sprint(Fields(headers, json.RawMessage(args))), want, "%s", args)
	}
}

func TestParamHeadersRefused(t *testing.T) {
	property := func(p string) string { return `{"type":"object","properties":{"a":` + p + `}}` }
	for name, schema := range map[string]string{
		"empty name":    property(`{"type":"string","x-mcp-header":""}`),
		"no string":     property(`{"type":"string","x-mcp-header":5}`),
		"no token":      property(`{"type":"string","x-mcp-header":"a b"}`),
		"number":        property(`{"type":"number","x-mcp-header":"A"}`),
		"object":        property(`{"type":"object","x-mcp-header":"A"}`),
		"type list":     property(`{"type":["string","null"],"x-mcp-header":"A"}`),
		"items":         property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`),
		"oneOf":         property(`{"oneOf":[{"type":"string","x-mcp-header":"A"}]}`),
		"definition":    `{"$defs":{"d":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/d"}}}`,
		"the root":      `{"type":"object","x-mcp-header":"A"}`,
		"taken by case": `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
	} {
		assert.Fails(t, assert.Err(Find(json.RawMessage(schema))), name)
	}
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "plain", " blank ", "café", "a\r\nb", "=?base64?eA==?=", "=?base64?", "\t", "\x7f", "=?base64??="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encoded := Encode(value)
		assert.True(t, httpfield.ValidValue(encoded), "%q can be sent", encoded)
		assert.Equal(t, encoded, strings.TrimSpace(encoded))
		decoded, _ := Decode(encoded)
		assert.Equal(t, decoded, value, "what %q means", encoded)
	})
}
