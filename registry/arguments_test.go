// Tests of validation.go: arguments that are no object.

package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

func TestFuncArguments(t *testing.T) {
	type nested struct {
		Rows  []point           `json:"rows,omitempty"`
		Pair  [2]bool           `json:"pair,omitempty"`
		Named map[string]int    `json:"named,omitempty"`
		Big   int64             `json:"big,omitempty"`
		Byte  uint8             `json:"byte,omitempty"`
		Any   any               `json:"any,omitempty"`
		Plain map[string]string `json:"plain,omitempty"`
	}
	for _, test := range []struct {
		tool registry.Tool
		args string
		want string // text of the result, or of the error
	}{
		{echo[none](t), ``, `{}`},
		{echo[none](t), " null\n", `{}`},
		{echo[none](t), `{}`, `{}`},
		{echo[none](t), `{"a":1}`, `arguments of tool "tool": "a" is not known; known are none`},
		{echo[search](t), `{"query":"x","near":null,"tags":null}`, `{"query":"x"}`},
		{echo[search](t), `{}`, `arguments of tool "tool": "query" is missing; it must be a string; "what to look for"`},
		{echo[search](t), ``, `arguments of tool "tool": "query" is missing; it must be a string; "what to look for"`},
		{echo[search](t), `{"query":null}`, `arguments of tool "tool": "query" must be a string, not null`},
		{echo[search](t), `{"queries":"x"}`, `arguments of tool "tool": "queries" is not known; did you mean "query"? known are "limit", "near", "query", "tags"; ` +
			`"query" is missing; it must be a string; "what to look for"`},
		{echo[search](t), `{"Query":"x"}`, `arguments of tool "tool": "Query" is not known; did you mean "query"? known are "limit", "near", "query", "tags"; ` +
			`"query" is missing; it must be a string; "what to look for"`},
		{echo[search](t), `{"query":"x","limit":"5"}`, `arguments of tool "tool": "limit" must be an integer from -128 to 127, not a string`},
		{echo[search](t), `{"query":"x","limit":5.0}`, `arguments of tool "tool": "limit" does not fit int8`},
		{echo[search](t), `{"query":"x","limit":128}`, `arguments of tool "tool": "limit" must be an integer from -128 to 127, not more`},
		{echo[search](t), `{"query":"x","near":{"x":1,"z":2}}`, `arguments of tool "tool": "near.y" is missing; it must be a number; "near.z" is not known; known are "x", "y"`},
		{echo[search](t), `{"query":"x","near":{"x":1,"y":1e999}}`, `arguments of tool "tool": "near.y" does not fit float64`},
		{echo[search](t), `{"query":"x","near":1}`, `arguments of tool "tool": "near" must be an object with "x" and "y" or null, not a number`},
		{echo[nested](t), `{"rows":[{"x":1,"y":2},{"x":1,"y":"2"}]}`, `arguments of tool "tool": "rows[1].y" must be a number, not a string`},
		{echo[nested](t), `{"pair":[true]}`, `arguments of tool "tool": "pair" must be an array of 2 to 2 booleans, not less`},
		{echo[nested](t), `{"pair":[true,false,true]}`, `arguments of tool "tool": "pair" must be an array of 2 to 2 booleans, not more`},
		{echo[nested](t), `{"named":{"a":1,"b":true}}`, `arguments of tool "tool": "named.b" must be an integer, not a boolean`},
		{echo[nested](t), `{"byte":-1}`, `arguments of tool "tool": "byte" must be an integer from 0 to 255, not less`},
		{echo[nested](t), `{"big":9223372036854775807}`, `{"pair":[false,false],"big":9223372036854775807}`},
		{echo[nested](t), `{"big":9223372036854775808}`, `arguments of tool "tool": "big" does not fit int64`},
		{echo[nested](t), `{"big":1e999999999}`, `arguments of tool "tool": must be numbers of at most 4096 digits, not a longer one`},
		{echo[nested](t), `{"any":1e999999999}`, `arguments of tool "tool": must be numbers of at most 4096 digits, not a longer one`},
		{echo[nested](t), `{"big":NaN}`, `arguments of tool "tool": must be a JSON object, but are not valid JSON: invalid character 'N' looking for beginning of value (after byte 8)`},
		{echo[nested](t), `{"big":1`, `arguments of tool "tool": must be a JSON object, but are not valid JSON: unexpected end of JSON input (after byte 8)`},
		{echo[nested](t), `{} {}`, `arguments of tool "tool": must be a JSON object, but are not valid JSON: invalid character '{' after top-level value (after byte 4)`},
		{echo[nested](t), `[1]`, `arguments of tool "tool": must be a JSON object, not an array`},
		{echo[nested](t), `"{\"big\":1}"`, `arguments of tool "tool": must be a JSON object, not a string`},
		{echo[nested](t), `true`, `arguments of tool "tool": must be a JSON object, not a boolean`},
		{echo[nested](t), `-1`, `arguments of tool "tool": must be a JSON object, not a number`},
		{echo[nested](t), "\x00", `arguments of tool "tool": must be a JSON object, but are not valid JSON: invalid character '\x00' looking for beginning of value (after byte 1)`},
		{echo[nested](t), "null\v", `arguments of tool "tool": must be a JSON object, but are not valid JSON: invalid character '\v' after top-level value (after byte 5)`},
		{echo[struct {
			V any `json:"v"`
			P *int
		}](t), `{}`, `arguments of tool "tool": "P" is missing; it must be an integer or null; "v" is missing; it must be any value`},
		{echo[map[string]int](t), `{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{echo[map[string]int](t), `{"a":1,"b":null}`, `arguments of tool "tool": "b" must be an integer, not null`},
		{echo[map[string]any](t), `{"a":[null,{"b":"<&>"}]}`, `{"a":[null,{"b":"<&>"}]}`},
	} {
		assert.Equal(t, outcome(t, test.tool, test.args), test.want, "Call(%s)", test.args)
	}
}

// outcome calls tool and returns the text of its result, or of its error, which
// must be an ArgumentsError.
func outcome(t *testing.T, tool registry.Tool, args string) string {
	t.Helper()
	res, err := tool.Call(t.Context(), json.RawMessage(args))
	if err == nil {
		return textOf(t, res)
	}
	assert.Equal(t, assert.As[*registry.ArgumentsError](t, err, "Call(%s), error", args).Tool, "tool", "Call(%s), error: tool", args)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent, "Call(%s), error: outcome", args)
	return err.Error()
}

func TestFuncBoundsArgumentErrors(t *testing.T) {
	var args strings.Builder
	args.WriteString(`{"` + strings.Repeat("long", 1000) + `":1`)
	for _, c := range "abcdefghijkl" {
		args.WriteString(`,"` + string(c) + `":1`)
	}
	args.WriteString(`}`)
	_, err := echo[none](t).Call(t.Context(), json.RawMessage(args.String()))
	assert.Contains(t, fmt.Sprint(err, "\n"), `"h" is not known; known are none; and more`+"\n")
	assert.Between(t, len(err.Error()), 0, 2000, "bytes")

	type wide struct {
		A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z, A1, B1, C1, D1, E1, F1, G1, H1 *int `json:",omitempty"`
	}
	_, err = echo[wide](t).Call(t.Context(), json.RawMessage(`{"x":1}`))
	assert.Contains(t, fmt.Sprint(err, "\n"), `"X", and more`+"\n", "a bounded list of properties")

	const secret = "hunter2"
	for _, args := range []string{`{"limit":"hunter2"}`, `{"query":["hunter2"]}`, `{"query":"hunter2","tags":"hunter2"}`} {
		assert.Lacks(t, fmt.Sprint(assert.Err(echo[search](t).Call(t.Context(), json.RawMessage(args)))), secret)
	}
}

func FuzzFuncArguments(f *testing.F) {
	type in struct {
		S string         `json:"s"`
		I int            `json:"i,omitempty"`
		F float64        `json:"f,omitempty"`
		B []byte         `json:"b,omitempty"`
		P *point         `json:"p,omitempty"`
		L []point        `json:"l,omitempty"`
		M map[string]int `json:"m,omitempty"`
		A [2]int         `json:"a,omitempty"`
		R any            `json:"r,omitempty"`
	}
	for _, seed := range []string{
		``, `null`, `{}`, `{"s":"x"}`, `{"s":"x","i":9007199254740993}`, `{"s":"x","f":1e308}`, `{"s":"x","b":"aGk="}`,
		`{"s":"x","b":"*"}`, `{"s":"\ud800","m":{"\u0000":1}}`, `{"s":"x","p":{"x":1,"y":2},"l":[{"x":0,"y":0}]}`, `{"s":"x","a":[1,2]}`,
		`{"s":"x","s":2}`, `{"s":"x","S":2}`, `{"s":"x","r":[[[[{}]]]]}`, `[`, `"`, `nul`, `n`, "\x00", `{"s":"x"}}`,
	} {
		f.Add([]byte(seed))
	}
	var got in
	tool := makeFunc(f, func(_ context.Context, v in) (any, error) { got = v; return nil, nil })
	f.Fuzz(func(t *testing.T, args []byte) {
		got = in{}
		_, err := tool.Call(t.Context(), args)
		var want in
		decodeErr := json.Unmarshal(args, &want)
		if err != nil {
			assert.As[*registry.ArgumentsError](t, err)
			return
		}
		// What is accepted is decoded as encoding/json decodes it.
		if len(args) > 0 && decodeErr != nil && strings.TrimSpace(string(args)) != "" {
			t.Fatalf("accepted %q, which does not decode: %v", args, decodeErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("decoded %+v, want %+v", got, want)
		}
	})
}

// Secrets in arguments do not go out to servers, and tools of the program get them.
func TestArgumentsAreRedacted(t *testing.T) {
	var sent string
	tool := &recordedTool{
		def: &registry.Definition{InputSchema: json.RawMessage(`{"type":"object"}`), Origin: registry.Origin{Server: "notes", Tool: "add"}},
		call: func(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
			sent = string(args)
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		},
	}
	native := registry.MustFunc("keep", "", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		sent = in.Text
		return "", nil
	})
	token := "ntn_" + strings.Repeat("aB3dE5gH7j", 5)
	var seen string
	r := registry.New(&registry.Options{
		RedactArguments: true,
		Results:         &result.Options{Secrets: map[string]*regexp.Regexp{"badge": regexp.MustCompile(`badge (\d+)`)}},
	})
	r.Use(func(next registry.Handler) registry.Handler {
		return func(ctx context.Context, c *registry.Call) (*mcp.CallToolResult, error) {
			seen = string(c.Args)
			return next(ctx, c)
		}
	})
	assert.Value(r.Replace(registry.Server{Name: "notes"}, []registry.Tool{tool}))(t)
	assert.OK(t, r.Add(native))
	args := `{"n":1.0,"text":"my key is ` + token + `, of badge 12","list":["` + token + `"]}`
	assert.Value(r.Call(t.Context(), "notes__add", json.RawMessage(args)))(t)
	assert.Equal(t, sent, `{"n":1.0,"text":"my key is [redacted: Notion token], of badge [redacted: badge]","list":["[redacted: Notion token]"]}`, "sent")
	assert.Equal(t, seen, args, "at the middleware")
	assert.Value(r.Call(t.Context(), "keep", json.RawMessage(`{"text":"`+token+`"}`)))(t)
	assert.Equal(t, sent, token, "at a tool of the program")
}
