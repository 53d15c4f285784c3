package profile_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
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
			assert.True(t, c.Strict, "strict (%v)", c.Losses)
			assert.Equal(t, unmap(t, c, test.args), test.want, "of %s", c.Schema)
		})
	}
	_, err := compiled(t, profile.OpenAIStrict, optional).Unmap(json.RawMessage(`{"a":"secret","a":"secret"}`))
	assert.Equal(t, len(assert.As[*registry.ArgumentsError](t, err).Problems), 1, "problems of a name twice")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "the outcome")
	assert.Lacks(t, err.Error(), "secret")
}

// TestUnmapConcurrently is for the race detector.
func TestUnmapConcurrently(t *testing.T) {
	c := compiled(t, profile.OpenAIStrict, `{"type":"object","properties":{"m":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"anyOf":[{"type":"string"},{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}]}}}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, _ := c.Unmap(json.RawMessage(`{"m":["a",{"n":{"n":null}}]}`))
				assert.Equal(t, string(got), `{"m":["a",{"n":{}}]}`)
				c.Declaration()
				c.ChatDeclaration()
			}
		})
	}
	group.Wait()
}

// What was not written in another form keeps its bytes.
func TestUnmapExact(t *testing.T) {
	const lax = `{"type":"object","properties":{"n":{"type":"number"},"s":{"type":"string"},"o":{"type":"object","properties":{"k":{"type":"array","items":{"type":"integer"}}}}}}`
	for _, args := range []string{
		`{}`, ` { } `, `{"n":1e400}`, `{"n":-0}`, `{"n":1.0}`, `{"n":1E+2}`, `{"n":12345678901234567890123456789}`, `{"n":0.1000000000000000055511151231257827}`,
		`{"s":"\u00e9\/\ud83d\ude00"}`, `{"s":"é😀"}`, `{"s":"\u0000\u2028"}`, `{"s":"</script>&"}`, "{\"s\":\"\u2028\"}",
		`{"o":{"k":[1, 2,3 ]} ,"n" :1}`, "{\n\t\"o\" : {\r\n \"k\":[ ]}}", `{"z":1,"a":2,"m":{"z":1,"a":2}}`, `{"\u006e":1}`, `{"":null}`, `{"unknown":[1e400,{"x":-0.0}]}`, `{"n":null}`,
	} {
		for _, p := range providers {
			if p == profile.OpenAIStrict {
				continue // see below
			}
			assert.Equal(t, unmap(t, compiled(t, p, lax), args), args, "%s", p)
		}
	}
	strict := `{"type":"object","properties":{"n":{"type":"number"},"s":{"type":"string"},"free":{"type":"boolean"},"o":{"type":"object","properties":{"k":{"type":"array","items":{"type":"number"}}},"required":["k"]}},"required":["n"]}`
	for args, want := range map[string]string{
		`{"n":1e400,"s":null,"free":null,"o":null}`:                         `{"n":1e400}`,
		`{"n":-0.0,"s":"\u00e9","free":null,"o":null}`:                      `{"n":-0.0,"s":"\u00e9"}`,
		`{"s":null,"n":1,"free":null,"o":{"k":[1E2,12345678901234567890]}}`: `{"n":1,"o":{"k":[1E2,12345678901234567890]}}`,
		`{"o":null,"free":null,"s":null,"n":1.50}`:                          `{"n":1.50}`,
	} {
		assert.Equal(t, unmap(t, compiled(t, profile.OpenAIStrict, strict), args), want, "%s", args)
	}
}

// Nothing that a model writes brings the way back down.
func TestUnmapHostile(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000)
	for _, p := range providers {
		for _, schema := range []string{
			`{"type":"object"}`, `{"type":"object","additionalProperties":{}}`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"a b":{"type":"object","additionalProperties":{"type":"string"}},"a":{}}}`,
		} {
			c := compiled(t, p, schema)
			for _, args := range []string{
				`[1]`, `"x"`, `1`, `true`, `{`, `{"a":}`, `{"a":1}x`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "{\"a\":\"\xff\"}", "\ufeff{}", `{"a":01}`, `{"a":+1}`, `{"a":NaN}`, `{'a':1}`, `{"a":"\x"}`,
				"{\"a\":\"\x01\"}", deep, strings.Repeat(`[`, 100_000), `{"a":"` + strings.Repeat(`{`, 10_000) + `"}`, `{"a b":"` + strings.Repeat(`[`, 10_000) + `"}`,
			} {
				back, err := c.Unmap(json.RawMessage(args))
				if err != nil {
					assert.As[*registry.ArgumentsError](t, err, "%s: %.40q", p, args)
					assert.False(t, len(err.Error()) > 2_000, "%s: %.40q: a long error", p, args)
				} else if !json.Valid(back) && json.Valid([]byte(args)) {
					t.Errorf("%s: got %.40q of %.40q, want JSON", p, back, args)
				}
			}
			for _, none := range []string{"", "null"} {
				unmap(t, c, none)
			}
		}
	}
}
