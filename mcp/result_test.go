package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
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

func callRawWith(t *testing.T, raw string, opts *mcp.RequestOptions) *mcp.CallToolResult {
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
	wantDeep(t, callRaw(t, rawResult).Meta, want, "meta")
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
		assert.False(t, copied.Raw() == nil, "the copy has no raw form")
		change(res)
		assert.True(t, res.Raw() == nil, "%s: raw", what)
	}
	assert.True(t, (&mcp.CallToolResult{}).Raw() == nil, "raw")
	assert.True(t, (*mcp.CallToolResult)(nil).Raw() == nil, "raw")
}

func TestResultCheckRaw(t *testing.T) {
	res := callRaw(t, rawResult)
	var seen json.RawMessage
	checked := res.CheckRaw(func(raw json.RawMessage) bool { seen = raw; return true })
	assert.Equal(t, checked, res, "got another result, want the one that was checked")
	assert.Equal(t, string(seen), string(res.Raw()), "what is checked")
	checked = res.CheckRaw(func(json.RawMessage) bool { return false })
	assert.True(t, checked.Raw() == nil, "raw")
	wantDeep(t, checked.Content, res.Content, "content")
	assert.False(t, res.Raw() == nil, "got no raw form of the result that was checked, want it as before")
	never := func(json.RawMessage) bool { t.Error("got a check, want none"); return true }
	(*mcp.CallToolResult)(nil).CheckRaw(never)
	(&mcp.CallToolResult{}).CheckRaw(never)
}

// A result whose content was skipped is the same but for that.
func TestResultSkipsContent(t *testing.T) {
	whole := callRaw(t, rawResult)
	res := callRawWith(t, rawResult, &mcp.RequestOptions{SkipContent: true})
	assert.Equal(t, len(res.Content), 0, "blocks")
	assert.Equal(t, string(res.Raw()), string(whole.Raw()))
	wantDeep(t, res.StructuredContent, whole.StructuredContent, "structured content")
	with := res.WithContent()
	wantDeep(t, with, whole, "with")
	assert.Equal(t, with.WithContent(), with, "got another result from one with content, want the same")
	wantDeep(t, res.CheckRaw(func(json.RawMessage) bool { return false }).Content, whole.Content, "content")
	res.IsError = true
	assert.True(t, res.Raw() == nil, "raw")
	assert.True(t, (*mcp.CallToolResult)(nil).WithContent() == nil, "nothing of no result")
}

// Content is skipped only if it is content, and the error for a result that does not match an output
// schema has it.
func TestResultSkipsContentOfErrors(t *testing.T) {
	skip := &mcp.RequestOptions{SkipContent: true}
	c := newClient(t, modern(t, mcptest.Script{"tools/call": mcptest.Result(`{"content":7}`)}), nil)
	assert.As[*mcp.ProtocolError](t, assert.Err(c.CallTool(t.Context(), "x", nil, skip)))
	c = newClient(t, modern(t, mcptest.Script{
		"tools/list": mcptest.Result(withOutput(`{"type":"object","required":["a"]}`)),
		"tools/call": mcptest.Result(`{"content":[{"type":"text","text":"hello"}],"structuredContent":{}}`),
	}), nil)
	assert.Equal(t, wantOutputError(t, assert.Err(c.CallTool(t.Context(), "t", nil, skip)), "a", "got nothing").Result.Text(), "hello", "the text")
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
	assert.True(t, read.IsError, "is error")
	wantDeep(t, []any{read.Content, read.Meta, read.StructuredContent}, []any{sent.Content, sent.Meta, sent.StructuredContent})
	assert.Equal(t, string(read.Raw()), string(data), "the raw form")
	for _, bad := range []string{``, `7`, `{"content":7}`, `{"content":[]`, `{"content":[],"content":[]}`, `{"resultType":"input_required"}`} {
		assert.As[*mcp.ProtocolError](t, new(mcp.CallToolResult).UnmarshalJSON([]byte(bad)), "%s", bad)
	}
}

