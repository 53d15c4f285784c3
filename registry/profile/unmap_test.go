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
		union    = `{"type":"object","properties":{"u":{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"v":{"type":"integer"}},"required":["kind"]},{"type":"array","items":{"type":"object","properties":{"w":{"type":"string"}}}},{"type":["string","null"]}]}},"required":["u"]}`
		tree     = `{"type":"object","properties":{"root":{"$ref":"#/$defs/n"}},"required":["root"],"$defs":{"n":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/n"}},"required":["v"]}}}`
	)
	for _, test := range []struct{ name, schema, args, want string }{
		{"nothing to do", optional, `{ "a" : "x\u0041" , "c":{"d":1.50} }`, `{ "a" : "x\u0041" , "c":{"d":1.50} }`},
		{"null is missing", optional, `{"a":"x", "b":null, "c":null}`, `{"a":"x"}`},
		{"at the start", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`, `{ "a":null, "b":"x" }`, `{ "b":"x" }`},
		{"in the middle", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"string"}},"required":["a","c"]}`, `{"a":1 ,"b":null ,"c":"x"}`, `{"a":1 ,"c":"x"}`},
		{"all of them", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{ "a" : null }`, `{}`},
		{"null where it does not belong", optional, `{"a":null}`, `{"a":null}`},
		{"numbers as written", optional, `{"a":"x","b":12345678901234567890123,"c":{"d":1e400}}`, `{"a":"x","b":12345678901234567890123,"c":{"d":1e400}}`},
		{"the first alternative", union, `{"u":{"kind":"a","v":null}}`, `{"u":{"kind":"a"}}`},
		{"the second", union, `{"u":[{"w":null}, {"w":"null"}]}`, `{"u":[{}, {"w":"null"}]}`},
		{"the third", union, `{"u":"null"}`, `{"u":"null"}`},
		{"null of an alternative", union, `{"u":null}`, `{"u":null}`},
		{"an alternative as it is", union, `{"u":{"kind":"a"}}`, `{"u":{"kind":"a"}}`},
		{"none of them", union, `{"u":7}`, `{"u":7}`},
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
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"m":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"anyOf":[{"type":"string"},{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}]}}}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := c.Unmap(json.RawMessage(`{"m":["a",{"n":{"n":null}}]}`))
				if err != nil || string(got) != `{"m":["a",{"n":{}}]}` {
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
