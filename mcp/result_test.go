package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
)

// rawResult holds much that the fields of a result have no place for.
const rawResult = `{ "structuredContent":{"b":0.10,"a":1e400},"x":{"":[]},"content":[
	{"text":"\u0061","type":"text","extra":12345678901234567891,"annotations":{"priority":0.50}},{"type":"video","uri":"\u2028"},
	{"type":"image","mimeType":"m","data":"AAEC"},{"type":"resource","resource":{"uri":"u","text":"t"}},7],
	"_meta":{"i":9007199254740993,"f":1.0,"h":-1e400,"l":[{"k":-9007199254740995}],"s":"x"}}`

// callRaw returns a result as it comes through a client.
func callRaw(t *testing.T, raw string) *mcp.CallToolResult {
	t.Helper()
	return callRawWith(t, raw, nil)
}

func callRawWith(t *testing.T, raw string, opts *mcp.CallToolOptions) *mcp.CallToolResult {
	t.Helper()
	return assert.Value(newClient(t, modern(t, mcptest.Script{"tools/call": mcptest.Result(raw)}), nil).CallTool(t.Context(), "x", nil, opts))(t)
}

func TestResultRaw(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		server := featured(t, revision, mcptest.Script{"tools/call": mcptest.Result(rawResult)}, refuseDiscover(revision))
		res := assert.Value(newClient(t, p.to(server), nil).CallTool(t.Context(), "x", nil, nil))(t)
		var got, want bytes.Buffer
		assert.OK(t, json.Compact(&got, res.Raw()))
		assert.OK(t, json.Compact(&want, []byte(rawResult)))
		assert.Equal(t, got.String(), want.String())
	})
}

