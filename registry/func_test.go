// Tests of func.go: tools made of Go functions.

package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

type none struct{}

func makeFunc[In, Out any](t testing.TB, fn func(context.Context, In) (Out, error)) registry.Tool {
	t.Helper()
	return assert.Value(registry.Func("tool", "", fn))(t)
}

// echo returns a tool that answers with its input.
func echo[T any](t testing.TB) registry.Tool {
	return makeFunc(t, func(_ context.Context, in T) (any, error) { return in, nil })
}

func returns[Out any](t testing.TB, out Out) registry.Tool {
	return makeFunc(t, func(context.Context, none) (Out, error) { return out, nil })
}

type search struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Limit int8     `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Near  *point   `json:"near,omitempty"`
}

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

func TestFuncDefinition(t *testing.T) {
	tool := assert.Value(registry.Func("find", "Find things", func(context.Context, search) (point, error) { return point{}, nil }))(t)
	d := tool.Definition()
	assert.Equal(t, fmt.Sprint(d.Name, ": ", d.Description, ", ", d.Origin, d.Annotations), "find: Find things, a native tool <nil>")
	const input = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"what to look for"},` +
		`"limit":{"type":"integer","minimum":-128,"maximum":127},` +
		`"tags":{"type":["null","array"],"items":{"type":"string"}},` +
		`"near":{"type":["null","object"],"properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false}` +
		`},"required":["query"],"additionalProperties":false}`
	assert.Equal(t, string(d.InputSchema), input, "input schema")
	const output = `{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"],"additionalProperties":false}`
	assert.Equal(t, string(d.OutputSchema), output, "output schema")
	assert.Equal(t, tool.Definition(), d, "the definition, again")
}

func TestFuncOutputSchemaOnlyForObjects(t *testing.T) {
	assert.Equal(t, string(returns(t, map[string]int{}).Definition().OutputSchema), `{"type":"object","additionalProperties":{"type":"integer"}}`, "schema of a map")
	for what, tool := range map[string]registry.Tool{
		"string":              returns(t, ""),
		"any":                 returns[any](t, nil),
		"slice":               returns(t, []int{}),
		"pointer":             returns(t, &point{}),
		"time":                returns(t, time.Time{}),
		"result":              returns(t, &mcp.CallToolResult{}),
		"result by value":     returns(t, mcp.CallToolResult{}),
		"form of its own":     returns(t, custom{}),
		"text form":           returns(t, netip.Addr{}),
		"raw":                 returns(t, json.RawMessage("1")),
		"implements no error": returns[error](t, nil),
	} {
		assert.False(t, tool.Definition().OutputSchema != nil, "%s: output schema", what)
	}
}

