package result_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

type issue struct {
	Number int64    `json:"number"`
	Labels []string `json:"labels"`
	Extra  any      `json:"extra"`
}

func TestDecode(t *testing.T) {
	const raw = `{"number":9007199254740993,"labels":["a"],"extra":{"n":12345678901234567890},"unknown":true}`
	want := issue{9007199254740993, []string{"a"}, map[string]any{"n": json.Number("12345678901234567890")}}
	image := &mcp.ImageContent{}
	for name, res := range map[string]*mcp.CallToolResult{
		"structured":      {StructuredContent: json.RawMessage(raw)},
		"structured wins": {Content: textResult(`{"number":1}`).Content, StructuredContent: json.RawMessage(raw)},
		"a Go value":      {StructuredContent: want},
		"text":            textResult(" " + raw + "\n"),
		"text and more":   {Content: append(textResult(raw).Content, image)},
		"null and text":   {Content: textResult(raw).Content, StructuredContent: json.RawMessage(`null`)},
	} {
		assert.True(t, reflect.DeepEqual(assert.Value(result.Decode[issue](res))(t), want), "%s", name)
	}
	if n, err := result.Decode[int](textResult("5")); n != 5 || err != nil {
		t.Errorf("%v, %v", n, err)
	}

	for name, c := range map[string]struct {
		res  *mcp.CallToolResult
		want string
	}{
		"nil":         {nil, "there is none"},
		"empty":       {&mcp.CallToolResult{}, "neither structured content nor text"},
		"image":       {&mcp.CallToolResult{Content: []mcp.Content{image}}, "neither structured content nor text"},
		"two texts":   {&mcp.CallToolResult{Content: append(textResult(raw).Content, textResult(raw).Content...)}, "more than one block of text"},
		"prose":       {textResult("secret prose"), "not acceptable JSON"},
		"trailing":    {textResult(raw + "x"), "not acceptable JSON: trailing bytes"},
		"twice":       {textResult(`{"number":1,"number":2}`), "duplicate key"},
		"wrong type":  {textResult(`{"number":"secret"}`), `"number" does not fit int64`},
		"fraction":    {textResult(`{"number":1234.5}`), `"number" does not fit int64`},
		"not a whole": {textResult(`["secret"]`), "the value does not fit result_test.issue"},
	} {
		got, err := result.Decode[issue](c.res)
		var wrong *result.DecodeError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "result_test.issue") || mcp.OutcomeOf(err) != mcp.Answered {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "1234") {
			t.Errorf("%s: the error tells the value: %v", name, err)
		}
		assert.True(t, reflect.DeepEqual(got, issue{}), "%s: half a value: %+v", name, got)
	}
	_, err := result.Decode[any](nil)
	assert.Contains(t, fmt.Sprint(err), "interface {}")

	failed := textResult("no such repository\n\x1b[2J" + strings.Repeat("x", 1000))
	failed.IsError = true
	_, err = result.Decode[issue](failed)
	assert.Equal(t, assert.As[*result.ToolFailedError](t, err).Text, result.Text(failed), "text")
	assert.Equal(t, mcp.OutcomeOf(err), mcp.Answered, "outcome")
	if text := err.Error(); !strings.HasPrefix(text, "the tool failed: no such repository <U+001B>") || len(text) > 600 {
		t.Errorf("got %q", text)
	}
}