// Numbers in a _meta are exact.
func TestResultMeta(t *testing.T) {
	want := mcp.Meta{
		"i": json.Number("9007199254740993"), "f": json.Number("1.0"), "h": json.Number("-1e400"),
		"l": []any{map[string]any{"k": json.Number("-9007199254740995")}}, "s": "x",
	}
	if got := callRaw(t, rawResult).Meta; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A result that was changed has no raw form any more, and one that was copied has.
func TestResultRawOfChanged(t *testing.T) {
	for what, change := range map[string]func(*mcp.CallToolResult){
		"a text":             func(r *mcp.CallToolResult) { r.Content[0].(*mcp.TextContent).Text = "b" },
		"annotations":        func(r *mcp.CallToolResult) { r.Content[0].(*mcp.TextContent).Annotations.Priority = 1 },
		"bytes":              func(r *mcp.CallToolResult) { r.Content[2].(*mcp.ImageContent).Data[0] = 9 },
		"a resource":         func(r *mcp.CallToolResult) { r.Content[3].(*mcp.EmbeddedResource).Resource.Text = "" },
		"another block":      func(r *mcp.CallToolResult) { r.Content[1] = &mcp.TextContent{Text: "x"} },
		"one block more":     func(r *mcp.CallToolResult) { r.Content = append(r.Content, &mcp.TextContent{}) },
		"one block less":     func(r *mcp.CallToolResult) { r.Content = r.Content[1:] },
		"structured content": func(r *mcp.CallToolResult) { r.StructuredContent = json.RawMessage(`{"b":0.1,"a":1e400}`) },
		"no structured":      func(r *mcp.CallToolResult) { r.StructuredContent = nil },
		"a _meta":            func(r *mcp.CallToolResult) { r.Meta["f"] = 2.0 },
		"a failure":          func(r *mcp.CallToolResult) { r.IsError = true },
	} {
		res := callRaw(t, rawResult)
		copied := *res
		if copied.Raw() == nil {
			t.Fatal("got no raw form of a copy, want that of the result")
		}
		change(res)
		assert.Equal(t, res.Raw() == nil, true, "%s: raw", what)
	}
	assert.Equal(t, (&mcp.CallToolResult{}).Raw() == nil, true, "raw")
	assert.Equal(t, (*mcp.CallToolResult)(nil).Raw() == nil, true, "raw")
}

func TestResultCheckRaw(t *testing.T) {
	res := callRaw(t, rawResult)
	var seen json.RawMessage
	checked := res.CheckRaw(func(raw json.RawMessage) bool { seen = raw; return true })
	assert.Equal(t, checked, res, "got another result, want the one that was checked")
	if !bytes.Equal(seen, res.Raw()) {
		t.Errorf("got %s to check, want %s", seen, res.Raw())
	}
	checked = res.CheckRaw(func(json.RawMessage) bool { return false })
	assert.Equal(t, checked.Raw() == nil, true, "raw")
	if !reflect.DeepEqual(checked.Content, res.Content) {
		t.Errorf("got the content %v, want %v", checked.Content, res.Content)
	}
	assert.Equal(t, res.Raw() == nil, false, "got no raw form of the result that was checked, want it as before")
	never := func(json.RawMessage) bool { t.Error("got a check, want none"); return true }
	(*mcp.CallToolResult)(nil).CheckRaw(never)
	(&mcp.CallToolResult{}).CheckRaw(never)
}

// A result whose content was skipped is the same but for that.
func TestResultSkipsContent(t *testing.T) {
	whole := callRaw(t, rawResult)
	res := callRawWith(t, rawResult, &mcp.CallToolOptions{SkipContent: true})
	assert.Equal(t, len(res.Content), 0, "blocks")
	assert.Equal(t, string(res.Raw()), string(whole.Raw()))
	if !reflect.DeepEqual(res.StructuredContent, whole.StructuredContent) {
		t.Errorf("got the structured content %s, want %s", res.StructuredContent, whole.StructuredContent)
	}
	with := res.WithContent()
	if !reflect.DeepEqual(with, whole) {
		t.Errorf("got %+v with the content, want %+v", with, whole)
	}
	assert.Equal(t, with.WithContent(), with, "got another result from one with content, want the same")
	if got := res.CheckRaw(func(json.RawMessage) bool { return false }).Content; !reflect.DeepEqual(got, whole.Content) {
		t.Errorf("got the content %v of a result without its raw form, want %v", got, whole.Content)
	}
	res.IsError = true
	assert.Equal(t, res.Raw() == nil, true, "raw")
	if got := (*mcp.CallToolResult)(nil).WithContent(); got != nil {
		t.Errorf("got %v of no result, want nothing", got)
	}
}

// Content is skipped only if it is content, and the error for a result that does not match an output
// schema has it.
func TestResultSkipsContentOfErrors(t *testing.T) {
	skip := &mcp.CallToolOptions{SkipContent: true}
	c := newClient(t, modern(t, mcptest.Script{"tools/call": mcptest.Result(`{"content":{}}`)}), nil)
	_, err := c.CallTool(t.Context(), "x", nil, skip)
	assert.As[*mcp.ProtocolError](t, err)
	c = newClient(t, modern(t, mcptest.Script{
		"tools/list": mcptest.Result(withOutput(`{"type":"object","required":["a"]}`)),
		"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"hello"}],"structuredContent":{}}`),
	}), nil)
	_, err = c.CallTool(t.Context(), "t", nil, skip)
	assert.Equal(t, wantOutputError(t, err, "a", "got nothing").Result.Text(), "hello", "the text")
}

// ExampleCallToolResult_WithContent passes a result on, and reads it if it has failed.
func ExampleCallToolResult_WithContent() {
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "add", json.RawMessage(`{"a":1,"b":2}`), &mcp.CallToolOptions{SkipContent: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(res.Content), res.Raw() != nil)
	fmt.Println(res.WithContent().Text())
	// Output:
	// 0 true
	// 3
}

// A program that forwards results sends what the server sent, unless something of it was
// changed.
func ExampleCallToolResult_Raw() {
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "add", json.RawMessage(`{"a":1,"b":2}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(res.Raw()))
	res.Content[0].(*mcp.TextContent).Text = "[redacted]"
	fmt.Println(res.Raw() == nil)
	// Output:
	// {"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"adder","version":"1"}},"content":[{"type":"text","text":"3"}],"resultType":"complete"}
	// true
}

// What takes words out of texts takes the raw form away that holds one elsewhere.
func ExampleCallToolResult_CheckRaw() {
	c := mcp.NewClient("adder", adder(), nil)
	defer c.Close()

	res, err := c.CallTool(context.Background(), "add", json.RawMessage(`{"a":1,"b":2}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res = res.CheckRaw(func(raw json.RawMessage) bool { return !bytes.Contains(raw, []byte("content")) })
	fmt.Println(res.Raw() == nil)
	// Output:
	// true
}

func TestResultText(t *testing.T) {
	for want, res := range map[string]*mcp.CallToolResult{
		"":     nil,
		"a\nb": {Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.ImageContent{}, nil, (*mcp.TextContent)(nil), &mcp.TextContent{Text: "b"}}},
		"a":    {Content: []mcp.Content{&mcp.TextContent{Text: "a"}}, StructuredContent: 7},
	} {
		assert.Equal(t, res.Text(), want)
	}
}

// What a program has written of a result it can read again.
func TestResultIsReadAgain(t *testing.T) {
	sent := &mcp.CallToolResult{
		Meta:              mcp.Meta{"n": json.Number("12345678901234567890")},
		Content:           []mcp.Content{&mcp.TextContent{Text: "<a>\u2028"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte{0, 1}}},
		StructuredContent: json.RawMessage(`{"n":1e400}`),
		IsError:           true,
	}
	data := assert.Value(json.Marshal(sent))(t)
	var read mcp.CallToolResult
	assert.OK(t, json.Unmarshal(data, &read))
	assert.Equal(t, read.IsError, true, "is error")
	if !reflect.DeepEqual(read.Content, sent.Content) || !reflect.DeepEqual(read.Meta, sent.Meta) || !reflect.DeepEqual(read.StructuredContent, sent.StructuredContent) {
		t.Errorf("got %+v, want %+v", read, *sent)
	}
	if got := read.Raw(); !bytes.Equal(got, data) {
		t.Errorf("got the raw form %s, want %s", got, data)
	}
	for _, bad := range []string{``, `7`, `{"content":7}`, `{"content":[]`, `{"content":[],"content":[]}`, `{"resultType":"input_required"}`} {
		assert.As[*mcp.ProtocolError](t, new(mcp.CallToolResult).UnmarshalJSON([]byte(bad)), "%s", bad)
	}
}