func TestFuncRefusesTypesAndNames(t *testing.T) {
	type tree struct {
		Children []tree `json:"children"`
	}
	type quoted struct {
		N int `json:"n,string"`
	}
	type channel struct {
		C chan int `json:"c"`
	}
	type byNumber struct {
		M map[int]chan int `json:"m"`
	}
	ok := func(_ context.Context, in none) (none, error) { return in, nil }
	for what, test := range map[string]struct {
		make  func() (registry.Tool, error)
		field string
		says  string
	}{
		"string input":   {func() (registry.Tool, error) { return makeErr[string, none]() }, "InputSchema", "use a struct or a map"},
		"pointer input":  {func() (registry.Tool, error) { return makeErr[*none, none]() }, "InputSchema", "use a struct or a map"},
		"any input":      {func() (registry.Tool, error) { return makeErr[any, none]() }, "InputSchema", "use a struct or a map"},
		"int keys":       {func() (registry.Tool, error) { return makeErr[map[int]string, none]() }, "InputSchema", "map[int]string"},
		"time input":     {func() (registry.Tool, error) { return makeErr[time.Time, none]() }, "InputSchema", "time.Time"},
		"recursive":      {func() (registry.Tool, error) { return makeErr[tree, none]() }, "InputSchema", "cycle"},
		"string option":  {func() (registry.Tool, error) { return makeErr[quoted, none]() }, "InputSchema", "field N"},
		"channel":        {func() (registry.Tool, error) { return makeErr[channel, none]() }, "InputSchema", "chan int"},
		"nested channel": {func() (registry.Tool, error) { return makeErr[none, byNumber]() }, "OutputSchema", "chan int"},
		"recursive out":  {func() (registry.Tool, error) { return makeErr[none, tree]() }, "OutputSchema", "return any instead"},
		"nil function":   {func() (registry.Tool, error) { return registry.Func[none, none]("x", "", nil) }, "", "nil"},
		"empty name":     {func() (registry.Tool, error) { return registry.Func("", "", ok) }, "Name", "1 to 128"},
		"long name":      {func() (registry.Tool, error) { return registry.Func(strings.Repeat("x", 129), "", ok) }, "Name", "1 to 128"},
		"space in name":  {func() (registry.Tool, error) { return registry.Func("a b", "", ok) }, "Name", "' '"},
		"umlaut in name": {func() (registry.Tool, error) { return registry.Func("ä", "", ok) }, "Name", "'ä'"},
	} {
		t.Run(what, func(t *testing.T) {
			tool, err := test.make()
			assert.Equal(t, assert.As[*registry.DefinitionError](t, err, "Func").Field, test.field, "Func: field")
			assert.Contains(t, err.Error(), test.says, "Func")
			assert.False(t, tool != nil, "Func returned a tool and an error")
		})
	}
	assert.Value(registry.Func(strings.Repeat("x", 122)+"aZ0_-.", "", ok))(t)
	defer func() {
		err, _ := recover().(error)
		assert.As[*registry.DefinitionError](t, err, "the panic of MustFunc")
	}()
	registry.MustFunc("", "", ok)
}

func makeErr[In, Out any]() (registry.Tool, error) {
	return registry.Func("tool", "", func(context.Context, In) (out Out, err error) { return })
}

// A custom has a JSON form that its Go type does not show.
type custom struct{ v string }

func (c custom) MarshalJSON() ([]byte, error)  { return json.Marshal([]string{c.v}) }
func (c *custom) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &[]*string{&c.v}) }

func TestFuncTypesWithFormsOfTheirOwn(t *testing.T) {
	type form struct {
		At     time.Time       `json:"at"`
		Addr   netip.Addr      `json:"addr"`
		Level  slog.Level      `json:"level"`
		Raw    json.RawMessage `json:"raw"`
		RawPtr *custom         `json:"rawPtr"`
		Data   []byte          `json:"data"`
		Int    *big.Int        `json:"int"`
		Number json.Number     `json:"number"`
		Custom custom          `json:"custom"`
		Keyed  map[netip.Addr][]custom
		Ptrs   map[string]*custom
	}
	const args = `{"at":"2026-01-02T03:04:05Z","addr":"127.0.0.1","level":"WARN","raw":{"a":1},"rawPtr":["q"],` +
		`"data":"aGk=","int":123456789012345678901234567890,"number":1.50,"custom":["p"],"Keyed":{"::1":[["k"]]},"Ptrs":{"p":["r"]}}`
	tool := makeFunc(t, func(_ context.Context, in form) (form, error) { return in, nil })
	assert.Equal(t, outcome(t, tool, args), args, "Call")
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	assert.OK(t, json.Unmarshal(tool.Definition().InputSchema, &schema))
	for name, want := range map[string]string{
		"at":     `{"type":"string","format":"date-time"}`,
		"addr":   `{"type":"string"}`,
		"level":  `{"type":"string"}`,
		"raw":    `true`,
		"rawPtr": `true`,
		"data":   `{"type":["null","string"],"contentEncoding":"base64"}`,
		"int":    `{"type":["null","integer"]}`,
		"number": `{"type":"number"}`,
		"custom": `true`,
		"Ptrs":   `{"type":"object","additionalProperties":true}`,
		"Keyed":  `{"type":"object","additionalProperties":{"type":["null","array"],"items":true}}`,
	} {
		assert.Equal(t, string(schema.Properties[name]), want, "schema of %s", name)
	}
}

