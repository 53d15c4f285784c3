package profile_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestUnmapStrict(t *testing.T) {
	const (
		optional = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{"type":"object","properties":{"d":{"type":"number"}},"required":["d"],"additionalProperties":false}},"required":["a"]}`
		maps     = `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"number"}}}}},"required":["m"]}`
		free     = `{"type":"object","properties":{"any":{},"object":{"type":"object"},"list":{"type":"array"}},"required":["any","object","list"]}`
		both     = `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"number"}}`
		union    = `{"type":"object","properties":{"u":{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"v":{"type":"integer"}},"required":["kind"]},{"type":"object","properties":{"kind":{"const":"b"},"v":{"type":["string","null"]}},"required":["kind","v"]},{"type":"string"}]}},"required":["u"]}`
		tree     = `{"type":"object","properties":{"root":{"$ref":"#/$defs/n"}},"required":["root"],"$defs":{"n":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/n"}},"required":["v"]}}}`
	)
	for _, test := range []struct{ name, schema, args, want string }{
		{"nothing to do", optional, `{ "a" : "x\u0041" , "c":{"d":1.50} }`, `{ "a" : "x\u0041" , "c":{"d":1.50} }`},
		{"null is missing", optional, `{"a":"x", "b":null, "c":null}`, `{"a":"x"}`},
		{"at the start", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`, `{ "a":null, "b":"x" }`, `{ "b":"x" }`},
		{"in the middle", `{"type":"object","properties":{"a":{},"b":{"type":"string"},"c":{"type":"string"}},"required":["a","c"]}`, `{"a":"1" ,"b":null ,"c":"x"}`, `{"a":1 ,"c":"x"}`},
		{"all of them", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{ "a" : null }`, `{}`},
		{"null where it does not belong", optional, `{"a":null}`, `{"a":null}`},
		{"numbers as written", optional, `{"a":"x","b":12345678901234567890123,"c":{"d":1e400}}`, `{"a":"x","b":12345678901234567890123,"c":{"d":1e400}}`},
		{"a map", maps, `{"m":[{"key":"k\n","value":{"x":1.0}},{"value":{"x":null},"key":"l"}]}`, `{"m":{"k\n":{"x":1.0},"l":{}}}`},
		{"an empty map", maps, `{"m":[]}`, `{"m":{}}`},
		{"a map as it is", maps, `{"m": { "k" : {"x":null}, "l":{"x":2} }}`, `{"m": { "k" : {}, "l":{"x":2} }}`},
		{"no pairs", maps, `{"m":[{"key":"k"}]}`, `{"m":[{"key":"k"}]}`},
		{"pairs of another kind", maps, `{"m":[{"key":1,"value":{}}]}`, `{"m":[{"key":1,"value":{}}]}`},
		{"JSON in strings", free, `{"any":" [1.0, 1e400] ","object":"{\"a\": \"\\u0041\"}","list":["1","\"1\"","null"]}`, `{"any":[1.0, 1e400],"object":{"a": "\u0041"},"list":[1,"1",null]}`},
		{"no JSON in strings", free, `{"any":"hello","object":"{","list":["01"]}`, `{"any":"hello","object":"{","list":["01"]}`},
		{"a name twice in JSON in a string", free, `{"any":"{\"a\":1,\"a\":2}","object":"{}","list":[]}`, `{"any":"{\"a\":1,\"a\":2}","object":{},"list":[]}`},
		{"free values as they are", free, `{"any":{"a":[null]},"object":{"b":1},"list":[1,[2]]}`, `{"any":{"a":[null]},"object":{"b":1},"list":[1,[2]]}`},
		{"others", both, `{"a":null,"additional_properties":[{"key":"x","value":1.50},{"key":"y","value":2}]}`, `{"x":1.50,"y":2}`},
		{"others behind", both, `{ "a":1, "additional_properties":[{"key":"x","value":1.50}] }`, `{ "a":1,"x":1.50 }`},
		{"others before", both, `{"additional_properties":[{"key":"x","value":1.50}], "a":1}`, `{"x":1.50, "a":1}`},
		{"no others", both, `{"a":1,"additional_properties":null}`, `{"a":1}`},
		{"others as they are", both, `{"a":1,"x":2}`, `{"a":1,"x":2}`},
		{"the first alternative", union, `{"u":{"kind":"a","v":null}}`, `{"u":{"kind":"a"}}`},
		{"the second", union, `{"u":{"kind":"b","v":null}}`, `{"u":{"kind":"b","v":null}}`},
		{"the third", union, `{"u":"null"}`, `{"u":"null"}`},
		{"an alternative as it is", union, `{"u":{"kind":"a"}}`, `{"u":{"kind":"a"}}`},
		{"none of them", union, `{"u":7}`, `{"u":7}`},
		{"alternatives by their names", `{"type":"object","properties":{"u":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"c":{"type":"string"},"d":{"type":"string"}},"required":["c"]}]}},"required":["u"]}`, `{"u":{"c":"x","d":null}}`, `{"u":{"c":"x"}}`},
		{"others in another form", `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"object","properties":{"x":{"type":"number"}}}}`, `{"a":1,"additional_properties":[{"key":"k","value":{"x":null}}]}`, `{"a":1,"k":{}}`},
		{"what contains itself", tree, `{"root":{"v":"1","next":{"v":"2","next":null}}}`, `{"root":{"v":"1","next":{"v":"2"}}}`},
		{"white space around", optional, "\n {\"a\":\"x\",\"b\":null} \n", "\n {\"a\":\"x\"} \n"},
		{"null", optional, `null`, `null`},
		{"nothing", optional, ``, ``},
		{"a list", optional, `[1]`, `[1]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := compiled(t, profile.OpenAIStrict, test.schema)
			if !c.Strict {
				t.Fatalf("not strict: %v", c.Losses)
			}
			got, err := c.Unmap(json.RawMessage(test.args))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v\nwant %s\nof %s", got, err, test.want, c.Schema)
			}
		})
	}
	for _, test := range []struct{ name, schema, args, place string }{
		{"a key of a map", maps, `{"m":[{"key":"k","value":{}},{"key":"k","value":{}}]}`, "m.k"},
		{"of the others", both, `{"a":1,"additional_properties":[{"key":"a","value":2}]}`, "a"},
		{"of the others first", both, `{"additional_properties":[{"key":"a","value":2}],"a":1}`, "a"},
		{"a name", optional, `{"a":"secret","a":"secret"}`, ""},
	} {
		t.Run(test.name+" twice", func(t *testing.T) {
			c := compiled(t, profile.OpenAIStrict, test.schema)
			_, err := c.Unmap(json.RawMessage(test.args))
			var refused *registry.ArgumentsError
			if !errors.As(err, &refused) || len(refused.Problems) != 1 || mcp.OutcomeOf(err) != mcp.NotSent {
				t.Fatalf("got %v", err)
			}
			if test.place != "" && refused.Problems[0].Path != test.place || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestUnmapConcurrently is for the race detector.
func TestUnmapConcurrently(t *testing.T) {
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"anyOf":[{"type":"string"},{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}]}}}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := c.Unmap(json.RawMessage(`{"m":[{"key":"a","value":{"n":{"n":null}}}]}`))
				if err != nil || string(got) != `{"m":{"a":{"n":{}}}}` {
					t.Errorf("got %s, %v", got, err)
					return
				}
				c.Declaration()
				c.ChatDeclaration()
			}
		})
	}
	group.Wait()
}