// typedMethods are the requests whose results are decoded, with the members that
// a result needs.
var typedMethods = []struct {
	method, members string
	asks            bool // the server may ask for input in revision 2026-07-28
	ask             func(context.Context, *mcp.Client) error
}{
	{"tools/call", `"content":[]`, true, func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.CallTool(ctx, "x", nil, nil)) }},
	{"prompts/get", `"messages":[]`, true, func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.GetPrompt(ctx, "x", nil, nil)) }},
	{"resources/read", `"contents":[]`, true, func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.ReadResource(ctx, "a:x", nil)) }},
	{"tools/list", `"tools":[]`, false, func(ctx context.Context, c *mcp.Client) error { return assert.Err(c.Tools(ctx)) }},
	{"prompts/list", `"prompts":[]`, false, func(ctx context.Context, c *mcp.Client) error { return assert.Err(collect(c.Prompts(ctx))) }},
	{"resources/list", `"resources":[]`, false, func(ctx context.Context, c *mcp.Client) error { return assert.Err(collect(c.Resources(ctx))) }},
	{"resources/templates/list", `"resourceTemplates":[]`, false, func(ctx context.Context, c *mcp.Client) error { return assert.Err(collect(c.ResourceTemplates(ctx))) }},
	{"completion/complete", `"completion":{"values":[]}`, false, func(ctx context.Context, c *mcp.Client) error {
		return assert.Err(c.Complete(ctx, &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "x"}, Argument: mcp.CompleteArgument{Name: "a"},
		}, nil))
	}},
}

// A result without a type is complete; one of a type that nobody knows, or that
// the method cannot have, is no result.
func TestResultTypes(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, m := range typedMethods {
			for kind, valid := range map[string]bool{
				``: true, `"resultType":"complete",`: true, `"resultType":"bogus",`: false,
				`"resultType":"Complete",`: false, `"resultType":"",`: false, `"resultType":7,`: false,
				`"RESULTTYPE":"bogus",`:           true, // no such member
				`"_meta":{"resultType":"bogus"},`: true,
			} {
				server := featured(t, revision, mcptest.Script{m.method: mcptest.Result(`{` + kind + m.members + `}`)})
				wantValid(t, m.method+" with "+kind, m.ask(t.Context(), newClient(t, p.to(server), nil)), valid)
			}
		}
	})
}

// Input is for some methods of revision 2026-07-28 only.
func TestInputRequiredOf(t *testing.T) {
	everywhere(t, func(t *testing.T, revision string, p plane) {
		for _, m := range typedMethods {
			server := featured(t, revision, mcptest.Script{m.method: mcptest.Sequence(
				mcptest.Result(`{"resultType":"input_required","inputRequests":{"q":`+inputRequest+`},`+m.members+`}`),
				mcptest.Result(`{`+m.members+`}`),
			)})
			asked := 0
			c := newClient(t, p.to(server), &mcp.ClientOptions{
				Elicit: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					return annAnswers(ctx, r)
				},
			})
			may := m.asks && revision == mcp.Revision20260728
			wantValid(t, m.method+" that wants input", m.ask(t.Context(), c), may)
			assert.Equal(t, asked == 1, may, "%s", m.method)
			if !may {
				continue
			}
			assert.Contains(t, string(server.Received(m.method)[1].Params), `"inputResponses":{"q":`, "%s: asked again with", m.method)
		}
	})
}

// wantValid fails the test if an answer was taken for valid, or not, wrongly.
func wantValid(t *testing.T, what string, err error, valid bool) {
	t.Helper()
	if valid {
		assert.OK(t, err, "%s", what)
	} else {
		assert.Equal(t, assert.As[*mcp.ProtocolError](t, err, "%s", what).Path, "resultType", "%s", what)
	}
}