// A page has a default for Size.
type page struct {
	Size int `json:"size,omitempty"`
}

func (p *page) UnmarshalJSON(b []byte) error {
	type plain page
	p.Size = 10
	return json.Unmarshal(b, (*plain)(p))
}

func TestFuncDefaults(t *testing.T) {
	tool := echo[page](t)
	assert.Contains(t, string(tool.Definition().InputSchema), `"size":{"type":"integer"}`, "input schema")
	for args, want := range map[string]string{
		`{}`:           `{"size":10}`,
		`{"size":3}`:   `{"size":3}`,
		`{"size":"3"}`: `arguments of tool "tool": "size" must be an integer, not a string`,
	} {
		assert.Equal(t, outcome(t, tool, args), want, "Call(%s)", args)
	}
}

func TestFuncResults(t *testing.T) {
	whole := textResult("as is")
	for what, test := range map[string]struct {
		tool       registry.Tool
		text       string
		structured string // empty means none
	}{
		"string":        {returns(t, "a <b>"), "a <b>", ""},
		"string in any": {returns[any](t, "s"), "s", ""},
		"struct":        {returns(t, point{X: 1}), `{"x":1,"y":0}`, `{"x":1,"y":0}`},
		"markup":        {returns(t, map[string]string{"a": "<&>"}), `{"a":"<&>"}`, `{"a":"<&>"}`},
		"empty struct":  {returns(t, none{}), `{}`, `{}`},
		"slice":         {returns(t, []int{1, 2}), `[1,2]`, `[1,2]`},
		"number":        {returns(t, 7), `7`, `7`},
		"big":           {returns(t, map[string]uint64{"n": math.MaxUint64}), `{"n":18446744073709551615}`, `{"n":18446744073709551615}`},
		"raw":           {returns(t, json.RawMessage(`{"a":1}`)), `{"a":1}`, `{"a":1}`},
		"nil":           {returns[any](t, nil), `null`, ""},
		"nil pointer":   {returns[*point](t, nil), `null`, ""},
		"nil map":       {returns[map[string]int](t, nil), `{}`, `{}`},
		"result":        {returns(t, whole), "as is", ""},
		"result value":  {returns(t, *whole), "as is", ""},
	} {
		t.Run(what, func(t *testing.T) {
			res := assert.Value(test.tool.Call(t.Context(), nil))(t)
			assert.Equal(t, textOf(t, res), test.text, "text")
			assert.False(t, res.IsError, "isError")
			structured, _ := res.StructuredContent.(json.RawMessage)
			assert.Equal(t, string(structured), test.structured, "structured content")
			assert.Equal(t, test.structured == "", res.StructuredContent == nil, "structured content")
		})
	}
	res, _ := returns(t, whole).Call(t.Context(), nil)
	assert.Equal(t, res, whole, "a CallToolResult")
}

func TestFuncResultsThatAreNone(t *testing.T) {
	for what, tool := range map[string]registry.Tool{
		"NaN":           returns(t, map[string]float64{"n": math.NaN()}),
		"infinity":      returns[any](t, math.Inf(1)),
		"channel":       returns[any](t, make(chan int)),
		"nil result":    returns[*mcp.CallToolResult](t, nil),
		"broken raw":    returns(t, json.RawMessage("{")),
		"nil in an any": returns[any](t, (*mcp.CallToolResult)(nil)),
	} {
		res, err := tool.Call(t.Context(), nil)
		assert.Equal(t, assert.As[*registry.ResultError](t, err, "%s", what).Tool, "tool", "%s: tool", what)
		assert.True(t, res == nil, "%s", what)
		assert.Equal(t, mcp.OutcomeOf(err), mcp.Answered, "%s: outcome", what)
	}
}

func TestFuncErrors(t *testing.T) {
	tool := makeFunc(t, func(context.Context, none) (string, error) { return "ignored", errors.New("disk full") })
	res := assert.Value(tool.Call(t.Context(), nil))(t)
	assert.Equal(t, textOf(t, res), "disk full", "result")
	assert.True(t, res.IsError, "result: isError")
}

func TestFuncContext(t *testing.T) {
	stopped := errors.New("stopped by the user")
	for what, test := range map[string]struct {
		fn   func(context.Context, context.CancelCauseFunc) error
		want error // nil if the error is the tool's own
	}{
		"cancelled": {func(ctx context.Context, cancel context.CancelCauseFunc) error { cancel(nil); return ctx.Err() }, context.Canceled},
		"cause": {func(ctx context.Context, cancel context.CancelCauseFunc) error {
			cancel(stopped)
			return context.Cause(ctx)
		}, stopped},
		"own deadline": {func(context.Context, context.CancelCauseFunc) error { return context.DeadlineExceeded }, nil},
		"failed and stopped": {func(_ context.Context, cancel context.CancelCauseFunc) error {
			cancel(nil)
			return errors.New("failed")
		}, nil},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		tool := makeFunc(t, func(ctx context.Context, _ none) (none, error) { return none{}, test.fn(ctx, cancel) })
		res, err := tool.Call(ctx, nil)
		cancel(nil)
		if test.want == nil {
			assert.OK(t, err, "%s", what)
			assert.True(t, res.IsError, "%s: isError", what)
		} else {
			assert.Is(t, err, test.want, "%s", what)
			assert.Contains(t, fmt.Sprint(err), `"tool"`, "%s", what)
		}
	}
}

func TestFuncDoesNotRunAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	tool := makeFunc(t, func(context.Context, none) (none, error) { ran = true; return none{}, nil })
	_, err := tool.Call(ctx, nil)
	assert.False(t, ran, "ran")
	assert.Is(t, err, context.Canceled)
	assert.True(t, mcp.SafeToRetry(err), "safe to retry")
}

func TestFuncPanics(t *testing.T) {
	boom := errors.New("boom")
	tool := makeFunc(t, func(context.Context, none) (none, error) { panic(boom) })
	_, err := tool.Call(t.Context(), nil)
	caught := assert.As[*registry.PanicError](t, err)
	assert.Equal(t, caught.Tool, "tool", "tool")
	assert.Equal(t, caught.Value, any(boom), "value")
	assert.Is(t, err, boom, "error")
	assert.Contains(t, string(caught.Stack), "TestFuncPanics", "the stack")
	assert.Lacks(t, err.Error(), "func_test.go", "the text of the error")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.Unknown, "outcome")

	_, err = makeFunc(t, func(context.Context, none) (none, error) { panic("text") }).Call(t.Context(), nil)
	assert.Equal(t, assert.As[*registry.PanicError](t, err).Unwrap(), nil, "the cause of a panic with a text")
	assert.Equal(t, err.Error(), `tool "tool" panicked: text`)
	assert.As[*registry.PanicError](t, assert.Err(returns[any](t, bomb{}).Call(t.Context(), nil)), "a panic while encoding")
}

type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("bomb") }

func TestWithRenamesFunc(t *testing.T) {
	tool := assert.Value(registry.With(echo[none](t), func(d *registry.Definition) { d.Name = "other" }))(t)
	assert.Equal(t, assert.As[*registry.ArgumentsError](t, assert.Err(tool.Call(t.Context(), json.RawMessage(`[]`)))).Tool, "other", "tool")
	assert.Equal(t, textOf(t, assert.Value(tool.Call(t.Context(), nil))(t)), "{}")
}

func TestProgress(t *testing.T) {
	tool := makeFunc(t, func(ctx context.Context, _ none) (none, error) {
		registry.ReportProgress(ctx, &mcp.ProgressParams{Progress: 1})
		registry.ReportProgress(ctx, nil)
		registry.ReportProgress(ctx, &mcp.ProgressParams{Progress: 2})
		return none{}, nil
	})
	var seen []float64
	ctx := registry.WithProgress(t.Context(), func(p *mcp.ProgressParams) { seen = append(seen, p.Progress) })
	for _, ctx := range []context.Context{t.Context(), ctx, registry.WithProgress(ctx, nil)} {
		assert.Value(tool.Call(ctx, nil))(t)
	}
	assert.List(t, seen, []float64{1, 2}, "progress")
}
